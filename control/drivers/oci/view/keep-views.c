/*
 * Keeps what machines see of themselves: a directory for each below <directory>, with files that are mounted in it over
 * those of /proc and /sys which would show the box.
 *
 *     keep-views <directory> <version> <group> <memory> <cpuacct> <cpuset> <cpu> <pids>
 *
 * <directory> is a file system of its own (tmpfs); the rest says where control groups are, `-` for a tree that there is not.
 *
 * Each line on the standard input asks for something and is answered by one:
 *
 *     add <id>     makes the files of a machine         ok | failed <step> <errno>
 *     drop <id>    takes them away                      ok | failed <step> <errno>
 *     renew <id>   its limits have changed: whoever     ok | failed <step> <errno>
 *                  reads next sees it
 *     ping         says whether it still works          ok
 *
 * Its first line is `asked`, or `timed <errno>` where the kernel cannot do the following. Files are files, so that reading them
 * takes nothing but memory: with nobody here they are old, and never in anybody's way. The kernel asks before each read
 * (fanotify(7)), and the answer waits until the figures are new; then nobody is asked for FRESH ms, so that who reads all the time
 * costs himself only. Where the kernel cannot ask, what has worked since is looked at every second.
 *
 * Ends with its input, and with the server also when it is stopped: nobody is to wait for who cannot answer.
 */
#define _GNU_SOURCE
#include "render.h"
#include <dirent.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/fanotify.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#define FRESH 100
#define TIMED 1000

static struct machine **machines;
static size_t count, room;
static int directory, asked;
static char text_bytes[MOST_TEXT];

static int64_t now_ms(void) { return boot_ns() / 1000000; }

static void place(char *path, size_t size, const struct machine *machine, const char *file) {
  snprintf(path, size, "%s/%s", machine->id, file);
}

static void unask(const struct machine *machine, enum kind kind, unsigned change) {
  char path[PATH_MAX];
  place(path, sizeof path, machine, names[kind]);
  fanotify_mark(asked, change | FAN_MARK_IGNORED_MASK | (change & FAN_MARK_ADD ? FAN_MARK_IGNORED_SURV_MODIFY : 0), FAN_ACCESS_PERM,
                directory, path);
}

/* Whether the processors are those that the file shows. */
static int is_shown(struct machine *machine) {
  char list[sizeof machine->shown];
  processors(machine, list, sizeof list);
  if (strcmp(list, machine->shown) == 0) return 1;
  strcpy(machine->shown, list);
  return 0;
}

/* Writes it over what is there: readers have it open. */
static int refresh(struct machine *machine, enum kind kind) {
  char path[PATH_MAX];
  struct stat facts;
  struct text text = {text_bytes, 0, sizeof text_bytes};
  if (kind == CPUINFO && is_shown(machine)) return 0;
  render(machine, kind, &text);
  place(path, sizeof path, machine, names[kind]);
  int fd = openat(directory, path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return -1;
  int done = pwrite(fd, text.bytes, text.length, 0) == (ssize_t)text.length ? 0 : -1;
  if (done == 0 && fstat(fd, &facts) == 0 && facts.st_size > (off_t)text.length) done = ftruncate(fd, (off_t)text.length);
  close(fd);
  return done;
}

/* Reads nothing of the directory: once the kernel asks, who reads there waits for us. */
static struct machine *know(const char *id, int64_t born) {
  struct stat facts;
  char path[PATH_MAX];
  if (count == room) {
    struct machine **more = realloc(machines, (room + 256) * sizeof *machines);
    if (!more) return NULL;
    machines = more, room += 256;
  }
  struct machine *machine = calloc(1, sizeof *machine);
  if (!machine) return NULL;
  snprintf(machine->id, sizeof machine->id, "%s", id);
  machine->born = machine->counted = born;
  for (int kind = 0; kind < KINDS; kind++) {
    place(path, sizeof path, machine, names[kind]);
    if (fstatat(directory, path, &facts, AT_SYMLINK_NOFOLLOW) == 0) machine->file[kind] = facts.st_ino;
  }
  return machines[count++] = machine;
}

/* The next reader waits for new figures. */
static void age(struct machine *machine, enum kind kind) {
  if (machine->fresh[kind]) unask(machine, kind, FAN_MARK_REMOVE);
  machine->fresh[kind] = 0;
}

/* Nothing of one that is not known: its figures will be new when it is. */
static const char *renew(const char *id) {
  for (size_t at = 0; at < count; at++) {
    if (strcmp(machines[at]->id, id) != 0) continue;
    for (int kind = 0; kind < KINDS; kind++)
      if (asked >= 0) age(machines[at], kind);
      else if (refresh(machines[at], kind) < 0) return "write";
  }
  return NULL;
}

static const char *drop(const char *id) {
  char path[PATH_MAX];
  for (size_t at = 0; at < count; at++) {
    if (strcmp(machines[at]->id, id) != 0) continue;
    for (int kind = 0; kind < KINDS; kind++) age(machines[at], kind);
    free(machines[at]);
    machines[at] = machines[--count];
    break;
  }
  for (int kind = 0; kind <= KINDS; kind++) {
    snprintf(path, sizeof path, "%s/%s", id, kind < KINDS ? names[kind] : "born");
    if (unlinkat(directory, path, 0) < 0 && errno != ENOENT) return "remove";
  }
  return unlinkat(directory, id, AT_REMOVEDIR) < 0 && errno != ENOENT ? "remove" : NULL;
}

static int make(const char *path, const char *bytes) {
  int fd = openat(directory, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0) return -1;
  size_t length = strlen(bytes);
  int done = write(fd, bytes, length) == (ssize_t)length ? 0 : -1;
  close(fd);
  return done;
}

/* Of a machine that starts again the files are made anew: the old ones may still be somebody's. */
static const char *begin(const char *id) {
  char path[PATH_MAX], born[32];
  int64_t now = boot_ns();
  const char *failed = drop(id);
  if (failed) return failed;
  if (mkdirat(directory, id, 0755) < 0) return "make";
  snprintf(born, sizeof born, "%lld", (long long)now);
  for (int kind = 0; kind <= KINDS; kind++) {
    snprintf(path, sizeof path, "%s/%s", id, kind < KINDS ? names[kind] : "born");
    if (make(path, kind < KINDS ? "" : born) < 0) return "make";
  }
  struct machine *machine = know(id, now);
  if (!machine) return "remember";
  for (int kind = 0; kind < KINDS; kind++)
    if (refresh(machine, kind) < 0) return "write";
  return NULL;
}

static int is_name(const char *id) {
  size_t length = strlen(id);
  return length > 0 && length < 65 && strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == length;
}

static void obey(char *line) {
  const char *failed = NULL;
  char *id = strchr(line, ' ');
  if (id) *id++ = 0;
  errno = EINVAL;
  if (strcmp(line, "ping") == 0) failed = NULL;
  else if (!id || !is_name(id)) failed = "ask";
  else if (strcmp(line, "add") == 0) failed = begin(id);
  else if (strcmp(line, "drop") == 0) failed = drop(id);
  else if (strcmp(line, "renew") == 0) failed = renew(id);
  else failed = "ask";
  if (failed) printf("failed %s %d\n", failed, errno);
  else puts("ok");
  fflush(stdout);
}

/* 0 when the input has ended. */
static int listen_once(void) {
  static char line[4096];
  static size_t length;
  ssize_t got = read(0, line + length, sizeof line - 1 - length);
  if (got <= 0) return got < 0 && errno == EINTR;
  length += (size_t)got;
  for (char *end; (end = memchr(line, '\n', length)) != NULL;) {
    *end = 0;
    obey(line);
    length -= (size_t)(end + 1 - line);
    memmove(line, end + 1, length);
  }
  if (length == sizeof line - 1) length = 0;
  return 1;
}

static void answer_for(ino_t file) {
  for (size_t at = 0; at < count; at++)
    for (int kind = 0; kind < KINDS; kind++) {
      struct machine *machine = machines[at];
      if (machine->file[kind] != file) continue;
      if (machine->fresh[kind]) return;
      refresh(machine, kind);
      unask(machine, kind, FAN_MARK_ADD);
      machine->fresh[kind] = now_ms() + FRESH;
      return;
    }
}

static void answer_all(void) {
  char buffer[4096] __attribute__((aligned(__alignof__(struct fanotify_event_metadata))));
  ssize_t length = read(asked, buffer, sizeof buffer);
  const struct fanotify_event_metadata *event = (const void *)buffer;
  for (; FAN_EVENT_OK(event, length); event = FAN_EVENT_NEXT(event, length)) {
    struct stat facts;
    if (event->fd < 0) continue;
    if (fstat(event->fd, &facts) == 0) answer_for(facts.st_ino);
    struct fanotify_response answer = {.fd = event->fd, .response = FAN_ALLOW};
    if (write(asked, &answer, sizeof answer) < 0 && errno != ENOENT) _exit(1);
    close(event->fd);
  }
}

/* Has the next reader of what is no longer fresh ask again; ms until there is more to do, -1 for nothing. */
static int grow_old(void) {
  int64_t now = now_ms(), next = -1;
  for (size_t at = 0; at < count; at++)
    for (int kind = 0; kind < KINDS; kind++) {
      int64_t *fresh = &machines[at]->fresh[kind];
      if (*fresh <= now) age(machines[at], kind);
      if (*fresh && (next < 0 || *fresh - now < next)) next = *fresh - now;
    }
  return (int)next;
}

/* Those that have used a processor since: a machine that sleeps costs one look. */
static int look_at_all(void) {
  static int64_t next;
  int64_t now = now_ms();
  if (now < next) return (int)(next - now);
  next = now + TIMED;
  for (size_t at = 0; at < count; at++) {
    struct times times = times_of(machines[at], NULL);
    if (times.user + times.system == machines[at]->used && machines[at]->counted != machines[at]->born) continue;
    for (int kind = 0; kind < KINDS; kind++) refresh(machines[at], kind);
  }
  return TIMED;
}

static int64_t born_of(const char *id) {
  char path[PATH_MAX], buffer[64];
  snprintf(path, sizeof path, "%s/born", id);
  int fd = openat(directory, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  ssize_t length = fd < 0 ? -1 : read(fd, buffer, sizeof buffer - 1);
  if (fd >= 0) close(fd);
  buffer[length > 0 ? length : 0] = 0;
  return strtoll(buffer, NULL, 10);
}

/* Those of a server before this one. */
static void know_all(void) {
  DIR *list = fdopendir(openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (struct dirent *entry; list && (entry = readdir(list)) != NULL;)
    if (is_name(entry->d_name) && know(entry->d_name, born_of(entry->d_name)) == NULL) _exit(1);
  if (list) closedir(list);
}

static const char *chosen(const char *argument) { return strcmp(argument, "-") == 0 ? NULL : argument; }

int main(int arguments, char **argument) {
  if (arguments != 9) return 1;
  box.version = atoi(argument[2]);
  box.group = argument[3];
  box.memory = chosen(argument[4]), box.accounting = chosen(argument[5]), box.cpuset = chosen(argument[6]);
  box.cpu = chosen(argument[7]), box.pids = chosen(argument[8]);
  umask(022);
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0) return 1;
  directory = open(argument[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return 1;
  know_all();
  asked = fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC | FAN_NONBLOCK | FAN_UNLIMITED_QUEUE | FAN_UNLIMITED_MARKS, O_RDONLY | O_CLOEXEC);
  if (asked >= 0 && fanotify_mark(asked, FAN_MARK_ADD | FAN_MARK_FILESYSTEM, FAN_ACCESS_PERM, directory, ".") < 0) {
    int error = errno;
    close(asked);
    asked = -1, errno = error;
  }
  if (asked >= 0) puts("asked");
  else printf("timed %d\n", errno);
  fflush(stdout);
  for (;;) {
    struct pollfd sources[] = {{0, POLLIN, 0}, {asked, POLLIN, 0}};
    int wait = asked >= 0 ? grow_old() : look_at_all();
    if (poll(sources, 2, wait) < 0 && errno != EINTR) return 1;
    if (sources[1].revents & POLLIN) answer_all();
    if ((sources[0].revents & (POLLIN | POLLHUP)) && !listen_once()) return 0;
  }
}

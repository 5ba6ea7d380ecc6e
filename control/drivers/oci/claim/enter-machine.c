/*
 * Gives a machine that sleeps, and that nobody has used yet, its names and the host's files, from outside:
 *
 *     enter(file with the ids of its processes, host name, bytes of /dev/shm, root's id on the box, [name, text, …],
 *           [control file, value, …], [path, text]) → a promise of undefined, or of [step, errno]
 *
 * First the control files of its group are written in their order, which wakes it, then a file of the host's, for root alone. A thread of
 * its own does all of it: the one that serves goes on meanwhile (waking a daemon takes the kernel half a millisecond), and the namespaces
 * that are entered end with it; starting a process from a large server would take longer than all of it.
 *
 * Nothing of a tenant has run in the machine, but its image may be one's: a link, pipe or device in /etc in the place of a file goes, for
 * opening a pipe would wait for ever.
 */
#include "../native/visit.h"
#include "../native/only-process.h"
#include <linux/securebits.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define MOST_FILES 16

struct files {
  char *name[MOST_FILES], *text[MOST_FILES];
  size_t length[MOST_FILES], count;
};

struct entry {
  struct visit visit;
  char *processes, *hostname;
  int64_t shm, root;
  struct files etc, controls, note;
};

/* Closes it. */
static int write_all(int fd, const char *text, size_t length) {
  if (fd < 0) return -1;
  while (length > 0) {
    ssize_t written = write(fd, text, length);
    if (written < 0 && errno != EINTR) break;
    if (written > 0) text += written, length -= (size_t)written;
  }
  int error = errno;
  close(fd);
  errno = error;
  return length == 0 ? 0 : -1;
}

static int put(int directory, const char *name, const char *text, size_t length) {
  if (unlinkat(directory, name, 0) < 0 && errno != ENOENT) return -1;
  return write_all(openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644), text, length);
}

/* The host's own files, by their paths. */
static int write_outside(struct entry *entry) {
  const struct files *controls = &entry->controls, *note = &entry->note;
  for (size_t at = 0; at < controls->count; at++)
    if (write_all(open(controls->name[at], O_WRONLY | O_CLOEXEC), controls->text[at], controls->length[at]) < 0)
      return failed(&entry->visit, controls->name[at]), 0;
  for (size_t at = 0; at < note->count; at++)
    if (write_all(open(note->name[at], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), note->text[at], note->length[at]) < 0)
      return failed(&entry->visit, note->name[at]), 0;
  return 1;
}

static int find(struct entry *entry, int *mounts, int *names) {
  struct visit *visit = &entry->visit;
  long pid = only_process(entry->processes);
  if (pid == 0) return errno = ESRCH, failed(visit, "not one process runs in the machine, as in one that nobody has used"), 0;
  *mounts = open_of_process(pid, "ns/mnt", entry->processes);
  *names = open_of_process(pid, "ns/uts", entry->processes);
  return *mounts < 0 || *names < 0 ? failed(visit, "its namespaces"), 0 : 1;
}

/* The thread's own: its directories, its user for files, its namespaces. */
static void enter_and_write(struct entry *entry, int mounts, int names) {
  struct visit *visit = &entry->visit;
  char size[64];
  if (unshare(CLONE_FS) < 0) return failed(visit, "own directories");
  umask(022);
  /* Without it the capabilities over files go with the id. */
  if (prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP) < 0) return failed(visit, "user");
  if (setns(names, CLONE_NEWUTS) < 0 || sethostname(entry->hostname, strlen(entry->hostname)) < 0)
    return failed(visit, "host name");
  if (setns(mounts, CLONE_NEWNS) < 0) return failed(visit, "mounts");
  snprintf(size, sizeof size, "size=%lld", (long long)entry->shm);
  if (mount("shm", "/dev/shm", NULL, MS_REMOUNT | MS_NOSUID | MS_NODEV | MS_NOEXEC, size) < 0)
    return failed(visit, "/dev/shm");
  syscall(SYS_setfsgid, (unsigned)entry->root);
  syscall(SYS_setfsuid, (unsigned)entry->root);
  int etc = open("/etc", O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (etc < 0) return failed(visit, "/etc");
  for (size_t at = 0; at < entry->etc.count && !visit->step; at++)
    if (put(etc, entry->etc.name[at], entry->etc.text[at], entry->etc.length[at]) < 0) failed(visit, "files of /etc");
  close(etc);
}

static void *inside(void *given) {
  int mounts = -1, names = -1;
  if (write_outside(given) && find(given, &mounts, &names)) enter_and_write(given, mounts, names);
  if (mounts >= 0) close(mounts);
  if (names >= 0) close(names);
  return NULL;
}

static void discard_files(const struct files *files) {
  for (size_t at = 0; at < files->count; at++) free(files->name[at]), free(files->text[at]);
}

static void discard(struct visit *visit) {
  struct entry *entry = (struct entry *)visit;
  discard_files(&entry->etc);
  discard_files(&entry->controls);
  discard_files(&entry->note);
  free(entry->processes);
  free(entry->hostname);
  free(entry);
}

static int read_files(napi_env env, napi_value list, struct files *files) {
  uint32_t length;
  if (napi_get_array_length(env, list, &length) != napi_ok || length % 2 != 0 || length / 2 > MOST_FILES) return 0;
  for (uint32_t at = 0; at < length / 2; at++) {
    napi_value name, value;
    napi_get_element(env, list, 2 * at, &name);
    napi_get_element(env, list, 2 * at + 1, &value);
    files->count++;
    files->name[at] = text(env, name);
    files->text[at] = content(env, value, &files->length[at]);
    if (!files->name[at] || !files->text[at]) return 0;
  }
  return 1;
}

static napi_value enter(napi_env env, napi_callback_info info) {
  ARGUMENTS(7);
  struct entry *entry = calloc(1, sizeof *entry);
  int whole = entry && argc == 7 && (entry->processes = text(env, argv[0])) != NULL &&
              (entry->hostname = text(env, argv[1])) != NULL &&
              napi_get_value_int64(env, argv[2], &entry->shm) == napi_ok &&
              napi_get_value_int64(env, argv[3], &entry->root) == napi_ok && read_files(env, argv[4], &entry->etc) &&
              read_files(env, argv[5], &entry->controls) && read_files(env, argv[6], &entry->note);
  if (!whole) {
    if (entry) discard(&entry->visit);
    napi_throw_type_error(env, NULL, "enter: bad arguments");
    return NULL;
  }
  entry->visit.inside = inside;
  entry->visit.discard = discard;
  return begin_visit(env, &entry->visit, "enter");
}

NAPI_MODULE_INIT() {
  FUNCTION(enter);
  return exports;
}

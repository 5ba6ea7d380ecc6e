/*
 * Gives a machine that runs, and that nobody has used yet, its names and the host's files, from outside:
 *
 *     enter(file with the ids of its processes, host name, bytes of /dev/shm, root's id on the box, [name, text, …])
 *         → a promise of undefined, or of [step, errno]
 *
 * A thread of its own enters the namespaces and ends: starting a process from a large server would take longer than all
 * of it. Nothing of a tenant has run in the machine, but its image may be one's: a link, pipe or device in /etc in the place of a
 * file goes, for opening a pipe would wait for ever.
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

struct entry {
  struct visit visit;
  char *processes, *hostname;
  int64_t shm, root;
  char *file[MOST_FILES], *text[MOST_FILES];
  size_t length[MOST_FILES], files;
};

static int put(int directory, const char *name, const char *text, size_t length) {
  if (unlinkat(directory, name, 0) < 0 && errno != ENOENT) return -1;
  int fd = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
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
  for (size_t at = 0; at < entry->files && !visit->step; at++)
    if (put(etc, entry->file[at], entry->text[at], entry->length[at]) < 0) failed(visit, "files of /etc");
  close(etc);
}

static void *inside(void *given) {
  int mounts = -1, names = -1;
  if (find(given, &mounts, &names)) enter_and_write(given, mounts, names);
  if (mounts >= 0) close(mounts);
  if (names >= 0) close(names);
  return NULL;
}

static void discard(struct visit *visit) {
  struct entry *entry = (struct entry *)visit;
  for (size_t at = 0; at < entry->files; at++) free(entry->file[at]), free(entry->text[at]);
  free(entry->processes);
  free(entry->hostname);
  free(entry);
}

static int read_files(napi_env env, napi_value list, struct entry *entry) {
  uint32_t count;
  if (napi_get_array_length(env, list, &count) != napi_ok || count % 2 != 0 || count / 2 > MOST_FILES) return 0;
  for (uint32_t at = 0; at < count; at += 2, entry->files++) {
    napi_value name, value;
    napi_get_element(env, list, at, &name);
    napi_get_element(env, list, at + 1, &value);
    entry->file[at / 2] = text(env, name);
    entry->text[at / 2] = content(env, value, &entry->length[at / 2]);
    if (!entry->file[at / 2] || !entry->text[at / 2]) return entry->files++, 0;
  }
  return 1;
}

static napi_value enter(napi_env env, napi_callback_info info) {
  ARGUMENTS(5);
  struct entry *entry = calloc(1, sizeof *entry);
  int whole = entry && argc == 5 && (entry->processes = text(env, argv[0])) != NULL &&
              (entry->hostname = text(env, argv[1])) != NULL &&
              napi_get_value_int64(env, argv[2], &entry->shm) == napi_ok &&
              napi_get_value_int64(env, argv[3], &entry->root) == napi_ok && read_files(env, argv[4], entry);
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

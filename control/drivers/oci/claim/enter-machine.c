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
#include "arguments.h"
#include <fcntl.h>
#include <linux/securebits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST_FILES 16

struct visit {
  char *processes, *hostname;
  int mount_space, name_space;
  int64_t shm, root;
  char *file[MOST_FILES], *text[MOST_FILES];
  size_t length[MOST_FILES], files;
  const char *step;
  int error;
  napi_deferred deferred;
  napi_async_work work;
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

static void failed(struct visit *visit, const char *step) {
  visit->step = step;
  visit->error = errno;
}

/* The only process of a machine that nobody has used; 0 when there is none, or another one besides. */
static long only_process(const char *processes) {
  char text[32], *end;
  int fd = open(processes, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  ssize_t length = read(fd, text, sizeof text - 1);
  close(fd);
  if (length <= 0) return 0;
  text[length] = 0;
  long pid = strtol(text, &end, 10);
  return pid > 0 && end[0] == '\n' && end[1] == 0 ? pid : 0;
}

static int open_namespace(long pid, const char *name) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%ld/ns/%s", pid, name);
  return open(path, O_RDONLY | O_CLOEXEC);
}

/* Its namespaces: the number may have been another process's when they were opened, and that one is not in the group. */
static int find(struct visit *visit, int *mounts, int *names) {
  long pid = only_process(visit->processes);
  if (pid == 0) return errno = ESRCH, failed(visit, "not one process runs in the machine, as in one that nobody has used"), 0;
  *mounts = open_namespace(pid, "mnt");
  *names = open_namespace(pid, "uts");
  if (*mounts < 0 || *names < 0) return failed(visit, "its namespaces"), 0;
  if (only_process(visit->processes) != pid) return errno = ESRCH, failed(visit, "its process ended"), 0;
  return 1;
}

/* The thread's own: its directories, its user for files, its namespaces. */
static void *inside(void *given) {
  struct visit *visit = given;
  char size[64];
  if (unshare(CLONE_FS) < 0) return failed(visit, "own directories"), NULL;
  umask(022);
  /* Without it the capabilities over files go with the id. */
  if (prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP) < 0) return failed(visit, "user"), NULL;
  if (setns(visit->name_space, CLONE_NEWUTS) < 0 || sethostname(visit->hostname, strlen(visit->hostname)) < 0)
    return failed(visit, "host name"), NULL;
  if (setns(visit->mount_space, CLONE_NEWNS) < 0) return failed(visit, "mounts"), NULL;
  snprintf(size, sizeof size, "size=%lld", (long long)visit->shm);
  if (mount("shm", "/dev/shm", NULL, MS_REMOUNT | MS_NOSUID | MS_NODEV | MS_NOEXEC, size) < 0)
    return failed(visit, "/dev/shm"), NULL;
  syscall(SYS_setfsgid, (unsigned)visit->root);
  syscall(SYS_setfsuid, (unsigned)visit->root);
  int etc = open("/etc", O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (etc < 0) return failed(visit, "/etc"), NULL;
  for (size_t at = 0; at < visit->files && !visit->step; at++)
    if (put(etc, visit->file[at], visit->text[at], visit->length[at]) < 0) failed(visit, "files of /etc");
  close(etc);
  return NULL;
}

static void execute(napi_env env, void *given) {
  (void)env;
  struct visit *visit = given;
  pthread_t thread;
  visit->mount_space = visit->name_space = -1;
  if (find(visit, &visit->mount_space, &visit->name_space)) {
    errno = pthread_create(&thread, NULL, inside, visit);
    if (errno != 0) failed(visit, "thread");
    else pthread_join(thread, NULL);
  }
  if (visit->mount_space >= 0) close(visit->mount_space);
  if (visit->name_space >= 0) close(visit->name_space);
}

static void complete(napi_env env, napi_status status, void *given) {
  struct visit *visit = given;
  napi_value answer, part;
  if (status != napi_ok && !visit->step) visit->step = "work", visit->error = ECANCELED;
  napi_get_undefined(env, &answer);
  if (visit->step) {
    napi_create_array_with_length(env, 2, &answer);
    napi_create_string_utf8(env, visit->step, NAPI_AUTO_LENGTH, &part);
    napi_set_element(env, answer, 0, part);
    napi_create_int32(env, visit->error, &part);
    napi_set_element(env, answer, 1, part);
  }
  napi_resolve_deferred(env, visit->deferred, answer);
  napi_delete_async_work(env, visit->work);
  for (size_t at = 0; at < visit->files; at++) free(visit->file[at]), free(visit->text[at]);
  free(visit->processes);
  free(visit->hostname);
  free(visit);
}

static int read_files(napi_env env, napi_value list, struct visit *visit) {
  uint32_t count;
  if (napi_get_array_length(env, list, &count) != napi_ok || count % 2 != 0 || count / 2 > MOST_FILES) return 0;
  for (uint32_t at = 0; at < count; at += 2, visit->files++) {
    napi_value name, value;
    napi_get_element(env, list, at, &name);
    napi_get_element(env, list, at + 1, &value);
    visit->file[at / 2] = text(env, name);
    visit->text[at / 2] = content(env, value, &visit->length[at / 2]);
    if (!visit->file[at / 2] || !visit->text[at / 2]) return visit->files++, 0;
  }
  return 1;
}

static napi_value enter(napi_env env, napi_callback_info info) {
  ARGUMENTS(5);
  napi_value promise, name;
  struct visit *visit = calloc(1, sizeof *visit);
  int whole = visit && argc == 5 && (visit->processes = text(env, argv[0])) != NULL &&
              (visit->hostname = text(env, argv[1])) != NULL &&
              napi_get_value_int64(env, argv[2], &visit->shm) == napi_ok &&
              napi_get_value_int64(env, argv[3], &visit->root) == napi_ok && read_files(env, argv[4], visit);
  if (!whole) {
    for (size_t at = 0; visit && at < visit->files; at++) free(visit->file[at]), free(visit->text[at]);
    if (visit) free(visit->processes), free(visit->hostname);
    free(visit);
    napi_throw_type_error(env, NULL, "enter: bad arguments");
    return NULL;
  }
  napi_create_promise(env, &visit->deferred, &promise);
  napi_create_string_utf8(env, "enter", NAPI_AUTO_LENGTH, &name);
  napi_create_async_work(env, NULL, name, execute, complete, visit, &visit->work);
  napi_queue_async_work(env, visit->work);
  return promise;
}

NAPI_MODULE_INIT() {
  FUNCTION(enter);
  return exports;
}

/*
 * Mounts files of the host over files of /proc and /sys in a machine, from outside:
 *
 *     show(mount namespace, directory, [name, path inside, …]) → a promise of undefined, or of [step, errno]
 *
 * A thread of its own enters the namespace and ends. Tenants may run there, and be root of all its paths: so each is opened without
 * following a link, and nothing is mounted but over a file of the kernel's own (proc, sysfs), or over what was mounted there before.
 * A path that is not there is left out.
 */
#include "arguments.h"
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

/* <sys/mount.h> cannot be included beside <linux/mount.h>. */
#define PRIVATE (1 << 18)
#define MOST_FILES 16

struct visit {
  int mounts;
  char *directory, *name[MOST_FILES], *path[MOST_FILES];
  int tree[MOST_FILES];
  struct stat facts[MOST_FILES];
  size_t files;
  const char *step;
  int error;
  napi_deferred deferred;
  napi_async_work work;
};

static void failed(struct visit *visit, const char *step) {
  visit->step = step;
  visit->error = errno;
}

/* A copy of the mount of each file, which nobody can write through. */
static void copy_trees(struct visit *visit) {
  struct mount_attr attributes = {
      .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC,
      .propagation = PRIVATE,
  };
  int directory = open(visit->directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return failed(visit, "directory");
  for (size_t at = 0; at < visit->files && !visit->step; at++) {
    visit->tree[at] = (int)syscall(SYS_open_tree, directory, visit->name[at], OPEN_TREE_CLONE | O_CLOEXEC);
    if (visit->tree[at] < 0 || fstat(visit->tree[at], &visit->facts[at]) < 0) failed(visit, "copy");
    else if (syscall(SYS_mount_setattr, visit->tree[at], "", AT_EMPTY_PATH, &attributes, sizeof attributes) < 0)
      failed(visit, "restrict");
  }
  close(directory);
}

/* 1 when it is to be covered, 0 when it is already, -1 when it is something else. */
static int is_ours(int target, const struct stat *file) {
  struct stat facts;
  struct statfs system;
  if (fstat(target, &facts) < 0 || fstatfs(target, &system) < 0) return -1;
  if (facts.st_dev == file->st_dev && facts.st_ino == file->st_ino) return 0;
  errno = EXDEV;
  if (!S_ISREG(facts.st_mode)) return -1;
  return system.f_type == PROC_SUPER_MAGIC || system.f_type == SYSFS_MAGIC || system.f_type == TMPFS_MAGIC ? 1 : -1;
}

static void put(struct visit *visit, int root, size_t at) {
  struct open_how how = {.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS};
  int target = (int)syscall(SYS_openat2, root, visit->path[at], &how, sizeof how);
  if (target < 0) {
    if (errno != ENOENT) failed(visit, visit->path[at]);
    return;
  }
  int wanted = is_ours(target, &visit->facts[at]);
  if (wanted < 0) failed(visit, visit->path[at]);
  else if (wanted && syscall(SYS_move_mount, visit->tree[at], "", target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
    failed(visit, "mount");
  close(target);
}

static void *inside(void *given) {
  struct visit *visit = given;
  if (unshare(CLONE_FS) < 0) return failed(visit, "own directories"), NULL;
  copy_trees(visit);
  if (visit->step) return NULL;
  struct stat before, after;
  if (stat("/", &before) < 0 || setns(visit->mounts, CLONE_NEWNS) < 0 || stat("/", &after) < 0)
    return failed(visit, "mounts"), NULL;
  errno = EXDEV;
  /* Never over the host's own. */
  if (before.st_dev == after.st_dev && before.st_ino == after.st_ino) return failed(visit, "mounts"), NULL;
  int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (root < 0) return failed(visit, "root"), NULL;
  for (size_t at = 0; at < visit->files && !visit->step; at++) put(visit, root, at);
  close(root);
  return NULL;
}

static void execute(napi_env env, void *given) {
  (void)env;
  struct visit *visit = given;
  pthread_t thread;
  errno = pthread_create(&thread, NULL, inside, visit);
  if (errno != 0) failed(visit, "thread");
  else pthread_join(thread, NULL);
}

static void discard(struct visit *visit) {
  for (size_t at = 0; at < visit->files; at++) {
    if (visit->tree[at] >= 0) close(visit->tree[at]);
    free(visit->name[at]);
    free(visit->path[at]);
  }
  free(visit->directory);
  free(visit);
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
  discard(visit);
}

static int read_files(napi_env env, napi_value list, struct visit *visit) {
  uint32_t count;
  if (napi_get_array_length(env, list, &count) != napi_ok || count % 2 != 0 || count / 2 > MOST_FILES) return 0;
  for (uint32_t at = 0; at < count; at += 2) {
    napi_value name, path;
    size_t file = visit->files++;
    visit->tree[file] = -1;
    napi_get_element(env, list, at, &name);
    napi_get_element(env, list, at + 1, &path);
    visit->name[file] = text(env, name);
    visit->path[file] = text(env, path);
    if (!visit->name[file] || !visit->path[file]) return 0;
  }
  return 1;
}

static napi_value show(napi_env env, napi_callback_info info) {
  ARGUMENTS(3);
  napi_value promise, name;
  struct visit *visit = calloc(1, sizeof *visit);
  int whole = visit && argc == 3 && napi_get_value_int32(env, argv[0], &visit->mounts) == napi_ok &&
              (visit->directory = text(env, argv[1])) != NULL && read_files(env, argv[2], visit);
  if (!whole) {
    if (visit) discard(visit);
    napi_throw_type_error(env, NULL, "show: bad arguments");
    return NULL;
  }
  napi_create_promise(env, &visit->deferred, &promise);
  napi_create_string_utf8(env, "show", NAPI_AUTO_LENGTH, &name);
  napi_create_async_work(env, NULL, name, execute, complete, visit, &visit->work);
  napi_queue_async_work(env, visit->work);
  return promise;
}

NAPI_MODULE_INIT() {
  FUNCTION(show);
  return exports;
}

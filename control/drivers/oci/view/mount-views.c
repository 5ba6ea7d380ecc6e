/*
 * Mounts files of the host over files of /proc and /sys in a machine, from outside:
 *
 *     show(mount namespace, directory, [name, path inside, …]) → a promise of undefined, or of [step, errno]
 *
 * A thread of its own enters the namespace and ends. Tenants may run there, and be root of all its paths: so each is opened without
 * following a link, and nothing is mounted but over a file of the kernel's own (proc, sysfs), or over what was mounted there before.
 * A path that is not there is left out.
 */
#include "../native/visit.h"
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

/* <sys/mount.h> cannot be included beside <linux/mount.h>. */
#define PRIVATE (1 << 18)
#define MOST_FILES 16

struct showing {
  struct visit visit;
  int mounts;
  char *directory, *name[MOST_FILES], *path[MOST_FILES];
  int tree[MOST_FILES];
  struct stat facts[MOST_FILES];
  size_t files;
};

/* A copy of the mount of each file, which nobody can write through. */
static void copy_trees(struct showing *showing) {
  struct mount_attr attributes = {
      .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC,
      .propagation = PRIVATE,
  };
  int directory = open(showing->directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return failed(&showing->visit, "directory");
  for (size_t at = 0; at < showing->files && !showing->visit.step; at++) {
    showing->tree[at] = (int)syscall(SYS_open_tree, directory, showing->name[at], OPEN_TREE_CLONE | O_CLOEXEC);
    if (showing->tree[at] < 0 || fstat(showing->tree[at], &showing->facts[at]) < 0) failed(&showing->visit, "copy");
    else if (syscall(SYS_mount_setattr, showing->tree[at], "", AT_EMPTY_PATH, &attributes, sizeof attributes) < 0)
      failed(&showing->visit, "restrict");
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

static void put(struct showing *showing, int root, size_t at) {
  struct open_how how = {.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS};
  int target = (int)syscall(SYS_openat2, root, showing->path[at], &how, sizeof how);
  if (target < 0) {
    if (errno != ENOENT) failed(&showing->visit, showing->path[at]);
    return;
  }
  int wanted = is_ours(target, &showing->facts[at]);
  if (wanted < 0) failed(&showing->visit, showing->path[at]);
  else if (wanted && syscall(SYS_move_mount, showing->tree[at], "", target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
    failed(&showing->visit, "mount");
  close(target);
}

static void *inside(void *given) {
  struct showing *showing = given;
  if (unshare(CLONE_FS) < 0) return failed(&showing->visit, "own directories"), NULL;
  copy_trees(showing);
  if (showing->visit.step) return NULL;
  struct stat before, after;
  if (stat("/", &before) < 0 || setns(showing->mounts, CLONE_NEWNS) < 0 || stat("/", &after) < 0)
    return failed(&showing->visit, "mounts"), NULL;
  errno = EXDEV;
  /* Never over the host's own. */
  if (before.st_dev == after.st_dev && before.st_ino == after.st_ino) return failed(&showing->visit, "mounts"), NULL;
  int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (root < 0) return failed(&showing->visit, "root"), NULL;
  for (size_t at = 0; at < showing->files && !showing->visit.step; at++) put(showing, root, at);
  close(root);
  return NULL;
}

static void discard(struct visit *visit) {
  struct showing *showing = (struct showing *)visit;
  for (size_t at = 0; at < showing->files; at++) {
    if (showing->tree[at] >= 0) close(showing->tree[at]);
    free(showing->name[at]);
    free(showing->path[at]);
  }
  free(showing->directory);
  free(showing);
}

static int read_files(napi_env env, napi_value list, struct showing *showing) {
  uint32_t count;
  if (napi_get_array_length(env, list, &count) != napi_ok || count % 2 != 0 || count / 2 > MOST_FILES) return 0;
  for (uint32_t at = 0; at < count; at += 2) {
    napi_value name, path;
    size_t file = showing->files++;
    showing->tree[file] = -1;
    napi_get_element(env, list, at, &name);
    napi_get_element(env, list, at + 1, &path);
    showing->name[file] = text(env, name);
    showing->path[file] = text(env, path);
    if (!showing->name[file] || !showing->path[file]) return 0;
  }
  return 1;
}

static napi_value show(napi_env env, napi_callback_info info) {
  ARGUMENTS(3);
  struct showing *showing = calloc(1, sizeof *showing);
  int whole = showing && argc == 3 && napi_get_value_int32(env, argv[0], &showing->mounts) == napi_ok &&
              (showing->directory = text(env, argv[1])) != NULL && read_files(env, argv[2], showing);
  if (!whole) {
    if (showing) discard(&showing->visit);
    napi_throw_type_error(env, NULL, "show: bad arguments");
    return NULL;
  }
  showing->visit.inside = inside;
  showing->visit.discard = discard;
  return begin_visit(env, &showing->visit, "show");
}

NAPI_MODULE_INIT() {
  FUNCTION(show);
  return exports;
}

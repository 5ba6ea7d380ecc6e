/*
 * Shows a directory of the host in a machine, or takes it away again, from outside of the machine:
 *
 *     mount-drive mount <drives> <drive> <path> <make path: 0|1> <read-only: 0|1> <mount point>   3< mount namespace
 *     mount-drive unmount <mount id> <mount point>                                                3< mount namespace
 *
 * A tenant is root inside and may swap any path for a link at any moment. So every directory is reached by descriptor,
 * name by name, and no link is followed on either side; the copy of the mount is made and restricted on the host before
 * the machine's namespace is entered, so there is no moment in which it is writable or lets setuid count; and after
 * entering nothing is executed, loaded or read from the machine.
 *
 * Exits with 0, or says `<step> <errno>` and exits with 1. Needs Linux 5.12 (mount_setattr).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NAMESPACE 3
#define DIRECTORY (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
/* <sys/mount.h> cannot be included beside <linux/mount.h>. */
#define PRIVATE (1 << 18)
#define DETACH 2
#define NO_LINK 8

static void fail(const char *step) {
  printf("%s %d\n", step, errno);
  exit(1);
}

/* Below `from`, name by name; with `make` what is missing is made, root's. Takes `path` apart. */
static int walk(int from, char *path, int make) {
  int at = from;
  char *rest = NULL;
  for (char *name = strtok_r(path, "/", &rest); name; name = strtok_r(NULL, "/", &rest)) {
    if (strcmp(name, "..") == 0) {
      errno = EINVAL;
      return -1;
    }
    int next = openat(at, name, DIRECTORY);
    if (next < 0 && errno == ENOENT && make) {
      if (mkdirat(at, name, 0755) < 0 && errno != EEXIST) return -1;
      next = openat(at, name, DIRECTORY);
    }
    if (next < 0) return -1;
    /* A long path has more names than a process may have descriptors. */
    if (at != from) close(at);
    at = next;
  }
  return at;
}

/* Both the root and the working directory are the machine's afterwards; never stays with the host's. */
static void enter(void) {
  struct stat before, after;
  if (stat("/", &before) < 0 || setns(NAMESPACE, CLONE_NEWNS) < 0 || stat("/", &after) < 0) fail("enter");
  errno = EXDEV;
  if (before.st_dev == after.st_dev && before.st_ino == after.st_ino) fail("enter");
}

static int inside(char *mount_point, int make) {
  int root = open("/", DIRECTORY);
  int at = root < 0 ? -1 : walk(root, mount_point, make);
  if (at < 0) fail("target");
  return at;
}

static void mount_drive(char **argument) {
  int drives = open(argument[0], DIRECTORY);
  int drive = drives < 0 ? -1 : walk(drives, argument[1], 0);
  if (drive < 0) fail("drive");
  int source = walk(drive, argument[2], strcmp(argument[3], "1") == 0);
  if (source < 0) fail("source");
  int tree = (int)syscall(SYS_open_tree, source, "", OPEN_TREE_CLONE | O_CLOEXEC | AT_EMPTY_PATH);
  if (tree < 0) fail("copy");
  struct mount_attr attributes = {
      .attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (strcmp(argument[4], "1") == 0 ? MOUNT_ATTR_RDONLY : 0),
      /* As a peer of the host's mount, a mount below it would come up on the host and in every other machine. */
      .propagation = PRIVATE,
  };
  if (syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attributes, sizeof attributes) < 0) fail("restrict");
  enter();
  int target = inside(argument[5], 1);
  if (syscall(SYS_move_mount, tree, "", target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0) fail("mount");
}

static void unmount_drive(char **argument) {
  enter();
  int target = inside(argument[1], 0);
  struct statx facts;
  if (statx(target, "", AT_EMPTY_PATH, STATX_MNT_ID, &facts) < 0) fail("look");
  errno = ESTALE;
  /* Somebody else's mount by now. */
  if (facts.stx_mnt_id != strtoull(argument[0], NULL, 10)) fail("look");
  if (fchdir(target) < 0 || syscall(SYS_umount2, ".", DETACH | NO_LINK) < 0) fail("unmount");
}

int main(int count, char **argument) {
  umask(022);
  errno = EINVAL;
  if (count == 8 && strcmp(argument[1], "mount") == 0) mount_drive(argument + 2);
  else if (count == 4 && strcmp(argument[1], "unmount") == 0) unmount_drive(argument + 2);
  else fail("arguments");
  return 0;
}

/*
 * Shows a directory of the host in a machine, or takes it away again, from outside of the machine:
 *
 *     mount-drive <mount namespace> mount <drives> <drive> <path> <make path: 0|1> <read-only: 0|1> <uid|-> <gid|->
 *                                         <first id|-> <mount point>
 *     mount-drive <mount namespace> unmount <mount id> <mount point>
 *
 * With a uid or gid, what belongs to the drive's own owner is shown as theirs, and what they make is the owner's on disk:
 * the two change places, everybody else stays who he is (an idmapped mount). With a first id, the machine has users of its
 * own, whose ids 0 to 65535 are those from there on outside: owners on disk are shown as the users of these numbers,
 * others as nobody. The step `map` fails where the file system cannot do that.
 *
 * A tenant is root inside and may swap any path for a link at any moment. So every directory is reached by descriptor,
 * name by name, and no link is followed on either side; the copy of the mount is made and restricted on the host before
 * the machine's namespace is entered, so there is no moment in which it is writable or lets setuid count; and after
 * entering nothing is executed, loaded or read from the machine.
 *
 * Exits with 0, or says `<step> <errno>` and exits with 1. Needs Linux 5.12 (mount_setattr).
 */
#define _GNU_SOURCE
#include "../native/id-map.h"
#include <linux/mount.h>
#include <linux/securebits.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define DIRECTORY (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
/* <sys/mount.h> cannot be included beside <linux/mount.h>. */
#define PRIVATE (1 << 18)
#define DETACH 2
#define NO_LINK 8

static void fail(const char *step) {
  printf("%s %d\n", step, errno);
  exit(1);
}

/* A directory made just now. What somebody has put in its place meanwhile is not given away. */
static int give(int directory, const struct stat *owner) {
  struct stat facts;
  if (owner->st_uid == geteuid() && owner->st_gid == getegid()) return 0;
  if (fstat(directory, &facts) < 0) return -1;
  if (facts.st_uid != geteuid() || facts.st_nlink > 2) return 0;
  return fchownat(directory, "", owner->st_uid, owner->st_gid, AT_EMPTY_PATH);
}

/* Below `from`, name by name; with `owner` what is missing is made, and theirs. Takes `path` apart. */
static int walk(int from, char *path, const struct stat *owner) {
  int at = from;
  char *rest = NULL;
  for (char *name = strtok_r(path, "/", &rest); name; name = strtok_r(NULL, "/", &rest)) {
    if (strcmp(name, "..") == 0) {
      errno = EINVAL;
      return -1;
    }
    int next = openat(at, name, DIRECTORY);
    if (next < 0 && errno == ENOENT && owner) {
      int made = mkdirat(at, name, 0755) == 0;
      if (!made && errno != EEXIST) return -1;
      next = openat(at, name, DIRECTORY);
      if (next >= 0 && made && give(next, owner) < 0) return -1;
    }
    if (next < 0) return -1;
    /* A long path has more names than a process may have descriptors. */
    if (at != from) close(at);
    at = next;
  }
  return at;
}

/* Both the root and the working directory are the machine's afterwards; never stays with the host's. */
static void enter(int namespace) {
  struct stat before, after;
  if (stat("/", &before) < 0 || setns(namespace, CLONE_NEWNS) < 0 || stat("/", &after) < 0) fail("enter");
  errno = EXDEV;
  if (before.st_dev == after.st_dev && before.st_ino == after.st_ino) fail("enter");
}

/* What is made in a machine with users of its own cannot be the box's root's. Keeps the capabilities. */
static void make_as(unsigned id) {
  if (prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP) < 0) fail("user");
  syscall(SYS_setfsgid, id);
  syscall(SYS_setfsuid, id);
}

/* `root_id` is the id of the machine's root on the box. */
static int inside(char *mount_point, int make, unsigned root_id) {
  const struct stat root_user = {.st_uid = root_id, .st_gid = root_id};
  if (root_id != 0) make_as(root_id);
  int root = open("/", DIRECTORY);
  int at = root < 0 ? -1 : walk(root, mount_point, make ? &root_user : NULL);
  if (at < 0) fail("target");
  return at;
}

/* Ids as they are on disk and as they are shown: `count` from the first of each on. */
struct ids {
  unsigned first, count;
};

static char *line(char *lines, unsigned disk, unsigned shown, unsigned count) {
  return count == 0 ? lines : lines + sprintf(lines, "%u %u %u\n", disk, shown, count);
}

/* Everybody on disk is shown as himself among `ids`, but for the two that change places; who is not among them is nobody. */
static void exchange(char *lines, const struct ids *ids, unsigned one, unsigned other) {
  unsigned low = one < other ? one : other, high = one < other ? other : one, first = ids->first;
  *lines = 0;
  if (low == high || low >= ids->count) {
    line(lines, 0, first, ids->count);
    return;
  }
  lines = line(lines, 0, first, low);
  if (high < ids->count) {
    lines = line(lines, low, first + high, 1);
    lines = line(lines, low + 1, first + low + 1, high - low - 1);
    lines = line(lines, high, first + low, 1);
    line(lines, high + 1, first + high + 1, ids->count - high - 1);
  } else {
    /* The owner is beyond what there is inside: he is shown, and nobody takes his place. */
    lines = line(lines, low + 1, first + low + 1, ids->count - low - 1);
    if (one == high) line(lines, high, first + low, 1);
  }
}

/* `disk` owns the drive, `shown` is who he is to be inside. */
static int map(pid_t pid, const char *file, const struct ids *ids, unsigned disk, unsigned shown) {
  char lines[256];
  exchange(lines, ids, disk, shown);
  return write_map(pid, file, lines);
}

struct look {
  struct ids ids;
  unsigned uid, gid;
};

/* A user namespace whose ids are mapped so. Somebody has to be in it until it is open. */
static int namespace_of(const struct stat *owner, const struct look *look) {
  int ready[2], gate[2];
  if (pipe2(ready, O_CLOEXEC) < 0 || pipe2(gate, O_CLOEXEC) < 0) return -1;
  pid_t child = fork();
  if (child < 0) return -1;
  if (child == 0) {
    char failed = unshare(CLONE_NEWUSER) < 0 ? (char)errno : 0;
    close(gate[1]);
    /* Until we are done, or gone. */
    if (write(ready[1], &failed, 1) == 1 && read(gate[0], &failed, 1) >= 0) _exit(0);
    _exit(1);
  }
  char error = EPERM;
  int fd = -1;
  if (read(ready[0], &error, 1) == 1 && error == 0) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/ns/user", (int)child);
    if (map(child, "uid_map", &look->ids, owner->st_uid, look->uid) == 0 &&
        map(child, "gid_map", &look->ids, owner->st_gid, look->gid) == 0)
      fd = open(path, O_RDONLY | O_CLOEXEC);
    error = (char)errno;
  }
  close(gate[1]);
  waitpid(child, NULL, 0);
  errno = error;
  return fd;
}

static unsigned id_of(const char *argument, unsigned otherwise) {
  return strcmp(argument, "-") == 0 ? otherwise : (unsigned)strtoul(argument, NULL, 10);
}

/* All ids but -1, which is none. */
#define EVERYBODY 4294967295U

static struct look look_of(char **argument, const struct stat *owner) {
  int shared = strcmp(argument[2], "-") == 0;
  struct ids ids = {id_of(argument[2], 0), shared ? EVERYBODY : RANGE};
  return (struct look){ids, id_of(argument[0], owner->st_uid), id_of(argument[1], owner->st_gid)};
}

static void show_as(int tree, const struct stat *owner, const struct look *look) {
  if (look->ids.count == EVERYBODY && look->uid == owner->st_uid && look->gid == owner->st_gid) return;
  int users = namespace_of(owner, look);
  struct mount_attr attributes = {.attr_set = MOUNT_ATTR_IDMAP, .userns_fd = (unsigned)users};
  if (users < 0 || syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attributes, sizeof attributes) < 0) fail("map");
}

static void mount_drive(int namespace, char **argument) {
  int drives = open(argument[0], DIRECTORY);
  int drive = drives < 0 ? -1 : walk(drives, argument[1], NULL);
  struct stat owner;
  if (drive < 0 || fstat(drive, &owner) < 0) fail("drive");
  int source = walk(drive, argument[2], strcmp(argument[3], "1") == 0 ? &owner : NULL);
  if (source < 0) fail("source");
  int tree = (int)syscall(SYS_open_tree, source, "", OPEN_TREE_CLONE | O_CLOEXEC | AT_EMPTY_PATH);
  if (tree < 0) fail("copy");
  struct mount_attr attributes = {
      .attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (strcmp(argument[4], "1") == 0 ? MOUNT_ATTR_RDONLY : 0),
      /* As a peer of the host's mount, a mount below it would come up on the host and in every other machine. */
      .propagation = PRIVATE,
  };
  if (syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attributes, sizeof attributes) < 0) fail("restrict");
  struct look look = look_of(argument + 5, &owner);
  show_as(tree, &owner, &look);
  enter(namespace);
  int target = inside(argument[8], 1, look.ids.first);
  if (syscall(SYS_move_mount, tree, "", target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0) fail("mount");
}

static void unmount_drive(int namespace, char **argument) {
  enter(namespace);
  int target = inside(argument[1], 0, 0);
  struct statx facts;
  if (statx(target, "", AT_EMPTY_PATH, STATX_MNT_ID, &facts) < 0) fail("look");
  errno = ESTALE;
  /* Somebody else's mount by now. */
  if (facts.stx_mnt_id != strtoull(argument[0], NULL, 10)) fail("look");
  if (fchdir(target) < 0 || syscall(SYS_umount2, ".", DETACH | NO_LINK) < 0) fail("unmount");
}

int main(int count, char **argument) {
  umask(022);
  int namespace = count < 3 ? -1 : open(argument[1], O_RDONLY | O_CLOEXEC);
  if (count >= 3 && namespace < 0) fail("enter");
  errno = EINVAL;
  if (count == 12 && strcmp(argument[2], "mount") == 0) mount_drive(namespace, argument + 3);
  else if (count == 5 && strcmp(argument[2], "unmount") == 0) unmount_drive(namespace, argument + 3);
  else fail("arguments");
  return 0;
}

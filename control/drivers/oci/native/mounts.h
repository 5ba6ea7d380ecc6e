/* Mounts made by descriptor, and overlays of directories beside the working directory. */
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* <sys/mount.h> cannot be included beside <linux/mount.h>. */
extern int mount(const char *source, const char *target, const char *type, unsigned long flags, const void *data);
#define BIND (1UL << 12)
#define RECURSIVE (1UL << 14)
#define PRIVATE (1 << 18)
#define SLAVE (1UL << 19)
#define DETACH 2

/* Says what went wrong in the words of the system, to whoever reads what the machine has said. */
static void fail(const char *what) {
  fprintf(stderr, "%s: %s\n", what, strerror(errno));
  exit(1);
}

static void move(int tree, const char *place) {
  if (syscall(SYS_move_mount, tree, "", AT_FDCWD, place, MOVE_MOUNT_F_EMPTY_PATH) < 0) fail(place);
}

/* Nobody else sees what is mounted in it. With a user namespace its ids are mapped: what is 0 on disk is that namespace's root. */
static inline void map_ids(int tree, const char *name, int users) {
  struct mount_attr attributes = {.propagation = PRIVATE};
  if (users >= 0) {
    attributes.attr_set = MOUNT_ATTR_IDMAP;
    attributes.userns_fd = (unsigned)users;
  }
  if (syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attributes, sizeof attributes) < 0) {
    const char *next = users < 0 ? "needs Linux 5.12" : "move it to ext4 or xfs, or set HUTCH_USER_NAMESPACES=off";
    fprintf(stderr, "%s cannot be shown%s (%s): ", name, users < 0 ? "" : " under other ids", next);
    fail("mount_setattr");
  }
}

/* Shows a tree, its ids mapped, at `place`, which is made. */
static inline void place_tree(int tree, const char *name, const char *place, int users) {
  map_ids(tree, name, users);
  if (mkdir(place, 0755) < 0) fail(place);
  move(tree, place);
  close(tree);
}

/* A mount of the directory, nowhere yet. */
static inline int clone_tree(const char *directory) {
  int tree = (int)syscall(SYS_open_tree, AT_FDCWD, directory, OPEN_TREE_CLONE | O_CLOEXEC);
  if (tree < 0) fail(directory);
  return tree;
}

/* `place_tree` of a directory. */
static inline void show(const char *directory, const char *place, int users) {
  place_tree(clone_tree(directory), directory, place, users);
}

static void set(int context, const char *key, const char *value) {
  int command = value ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG;
  if (syscall(SYS_fsconfig, context, command, key, value, 0) < 0) fail(key);
}

/* The kernel's own words on a mount that failed, `<letter> <text>` a line. */
static void repeat_kernel(int context) {
  char text[512];
  ssize_t length = read(context, text, sizeof text - 1);
  if (length <= 0) return;
  text[length] = 0;
  fprintf(stderr, "%s\n", text);
}

/* Mounts what was configured, nowhere yet. */
static int mounted(int context, const char *what, unsigned attributes) {
  if (syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0) {
    int error = errno;
    repeat_kernel(context);
    errno = error;
    fail(what);
  }
  int tree = (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, attributes);
  if (tree < 0) fail(what);
  close(context);
  return tree;
}

static inline int overlay_of(const char *const options[][2]) {
  int context = (int)syscall(SYS_fsopen, "overlay", FSOPEN_CLOEXEC);
  if (context < 0) fail("overlay");
  set(context, "source", "overlay");
  for (int at = 0; options[at][0]; at++) set(context, options[at][0], options[at][1]);
  return mounted(context, "overlay", 0);
}

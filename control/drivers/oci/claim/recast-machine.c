/*
 * Makes a generic machine, one whose daemon runs with an empty root and whom nobody has used yet, one of an image:
 *
 *     recast-machine <users|-> <image> <machine> <loop|-> <processes>
 *
 * <users> is the network namespace that the machine's user namespace has. Its disk is on the device <loop>; without, it is the directory
 * <machine>, with its upper and work directories. <processes> is the file of its control group that lists its one process.
 *
 * The new root is put together as that of a machine that starts (machine-root.h), but in the machine's own mount namespace, by its root: what
 * is of the host comes there by descriptor, so that the host's mounts, of which there are some for each machine, need not be copied. It is then
 * attached at /next, the mounts of the generic root (its /proc, /dev, /sys, /.hutch) are moved to it, and pivot_root(2) makes it the root of the
 * namespace and of every process in it. Mounts are moved, not made anew: what the daemon has open of them stays what it is, and what was masked
 * stays masked. The image may be a tenant's: of its paths none is followed that is not a directory.
 *
 * Whatever fails is said on the standard error; exits with 1 then, and the machine is good for nothing but its removal.
 */
#define _GNU_SOURCE
#include "../native/mounts.h"
#include "../native/told.h"
#include "../native/machine-disk.h"
#include "../native/spare-files.h"
#include "../native/machine-root.h"
#include "../native/only-process.h"

/* Places of the generic root: for the new one, and for what that is put together of. */
#define next_root "/next"
#define stage_place "/stage"

enum { most_of_a_table = 1 << 16, most_lines = 512, most_mounts = 32 };

struct mounts {
  char table[most_of_a_table];
  const char *points[most_mounts];
  size_t count;
};

struct line {
  int id, parent;
  char *point;
};

static void not_generic(void) {
  fprintf(stderr, "its table of mounts is not a generic machine's\n");
  exit(1);
}

/* `id parent major:minor root point …`, proc(5). Gives where the next line begins, or the table ends. */
static char *read_line(char *at, struct line *line) {
  int point = 0, end = 0;
  if (sscanf(at, "%d %d %*s %*s %n%*s%n", &line->id, &line->parent, &point, &end) < 2 || end == 0) not_generic();
  line->point = at + point;
  char *next = at + end + strcspn(at + end, "\n");
  at[end] = 0;
  return *next ? next + 1 : next;
}

/* What is mounted at the root of its namespace: what is below these moves with them. The root itself need not come first. */
static void choose_mounts(const struct line *lines, size_t count, struct mounts *mounts) {
  int root = -1;
  for (size_t at = 0; at < count; at++)
    if (strcmp(lines[at].point, "/") == 0) root = lines[at].id;
  for (size_t at = 0; at < count && mounts->count < most_mounts; at++)
    if (lines[at].parent == root && lines[at].id != root) mounts->points[mounts->count++] = lines[at].point;
  if (root < 0 || mounts->count == 0 || mounts->count == most_mounts) not_generic();
}

static void read_mounts(int fd, struct mounts *mounts) {
  static struct line lines[most_lines];
  size_t count = 0;
  ssize_t length = 0, more = 1;
  while (more > 0 && length < most_of_a_table - 1) {
    more = read(fd, mounts->table + length, (size_t)(most_of_a_table - 1 - length));
    if (more > 0) length += more;
  }
  if (more != 0) fail("table of mounts");
  mounts->table[length] = 0;
  for (char *at = mounts->table; *at; count++) {
    if (count == most_lines) not_generic();
    at = read_line(at, &lines[count]);
  }
  choose_mounts(lines, count, mounts);
}

/* The directory of that name below `at`, made when it is missing. */
static int step_into(int at, const char *name) {
  if (mkdirat(at, name, 0755) < 0 && errno != EEXIST) fail(name);
  int next = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (next < 0) fail(name);
  close(at);
  return next;
}

static void move_below(int root, const char *point) {
  char path[256], *rest, *name;
  int at = fcntl(root, F_DUPFD_CLOEXEC, 0);
  if (at < 0 || snprintf(path, sizeof path, "%s", point) >= (int)sizeof path) fail(point);
  for (name = strtok_r(path, "/", &rest); name; name = strtok_r(NULL, "/", &rest)) at = step_into(at, name);
  if (syscall(SYS_move_mount, AT_FDCWD, point, at, "", MOVE_MOUNT_T_EMPTY_PATH) < 0) fail(point);
  close(at);
}

/* In the machine's namespaces as its root, for good. */
static void go_in(int users, int namespace) {
  umask(022);
  if (users >= 0) become_root_of(users);
  if (setns(namespace, CLONE_NEWNS) < 0) fail("mount namespace of the machine");
}

static void replace_root(int tree, const struct mounts *mounts) {
  move(tree, next_root);
  int root = open(next_root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (root < 0) fail(next_root);
  for (size_t at = 0; at < mounts->count; at++) move_below(root, mounts->points[at]);
  /* The old root comes to lie upon the new one, and goes, with all that is still mounted below it. */
  if (fchdir(root) < 0 || syscall(SYS_pivot_root, ".", ".") < 0) fail("pivot_root");
  if (syscall(SYS_umount2, ".", DETACH) < 0) fail("old root");
}

/* A node for the device has to be somewhere for a moment, and /run may be a file system without devices. */
static void work_in_memory(void) {
  int context = (int)syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC);
  if (context < 0) fail("tmpfs");
  set(context, "size", "64k");
  int tree = mounted(context, "tmpfs", 0);
  if (fchdir(tree) < 0) fail("tmpfs");
  close(tree);
}

struct place {
  const char *machine, *loop, *processes;
  long pid;
};

/* Upper and work directory, mounted nowhere yet. The host's files come with the machine's names (enter-machine.c). */
static int open_machine(const struct place *place, const char *image) {
  if (!place->loop) return clone_tree(place->machine);
  work_in_memory();
  int tree = mount_again(atoi(place->loop));
  /* While its process runs the device is the machine's; afterwards it may be another one's. */
  if (only_process(place->processes) != place->pid) errno = ESRCH, fail("its process ended");
  furnish(tree, image, NULL);
  put_spares(tree, 0);
  return tree;
}

static void put_at(int tree, const char *point) {
  if (mkdir(point, 0755) < 0) fail(point);
  move(tree, point);
  close(tree);
}

static int put_together(const struct root *root, int image, int machine) {
  if (mount("tmpfs", root->stage, "tmpfs", 0, "mode=755,size=64k,nr_inodes=16") < 0) fail(root->stage);
  if (chdir(root->stage) < 0 || mkdir("image", 0755) < 0) fail(root->stage);
  put_at(image, root->image_place);
  put_at(machine, "machine");
  return overlay_root(root, "upper");
}

int main(int count, char **argument) {
  static struct mounts mounts;
  if (count != 6) return 1;
  struct root root = root_of(stage_place, argument[2]);
  const char *network = chosen(argument[1]);
  struct place at = {argument[3], chosen(argument[4]), argument[5], only_process(argument[5])};
  int users = network ? user_namespace(network) : -1;
  int namespace = open_of_process(at.pid, "ns/mnt", at.processes), table = open_of_process(at.pid, "mountinfo", at.processes);
  if (namespace < 0 || table < 0) fail("the one process of a machine that nobody has used");
  read_mounts(table, &mounts);
  int image = clone_tree(root.image), disk = open_machine(&at, root.image);
  map_ids(image, root.image, users);
  map_ids(disk, at.machine, users);
  go_in(users, namespace);
  replace_root(put_together(&root, image, disk), &mounts);
  return 0;
}

/*
 * The root of a machine: an overlay of its image and of its upper directory. Both are shown on <stage>, the working directory, whose mounts
 * end with the mount namespace that it is in, so that no crash of the host leaves one behind.
 *
 * The overlays name their directories relative to the stage, for the machine reads these names in its table of mounts. The place of an image
 * has the name of the directory it is in: by that the host sees what is in use.
 *
 * With a user namespace, image and machine are shown with their ids mapped and their overlay is mounted from inside of it:
 * mounted from outside, the upper directory's root would be nobody, and the overlay read-only. The mount comes out by
 * descriptor, since the machine's own mount namespace is made by the runtime, which has to be root of the host.
 */
#include <linux/nsfs.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

struct root {
  const char *stage, *image;
  char image_place[96];
};

/* Of names that mean nothing to overlay mounts. */
static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

static const char *chosen(const char *argument) { return strcmp(argument, "-") == 0 ? NULL : argument; }

/* The user namespace that the network namespace belongs to. */
static int user_namespace(const char *network) {
  int owned = open(network, O_RDONLY | O_CLOEXEC);
  int users = owned < 0 ? -1 : ioctl(owned, NS_GET_USERNS);
  if (users < 0) fail(network);
  close(owned);
  return users;
}

/* A mount namespace of our own, in which the working directory is an empty stage with these places. */
static inline void make_stage(const char *stage, const char *const places[]) {
  if (unshare(CLONE_NEWNS) < 0) fail("mount namespace");
  if (mount(NULL, "/", NULL, RECURSIVE | SLAVE, NULL) < 0) fail("mount namespace");
  if (mount("tmpfs", stage, "tmpfs", 0, "mode=755,size=4m,nr_inodes=64") < 0) fail(stage);
  if (chdir(stage) < 0) fail(stage);
  for (; *places; places++)
    if (mkdir(*places, 0755) < 0) fail(*places);
}

/* Which id of the box the namespace's root is: the owner of what is 0 on disk and shown with mapped ids. */
static inline unsigned owner_of(const char *shown) {
  struct stat facts;
  if (stat(shown, &facts) < 0) fail(shown);
  return facts.st_uid;
}

/* Whoever calls it is root of that user namespace from then on, and of nothing else. */
static void become_root_of(int users) {
  if (setns(users, CLONE_NEWUSER) < 0) fail("user namespace");
  if (syscall(SYS_setresgid, 0, 0, 0) < 0 || syscall(SYS_setresuid, 0, 0, 0) < 0) fail("user namespace");
}

static inline void enter(int users, const char *stage) {
  become_root_of(users);
  /* The copy belongs to the user namespace, whose root may mount in it. */
  if (unshare(CLONE_NEWNS) < 0 || chdir(stage) < 0) fail("mount namespace");
}

/* `<kind>/<name>`, or `<kind>/<kind>` for a name that overlay mounts would misread. The name is `length` long. */
static void name_place(char *place, size_t room, const char *kind, const char *name, size_t length) {
  int plain = length > 0 && length < 64 && name[0] != '.' && strspn(name, letters) >= length;
  if (plain) snprintf(place, room, "%s/%.*s", kind, (int)length, name);
  else snprintf(place, room, "%s/%s", kind, kind);
}

static const char *base_of(const char *path, const char *end) {
  while (end > path && end[-1] != '/') end--;
  return end;
}

/* The image is `<name>/rootfs`. */
static struct root root_of(const char *stage, const char *image) {
  struct root root = {.stage = stage, .image = image};
  if (!image) return root;
  const char *end = base_of(image, image + strlen(image));
  if (end > image) end--;
  const char *name = base_of(image, end);
  name_place(root.image_place, sizeof root.image_place, "image", name, (size_t)(end - name));
  return root;
}

/* A second layer, for the kernel makes no overlay of a single one. */
static int readable_overlay(const char *place) {
  char layers[160];
  snprintf(layers, sizeof layers, "%s:none", place);
  return overlay_of((const char *const[][2]){{"lowerdir", layers}, {"userxattr", NULL}, {NULL, NULL}});
}

/* Without an upper directory nobody writes to it. */
static int overlay_root(const struct root *root, const char *upper) {
  char directory[32];
  if (!upper) return readable_overlay(root->image_place);
  snprintf(directory, sizeof directory, "machine/%s", upper);
  return overlay_of((const char *const[][2]){{"lowerdir", root->image_place},
                                              {"upperdir", directory},
                                              {"workdir", "machine/work"},
                                              {"userxattr", NULL},
                                              {NULL, NULL}});
}

/* In a child, which enters the user namespace for good. It shares the descriptors, but not the memory. */
static inline int overlay_from_inside(const struct root *root, const char *upper, int users) {
  int channel[2], status, tree;
  if (pipe2(channel, O_CLOEXEC) < 0) fail("pipe");
  pid_t child = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, NULL, NULL, NULL, NULL);
  if (child < 0) fail("fork");
  if (child == 0) {
    enter(users, root->stage);
    tree = overlay_root(root, upper);
    _exit(write(channel[1], &tree, sizeof tree) == sizeof tree ? 0 : 1);
  }
  if (waitpid(child, &status, 0) < 0 || status != 0) exit(1);
  if (read(channel[0], &tree, sizeof tree) != sizeof tree) fail("pipe");
  return tree;
}

/* The overlay, mounted nowhere yet. */
static inline int mount_root(const struct root *root, const char *upper, int users) {
  return users < 0 ? overlay_root(root, upper) : overlay_from_inside(root, upper, users);
}

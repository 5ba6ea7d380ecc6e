/*
 * Starts a machine in a mount namespace of its own: puts together what it sees of the host below <stage>, then becomes
 * <command>, the runtime.
 *
 *     start-machine <starter> <output> <stage> <users|-> <files|-> <image|-> <upper|-> <machine> <disk|-> <blocks|->
 *         <blank|-> <bundle> <releases|-> <private|-> <hidden|-> <store|-> <command> ...
 *
 * It is told (told.h) what <command> finds as <stage>/config.json (`config`), what is the standard input of what runs in the machine (`input`), and
 * the host's files for the /etc of a machine with a disk of its own (`etc/<name>`). <disk> is the file its upper directory is in (machine-disk.h), of which it
 * may fill <blocks>, and which is made of <blank>; without, that is the directory <machine>/upper. <upper> is `-` for a machine whose root is
 * the image alone, which nobody can write to: a generic machine, that is to become one of an image (claim/recast-machine.c).
 *
 * With <private>, which is a 3, the directory `private` beside the upper one is the open descriptor 3 of <command> (private-place.h).
 *
 *     <stage>/root        overlay of the image and of the machine's upper directory (image `-`: the machine's own copy)
 *     <stage>/hutch       the runtime bundle, read-only
 *     <stage>/releases    other bundles, read-only
 *     <stage>/store       the directory <store> beside the upper one, on no overlay: for a machine that has overlays of its own
 *     <stage>/users       the user namespace, by the network namespace <users> that belongs to it
 *     <stage>/dev         device nodes of this machine alone
 *     <stage>/volumes     the volumes it is told of (machine-volumes.h)
 *     <stage>/tmp         the machine's own /tmp, for a runtime that would put memory in its place
 *
 * <hidden> is a mount point that <command> is not to see.
 *
 * How the root is put together stands in machine-root.h. The bundle is an overlay too, since a bind mount would show where on the host it
 * is, and share locks and watches with everybody who has it. Its directory keeps its name there: by that the host sees what is in use.
 *
 * Whatever fails is said in <output>; exits with 1 then. Needs Linux 5.12, with a user namespace 5.19.
 */
#define _GNU_SOURCE
#include "mounts.h"
#include "told.h"
#include "machine-disk.h"
#include "machine-volumes.h"
#include "machine-root.h"
#include "private-place.h"
#include "spare-files.h"
#include <sys/resource.h>
#include <time.h>

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

static const struct {
  const char *name;
  unsigned major, minor;
} nodes[] = {{"null", 1, 3}, {"zero", 1, 5}, {"full", 1, 7}, {"random", 1, 8}, {"urandom", 1, 9}, {"tty", 5, 0}, {"tun", 10, 200}};

/* Everything from now on is said in the machine's output; the process id is for whoever must end a start. */
static void announce(const char *starter, const char *output) {
  umask(077);
  int said = open(output, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (said < 0 || dup2(said, 1) < 0 || dup2(said, 2) < 0) exit(1);
  FILE *file = fopen(starter, "we");
  if (!file || fprintf(file, "%d\n", (int)getpid()) < 0 || fclose(file) != 0) fail(starter);
  umask(022);
}

/* For a host that may not set the limits of others: the runtime hands on its own. No crash starts a core handler. */
static void limit(const char *files) {
  rlim_t most = strtoul(files, NULL, 10);
  struct rlimit open_files = {most, most}, core = {0, 0};
  if (setrlimit(RLIMIT_NOFILE, &open_files) < 0 || setrlimit(RLIMIT_CORE, &core) < 0) fail("limits");
}

/*
 * Its clock of what the box has been up for begins now (time_namespaces(7)): /proc/uptime, the times at which its processes began, and what
 * is reckoned from both, are its own. A kernel without (Linux 5.6, CONFIG_TIME_NS) shows those of the box.
 */
static void begin_uptime(void) {
  struct timespec up;
  if (clock_gettime(CLOCK_BOOTTIME, &up) < 0 || unshare(CLONE_NEWTIME) < 0) return;
  FILE *offsets = fopen("/proc/self/timens_offsets", "we");
  if (!offsets || fprintf(offsets, "boottime -%lld 0\n", (long long)up.tv_sec) < 0 || fclose(offsets) != 0) fail("uptime");
  // Before Linux 6.2 execve does not enter it, and who has not entered it may make neither threads nor processes by vfork.
  int own = open("/proc/self/ns/time_for_children", O_RDONLY | O_CLOEXEC);
  if (own < 0 || setns(own, CLONE_NEWTIME) < 0 || close(own) < 0) fail("uptime");
}

/*
 * Nodes of the box itself, bound into a machine, would be shared with everybody: their locks, and who opens them when.
 * The runtime binds what is at /dev, as nobody makes nodes in a user namespace, and some always bind the one that masks files; so
 * these are put there.
 */
static void make_nodes(unsigned owner) {
  if (mkdir("dev", 0755) < 0) fail("dev");
  if (mount("tmpfs", "dev", "tmpfs", 0, "mode=755,size=64k,nr_inodes=16") < 0) fail("dev");
  for (size_t at = 0; at < sizeof nodes / sizeof *nodes; at++) {
    char path[32];
    snprintf(path, sizeof path, "dev/%s", nodes[at].name);
    if (mknod(path, S_IFCHR | 0666, makedev(nodes[at].major, nodes[at].minor)) < 0) fail(path);
    if (chmod(path, 0666) < 0 || lchown(path, owner, owner) < 0) fail(path);
  }
  if (mount("dev", "/dev", NULL, BIND, NULL) < 0) fail("/dev");
}

/* Where the runtime finds the namespace to put the machine into. */
static void name_users(int users) {
  char path[40];
  int made = open("users", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (made < 0) fail("users");
  close(made);
  snprintf(path, sizeof path, "/proc/self/fd/%d", users);
  if (mount(path, "users", NULL, BIND, NULL) < 0) fail("users");
}

struct plan {
  const char *starter, *output, *network, *files, *upper, *machine, *bundle, *releases, *private_place, *hidden, *store;
  struct told told;
  struct root root;
  struct disk disk;
  char bundle_place[96];
};

static void name_bundle(struct plan *plan) {
  const char *end = plan->bundle + strlen(plan->bundle), *name = base_of(plan->bundle, end);
  name_place(plan->bundle_place, sizeof plan->bundle_place, "bundle", name, (size_t)(end - name));
}

struct bundles {
  int hutch, releases;
};

/*
 * The bundles keep their owners, who are nobody in a user namespace, and are mounted from outside of it: a program that
 * its first process may run and not read is none that a tenant may trace, or write to the files of in /proc.
 */
static struct bundles mount_bundles(const struct plan *plan) {
  return (struct bundles){.hutch = readable_overlay(plan->bundle_place),
                          .releases = plan->releases ? readable_overlay("bundles") : -1};
}

/* In `machine`, which shows no link in its place: nobody but the host writes beside the upper directory. */
static void make_store(int machine, const char *name) {
  if (mkdirat(machine, name, 0700) < 0 && errno != EEXIST) fail(name);
}

static int clone_store(const char *name) {
  char path[64];
  snprintf(path, sizeof path, "machine/%s", name);
  return clone_tree(path);
}

struct layers {
  /* Where the machine has a disk of its own. */
  struct mounted_disk disk;
  int has_private_place;
};

static struct layers show_layers(const struct plan *plan, int users) {
  struct layers layers = {.disk.tree = -1};
  if (plan->root.image) show(plan->root.image, plan->root.image_place, users);
  if (plan->disk.file) layers.disk = open_disk(&plan->disk);
  int machine = plan->disk.file ? layers.disk.tree : clone_tree(plan->machine);
  if (plan->disk.file && plan->upper) {
    furnish(machine, plan->root.image, &plan->told);
    make_way(machine);
  }
  if (plan->store) make_store(machine, plan->store);
  layers.has_private_place = plan->private_place && make_private_place(machine, plan->root.image ? plan->upper : "root");
  place_tree(machine, plan->disk.file ? plan->disk.file : plan->machine, "machine", users);
  show(plan->bundle, plan->bundle_place, -1);
  if (plan->releases) show(plan->releases, "bundles", -1);
  return layers;
}

/* The overlays have layers of their own; nobody after us has business with these. */
static void hide_layers(const struct plan *plan) {
  const char *const places[] = {plan->root.image ? plan->root.image_place : NULL, "machine", plan->bundle_place,
                                plan->releases ? "bundles" : NULL};
  for (size_t at = 0; at < sizeof places / sizeof *places; at++)
    if (places[at] && syscall(SYS_umount2, places[at], DETACH) < 0) fail(places[at]);
}

/* What the runtime reads. */
static void write_config(struct told told) {
  struct part config;
  if (!find_part(told, "config", &config)) return;
  int file = open("config.json", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  write_part(file, &config);
  close(file);
}

/* The root is mounted: the disk has its end from now on, and what was needed for that is kept for the next time. */
static void close_disk(const struct plan *plan, const struct mounted_disk *disk) {
  int shown = open("machine", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (shown < 0) fail("machine");
  if (plan->upper) put_spares(shown, owner_of("machine"));
  close(shown);
  bound(disk, plan->disk.blocks);
}

/* No link is followed: a tenant may have made one of it, which would lead out of the machine here. */
static void show_tmp(void) {
  char path[40];
  int own = open("root/tmp", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  snprintf(path, sizeof path, "/proc/self/fd/%d", own);
  if (own >= 0 ? mount(path, "tmp", NULL, BIND, NULL) < 0 : mount("tmpfs", "tmp", "tmpfs", 0, "mode=1777,size=1m") < 0)
    fail("tmp");
  if (own >= 0) close(own);
}

/* Gives the private place, or -1. */
static int put_together(const struct plan *plan, int users) {
  struct layers layers = show_layers(plan, users);
  int own = layers.has_private_place ? clone_tree("machine/" private_name) : -1;
  int store = plan->store ? clone_store(plan->store) : -1;
  int root = plan->root.image ? mount_root(&plan->root, plan->upper, users) : -1;
  if (plan->disk.file) close_disk(plan, &layers.disk);
  struct bundles bundles = mount_bundles(plan);
  if (plan->root.image) move(root, "root");
  else if (mount("machine/root", "root", NULL, BIND, NULL) < 0) fail("root");
  show_volumes(plan->told, users);
  show_tmp();
  move(bundles.hutch, "hutch");
  if (plan->releases) move(bundles.releases, "releases");
  if (store >= 0) move(store, "store");
  if (users >= 0) name_users(users);
  make_nodes(owner_of("machine"));
  hide_layers(plan);
  return own;
}

static struct plan plan_of(char **argument, char device[PATH_MAX]) {
  struct plan plan = {.starter = argument[1],
                      .output = argument[2],
                      .network = chosen(argument[4]),
                      .files = chosen(argument[5]),
                      .root = root_of(argument[3], chosen(argument[6])),
                      .upper = chosen(argument[7]),
                      .machine = argument[8],
                      .disk = {chosen(argument[9]), chosen(argument[10]), chosen(argument[11]), device},
                      .bundle = argument[12],
                      .releases = chosen(argument[13]),
                      .private_place = chosen(argument[14]),
                      .hidden = chosen(argument[15]),
                      .store = chosen(argument[16])};
  snprintf(device, PATH_MAX, "%s/device", plan.machine);
  name_bundle(&plan);
  return plan;
}

int main(int count, char **argument) {
  if (count < 18) return 1;
  char device[PATH_MAX];
  struct plan plan = plan_of(argument, device);
  announce(plan.starter, plan.output);
  plan.told = read_told();
  if (dup2(open_part(plan.told, "input"), 0) < 0) fail("standard input");
  if (plan.disk.file && !plan.root.image) return 1;
  int users = plan.network ? user_namespace(plan.network) : -1;
  if (plan.files) limit(plan.files);
  begin_uptime();
  make_stage(plan.root.stage, (const char *const[]){"root", "tmp", "hutch", "releases", "store", "image", "bundle",
                                                    "none", "volumes", NULL});
  write_config(plan.told);
  int own = put_together(&plan, users);
  if (chdir("/") < 0) fail("/");
  if (plan.hidden && syscall(SYS_umount2, plan.hidden, DETACH) < 0) fail(plan.hidden);
  // The runtime is told of one descriptor, so there is one.
  if (plan.private_place) hand_over(own < 0 ? open_part((struct told){NULL, NULL}, "private place") : own);
  execv(argument[17], argument + 17);
  fail(argument[17]);
}

/*
 * Looks through a layer of a root file system that nobody changes meanwhile:
 *
 *     walk-layer ids <directory> <count>     says the first file whose user or group is <count> or more
 *     walk-layer convert <upper>             makes an upper directory of `trusted.overlay.*` one of `user.overlay.*`
 *     walk-layer settle <copy> <place>       exchanges what is at <place> for a copy that hides what lower layers have there
 *     walk-layer list <upper> <most>         says what is in an upper directory, so many files at most and one more
 *
 * A user namespace's overlays keep their marks in the second kind of attributes, as its root may not use the first.
 * `convert` copies the marks of directories that replace others, and takes away whatever a tenant has called by those names
 * when they meant nothing. It may be repeated until an overlay has been mounted with the new marks, and never after. An
 * overlay of the new kind follows no marks that lead elsewhere; `convert` says what has them, from the top: directories
 * that were renamed, and files whose content is still in the image.
 *
 * Prints `<what>\0<path>\0` for each finding, what being `user <number>`, `group <number>`, `elsewhere`, or of `list`
 * `<kind> <opaque> <size> <mode> <user> <group> <seconds>.<nanoseconds>`, where the kind is f, d, l, o for anything else and w for
 * what hides a file of the image. Exits with 0, or
 * says `<step>: <reason>` on stderr and exits with 1. Tenants choose names, depth and number of files: directories are
 * opened name by name and one at a time.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define DIRECTORY (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* A directory on the way, and those in it that are still to be looked at. */
struct level {
  char *name, **children;
  size_t count, room;
};

struct walk {
  struct level *levels;
  size_t depth, room;
  /* Of the directory that is looked at now. */
  int at;
};

static void fail(const char *step) {
  fprintf(stderr, "%s: %s\n", step, strerror(errno));
  exit(1);
}

static void *grown(void *list, size_t *room, size_t size) {
  *room = *room ? *room * 2 : 16;
  list = reallocarray(list, *room, size);
  if (!list) fail("memory");
  return list;
}

static void say(const struct walk *walk, const char *what, const char *name) {
  printf("%s%c", what, 0);
  for (size_t level = 1; level < walk->depth; level++) printf("/%s", walk->levels[level].name);
  printf("/%s%c", name, 0);
}

/* `look` sees every file but the top directory; it answers whether to go into a directory. */
typedef int look(const struct walk *walk, const char *name, const struct stat *facts, void *more);

static void keep_child(struct level *level, const char *name) {
  if (level->count == level->room) level->children = grown(level->children, &level->room, sizeof *level->children);
  char *copy = strdup(name);
  if (!copy) fail("memory");
  level->children[level->count++] = copy;
}

static void look_through(struct walk *walk, look *look, void *more) {
  struct level *level = &walk->levels[walk->depth - 1];
  int copy = fcntl(walk->at, F_DUPFD_CLOEXEC, 0);
  DIR *list = copy < 0 ? NULL : fdopendir(copy);
  if (!list) fail("open");
  errno = 0;
  for (struct dirent *entry; (entry = readdir(list)); errno = 0) {
    struct stat facts;
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    if (fstatat(walk->at, entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) < 0) fail("stat");
    if (look(walk, entry->d_name, &facts, more) && S_ISDIR(facts.st_mode)) keep_child(level, entry->d_name);
  }
  if (errno) fail("read");
  closedir(list);
}

static void go(struct walk *walk, const char *name) {
  int next = openat(walk->at, name, DIRECTORY);
  if (next < 0) fail("open");
  close(walk->at);
  walk->at = next;
}

static void descend(struct walk *walk, char *name) {
  if (walk->depth == walk->room) walk->levels = grown(walk->levels, &walk->room, sizeof *walk->levels);
  walk->levels[walk->depth++] = (struct level){.name = name};
}

/* All below `top`, which is open at the working directory. */
static void walk_through(const char *top, look *look, void *more) {
  struct walk walk = {.at = open(top, DIRECTORY)};
  if (walk.at < 0) fail("open");
  descend(&walk, NULL);
  look_through(&walk, look, more);
  for (;;) {
    struct level *level = &walk.levels[walk.depth - 1];
    if (level->count > 0) {
      char *name = level->children[--level->count];
      go(&walk, name);
      descend(&walk, name);
      look_through(&walk, look, more);
    } else {
      free(level->children);
      free(level->name);
      if (--walk.depth == 0) break;
      go(&walk, "..");
    }
  }
  close(walk.at);
}

static int look_for_ids(const struct walk *walk, const char *name, const struct stat *facts, void *more) {
  unsigned count = *(const unsigned *)more;
  char what[32];
  if (facts->st_uid < count && facts->st_gid < count) return 1;
  int user = facts->st_uid >= count;
  snprintf(what, sizeof what, "%s %u", user ? "user" : "group", user ? facts->st_uid : facts->st_gid);
  say(walk, what, name);
  exit(0);
}

/* Whether the file has the attribute; a value that does not fit is one. */
static int has(const char *path, const char *attribute) {
  char value[8];
  return lgetxattr(path, attribute, value, sizeof value) >= 0 || errno == ERANGE;
}

static int is_opaque(const char *path) {
  char value[8];
  return lgetxattr(path, "trusted.overlay.opaque", value, sizeof value) == 1 && value[0] == 'y';
}

/* What a tenant has set when these names were free for all. */
static void clear(const char *path) {
  static char names[XATTR_LIST_MAX];
  ssize_t length = llistxattr(path, names, sizeof names);
  if (length < 0) fail("attributes");
  for (char *name = names; name < names + length; name += strlen(name) + 1)
    if (strncmp(name, "user.overlay.", 13) == 0 && lremovexattr(path, name) < 0) fail("attributes");
}

static void mark_opaque(const char *path) {
  if (lsetxattr(path, "user.overlay.opaque", "y", 1, 0) < 0) fail("attributes");
}

/* Marked in the old way, which `convert` goes by. */
static void settle(const char *copy, const char *place) {
  struct stat facts;
  if (lstat(copy, &facts) < 0) fail("copy");
  if (S_ISDIR(facts.st_mode) && lsetxattr(copy, "trusted.overlay.opaque", "y", 1, 0) < 0) fail("attributes");
  if (renameat2(AT_FDCWD, copy, AT_FDCWD, place, RENAME_EXCHANGE) < 0) fail("exchange");
}

static int convert(const struct walk *walk, const char *name, const struct stat *facts, void *more) {
  char path[32 + NAME_MAX];
  (void)more;
  if (!S_ISDIR(facts->st_mode) && !S_ISREG(facts->st_mode)) return 0;
  snprintf(path, sizeof path, "/proc/self/fd/%d/%s", walk->at, name);
  if (has(path, S_ISDIR(facts->st_mode) ? "trusted.overlay.redirect" : "trusted.overlay.metacopy")) {
    say(walk, "elsewhere", name);
    return 0;
  }
  clear(path);
  if (S_ISDIR(facts->st_mode) && is_opaque(path)) mark_opaque(path);
  return 1;
}

/* What an overlay of today hides: a device of number 0, or an empty file with that mark. */
static int is_whiteout(const char *path, const struct stat *facts) {
  if (S_ISCHR(facts->st_mode)) return facts->st_rdev == 0;
  return S_ISREG(facts->st_mode) && facts->st_size == 0 && has(path, "user.overlay.whiteout");
}

static int list(const struct walk *walk, const char *name, const struct stat *facts, void *more) {
  char path[32 + NAME_MAX], value[8], what[160];
  unsigned *left = more;
  snprintf(path, sizeof path, "/proc/self/fd/%d/%s", walk->at, name);
  int opaque = S_ISDIR(facts->st_mode) && lgetxattr(path, "user.overlay.opaque", value, sizeof value) == 1 && value[0] == 'y';
  char kind = is_whiteout(path, facts)  ? 'w'
              : S_ISREG(facts->st_mode) ? 'f'
              : S_ISDIR(facts->st_mode) ? 'd'
              : S_ISLNK(facts->st_mode) ? 'l'
                                        : 'o';
  snprintf(what, sizeof what, "%c %d %lld %o %u %u %lld.%09ld", kind, opaque, (long long)facts->st_size, facts->st_mode & 07777, facts->st_uid,
           facts->st_gid, (long long)facts->st_mtim.tv_sec, facts->st_mtim.tv_nsec);
  say(walk, what, name);
  if ((*left)-- == 0) {
    fflush(stdout);
    exit(0);
  }
  return 1;
}

int main(int count, char **argument) {
  unsigned most = count == 4 ? (unsigned)strtoul(argument[3], NULL, 10) : 0;
  errno = EINVAL;
  if (count == 4 && strcmp(argument[1], "ids") == 0) walk_through(argument[2], look_for_ids, &most);
  else if (count == 3 && strcmp(argument[1], "convert") == 0) walk_through(argument[2], convert, NULL);
  else if (count == 4 && strcmp(argument[1], "list") == 0) walk_through(argument[2], list, &most);
  else if (count == 4 && strcmp(argument[1], "settle") == 0) settle(argument[2], argument[3]);
  else fail("arguments");
  return fflush(stdout) == 0 ? 0 : 1;
}

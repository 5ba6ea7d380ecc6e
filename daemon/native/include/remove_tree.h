/*
 * Removes a tree, whatever is in it. A tenant may change it meanwhile, so it works on descriptors: a link that replaces a
 * directory is not followed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int is_dots(const char *name) { return name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2])); }

static int open_directory(int parent, const char *name) {
  return openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* At most so many directories are held open: a tenant may nest hundreds of thousands. */
#define HELD_LEVELS 64
/* Entries may be added meanwhile, and some file systems skip entries while others are removed. */
#define ATTEMPTS 8

/* A directory on the way down, to return to by `..`. */
struct level {
  struct level *above;
  dev_t device;
  ino_t inode;
  int attempts;
  char name[]; /* name of the directory that was entered from it */
};

static struct level *push(struct level *above, int fd, const char *name) {
  struct stat stat;
  struct level *level = malloc(sizeof *level + strlen(name) + 1);
  if (!level || fstat(fd, &stat) < 0) {
    free(level);
    return NULL;
  }
  *level = (struct level){above, stat.st_dev, stat.st_ino, 0};
  strcpy(level->name, name);
  return level;
}

static struct level *pop(struct level *level) {
  struct level *above = level->above;
  free(level);
  return above;
}

/* Opens the parent if it is still the directory that we came from. */
static int open_parent(int fd, const struct level *level) {
  struct stat stat;
  int up = openat(fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (up < 0) return -1;
  if (fstat(up, &stat) == 0 && stat.st_dev == level->device && stat.st_ino == level->inode) return up;
  close(up);
  errno = ENOTEMPTY;
  return -1;
}

/* Removes what can be removed at once. Returns 1 when `child` is a directory that is not empty, 0 when nothing is left. */
static int clear(int fd, char child[NAME_MAX + 1]) {
  int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), found = 0;
  DIR *directory = own < 0 ? NULL : fdopendir(own);
  if (!directory) {
    if (own >= 0) close(own);
    return -1;
  }
  struct dirent *entry;
  while (!found && (errno = 0, entry = readdir(directory))) {
    if (is_dots(entry->d_name) || unlinkat(fd, entry->d_name, 0) == 0 || errno == ENOENT) continue;
    if (errno != EISDIR && errno != EPERM) found = -1;
    else if (unlinkat(fd, entry->d_name, AT_REMOVEDIR) < 0 && errno != ENOENT) found = errno == ENOTEMPTY ? 1 : -1;
    if (found == 1) strcpy(child, entry->d_name);
  }
  if (!found && errno) found = -1;
  int error = errno;
  closedir(directory);
  errno = error;
  return found;
}

/* Removes a tree of any depth with three descriptors and without recursion. */
static int remove_deep(int parent, const char *name) {
  struct level *at = NULL;
  char child[NAME_MAX + 1];
  int done = -1, attempts = 0, fd = open_directory(parent, name);
  while (fd >= 0) {
    int found = clear(fd, child), next;
    if (found < 0) break;
    if (found == 1) {
      struct level *below = push(at, fd, child);
      if (!below) break;
      at = below;
      next = open_directory(fd, child);
    } else if (!at) {
      done = unlinkat(parent, name, AT_REMOVEDIR);
      if (done == 0 || errno != ENOTEMPTY || ++attempts == ATTEMPTS) break;
      continue;
    } else {
      next = open_parent(fd, at);
      if (next >= 0 && unlinkat(next, at->name, AT_REMOVEDIR) < 0 && errno != ENOENT) {
        int again = errno == ENOTEMPTY && ++at->attempts < ATTEMPTS, error = errno;
        close(next);
        errno = error;
        if (again) continue;
        break;
      }
      if (next >= 0) at = pop(at);
    }
    if (next < 0) break;
    close(fd);
    fd = next;
  }
  int error = errno;
  if (fd >= 0) close(fd);
  while (at) at = pop(at);
  errno = error;
  return done;
}

static int remove_in(int parent, const char *name, int depth);

static int empty(DIR *directory, int depth) {
  struct dirent *entry;
  while ((errno = 0, entry = readdir(directory)))
    if (!is_dots(entry->d_name) && remove_in(dirfd(directory), entry->d_name, depth) < 0 && errno != ENOENT) return -1;
  return errno ? -1 : 0;
}

/* Removes `name` in the directory `parent`; `depth` is 0 at first. -1 and errno when something is left. */
static int remove_in(int parent, const char *name, int depth) {
  if (unlinkat(parent, name, 0) == 0) return 0;
  if (errno != EISDIR && errno != EPERM) return -1;
  if (depth == HELD_LEVELS) return remove_deep(parent, name);
  int error = errno;
  int fd = open_directory(parent, name);
  if (fd < 0) {
    if (errno == ENOTDIR) errno = error;
    return -1;
  }
  DIR *directory = fdopendir(fd);
  if (!directory) {
    close(fd);
    return -1;
  }
  int done = -1;
  for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
    rewinddir(directory);
    if (empty(directory, depth + 1) < 0) break;
    if ((done = unlinkat(parent, name, AT_REMOVEDIR)) == 0 || errno != ENOTEMPTY) break;
  }
  error = errno;
  closedir(directory);
  errno = error;
  return done;
}

/* What a write of a whole file needs: where it goes, an unnamed file that becomes like the one that is there, and its name. */
#ifndef HUTCH_WHOLE_FILE_H
#define HUTCH_WHOLE_FILE_H

#include "arguments.h"
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

/* Gives the unnamed file of the descriptor its first name. */
static int name_file(int fd, const char *path) {
  char own[32];
  if (linkat(fd, "", AT_FDCWD, path, AT_EMPTY_PATH) == 0) return 0;
  if (errno != ENOENT) return -1;
  /* Without CAP_DAC_READ_SEARCH a descriptor must be named by its path in /proc. */
  snprintf(own, sizeof own, "/proc/self/fd/%d", fd);
  return linkat(AT_FDCWD, own, AT_FDCWD, path, AT_SYMLINK_FOLLOW);
}

/* An attribute that belongs to the content's owner: the kernel's own marks of the old content (capabilities, for one) do not. */
static int is_kept_attribute(const char *name) {
  return strncmp(name, "user.", 5) == 0 || strcmp(name, "system.posix_acl_access") == 0;
}

static int copy_attribute(const char *path, int fd, const char *name) {
  ssize_t size = lgetxattr(path, name, NULL, 0);
  char *value = size < 0 ? NULL : malloc((size_t)size + 1);
  int done = -1;
  if (value) {
    size = lgetxattr(path, name, value, (size_t)size);
    if (size >= 0) done = fsetxattr(fd, name, value, (size_t)size, 0);
    int error = errno;
    free(value);
    errno = error;
  }
  return done;
}

static int copy_attributes(const char *path, int fd) {
  char names[XATTR_LIST_MAX];
  ssize_t length = llistxattr(path, names, sizeof names);
  if (length < 0) return errno == EOPNOTSUPP || errno == ENOSYS ? 0 : -1;
  for (char *name = names; name < names + length; name += strlen(name) + 1)
    if (is_kept_attribute(name) && copy_attribute(path, fd, name) < 0) return -1;
  return 0;
}

/*
 * Gives the file of the descriptor the owner, the attributes and, if `mode` says so, the mode of the regular file
 * `path`. The result is how many names that one has; with more than one, and for what is no regular file (0), nothing is changed.
 */
static int64_t resemble(int fd, const char *path, int mode) {
  struct stat there, ours;
  if (fstatat(AT_FDCWD, path, &there, AT_SYMLINK_NOFOLLOW) < 0 || fstat(fd, &ours) < 0) return -1;
  if (!S_ISREG(there.st_mode)) return 0;
  if (there.st_nlink > 1) return (int64_t)there.st_nlink;
  if ((there.st_uid != ours.st_uid || there.st_gid != ours.st_gid) && fchown(fd, there.st_uid, there.st_gid) < 0) return -1;
  /* After the owner, since changing that clears the set-user-id bit. */
  if (mode && fchmod(fd, there.st_mode & 07777) < 0) return -1;
  return copy_attributes(path, fd) < 0 ? -1 : 1;
}

/* Whether a failed write is reported by the write itself, and not when the file is closed. */
static int reports_at_once(int fd) {
  struct statfs system;
  if (fstatfs(fd, &system) < 0) return 0;
  switch ((unsigned long)system.f_type) {
    case EXT4_SUPER_MAGIC:
    case XFS_SUPER_MAGIC:
    case BTRFS_SUPER_MAGIC:
    case OVERLAYFS_SUPER_MAGIC:
    case TMPFS_MAGIC: return 1;
    default: return 0;
  }
}

/* The regular file that `path` leads to, or the name of one that is still to be made. -1 with errno for anything else. */
static int find_target(const char *path, int writable, char *real, struct stat *stat) {
  if (realpath(path, real)) {
    if (fstatat(AT_FDCWD, real, stat, AT_SYMLINK_NOFOLLOW) < 0) return -1;
    errno = EINVAL;
    return S_ISREG(stat->st_mode) && (!writable || faccessat(AT_FDCWD, real, W_OK, AT_EACCESS) == 0) ? 0 : -1;
  }
  if (errno != ENOENT || strlen(path) >= PATH_MAX) return -1;
  /* It must be missing itself: a link that leads nowhere has to be followed first. */
  if (fstatat(AT_FDCWD, path, stat, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT) return -1;
  *stat = (struct stat){0};
  strcpy(real, path);
  return 0;
}

#endif

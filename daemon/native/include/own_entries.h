/* What of /proc is the daemon's own, and is refused to requests whatever their user. */
#ifndef HUTCH_OWN_ENTRIES_H
#define HUTCH_OWN_ENTRIES_H

#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/*
 * Our own threads may read /proc/self whatever their ids are, because the kernel only checks that it is the same
 * process. So the daemon's own entries are refused by name, except for reading what everybody may read.
 */
static int is_our_own(int fd) {
  struct statfs system;
  struct stat stat;
  if (fstatfs(fd, &system) < 0 || system.f_type != PROC_SUPER_MAGIC) return 0;
  if (fstat(fd, &stat) == 0 && stat.st_mode & S_IROTH && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY) return 0;
  char link[64], target[PATH_MAX], own[32];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, target, sizeof target - 1);
  if (length < 0) return 1;
  target[length] = 0;
  snprintf(own, sizeof own, "/%d/", (int)getpid());
  return strstr(target, own) != NULL;
}

#endif

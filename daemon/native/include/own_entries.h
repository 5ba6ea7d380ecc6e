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

/* Facts about a process that do not show its memory, its descriptors or what it was given; each has its equal for others to read. */
static const char *const harmless_entries[] = {
  "cgroup", "cmdline", "comm", "cpuset", "gid_map", "limits", "loginuid", "mountinfo", "mounts", "mountstats", "oom_adj", "oom_score",
  "oom_score_adj", "projid_map", "sched", "schedstat", "sessionid", "setgroups", "statm", "status", "uid_map", NULL,
};

static int is_harmless(const char *path) {
  const char *slash = strrchr(path, '/');
  if (strstr(path, "/net/")) return 1;
  for (const char *const *name = harmless_entries; *name; name++)
    if (slash && strcmp(slash + 1, *name) == 0) return 1;
  return 0;
}

/* Whether a part of the path is the number of one of our threads: each has a directory in /proc, which is not listed. */
static int names_a_thread(const char *path) {
  for (const char *at = strchr(path, '/'); at; at = strchr(at + 1, '/')) {
    char own[64];
    size_t digits = strspn(at + 1, "0123456789");
    if (digits == 0 || digits > 10 || (at[1 + digits] != '/' && at[1 + digits])) continue;
    snprintf(own, sizeof own, "/proc/self/task/%.*s", (int)digits, at + 1);
    if (access(own, F_OK) == 0) return 1;
  }
  return 0;
}

/*
 * Our own threads may read /proc/self whatever their ids are, because the kernel only checks that it is the same process:
 * `maps` has a mode that lets everybody open it, and shows nothing to others. So the daemon's own entries are refused by name, but for
 * reading facts that everybody may read, and listing its directories.
 */
static int is_our_own(int fd) {
  struct statfs system;
  struct stat stat;
  /* gVisor does not say of the files of its /proc what they are on. */
  if (fstatfs(fd, &system) == 0 && system.f_type != PROC_SUPER_MAGIC) return 0;
  char link[64], target[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, target, sizeof target - 1);
  if (length < 0) return 1;
  target[length] = 0;
  if (!names_a_thread(target)) return 0;
  int reads = fstat(fd, &stat) == 0 && stat.st_mode & S_IROTH && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY;
  return !reads || !(S_ISDIR(stat.st_mode) || is_harmless(target));
}

#endif

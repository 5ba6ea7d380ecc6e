/* The only process of a machine that nobody has used, by the file of its control group that lists its processes. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* 0 when there is none, or another one besides. */
static long only_process(const char *processes) {
  char text[32], *end;
  int fd = open(processes, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  ssize_t length = read(fd, text, sizeof text - 1);
  close(fd);
  if (length <= 0) return 0;
  text[length] = 0;
  long pid = strtol(text, &end, 10);
  return pid > 0 && end[0] == '\n' && end[1] == 0 ? pid : 0;
}

/* What /proc has of it; -1 and an error of the system, ESRCH when the number is another process's by now, which is not in the group. */
static int open_of_process(long pid, const char *name, const char *processes) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%ld/%s", pid, name);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0 || only_process(processes) == pid) return fd;
  close(fd);
  errno = ESRCH;
  return -1;
}

/* Writing the map of ids of a user namespace that a child process has made. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Ids that a machine has of its own, 0 to 65534 and nobody. */
#define RANGE 65536U

/* `file` is uid_map or gid_map, `lines` its text. Returns -1 with errno. */
static int write_map(pid_t pid, const char *file, const char *lines) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  ssize_t written = write(fd, lines, strlen(lines));
  int error = errno;
  close(fd);
  errno = error;
  return written < 0 ? -1 : 0;
}

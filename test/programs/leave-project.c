/*
 * Tries to take a directory or file out of its project, whose quota bounds the sandbox: by each of the kernel's ways to change the number
 * or the flag that hands it on. Says `left by <way>` for each that went, and `tried <count>`.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/fs.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int tried;

static void tell(const char *way, const char *path, long answer) {
  tried++;
  if (answer == 0) printf("left by %s of %s\n", way, path);
}

static void leave(const char *path) {
  struct fsxattr facts = {0}, changed;
  int flags = 0, fd = open(path, O_RDONLY);
  if (fd < 0 || ioctl(fd, FS_IOC_FSGETXATTR, &facts) < 0 || ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0) {
    printf("cannot look at %s\n", path);
    return;
  }
  changed = facts;
  changed.fsx_projid = 0;
  tell("the number 0", path, ioctl(fd, FS_IOC_FSSETXATTR, &changed));
  changed.fsx_projid = facts.fsx_projid + 1;
  tell("another number", path, ioctl(fd, FS_IOC_FSSETXATTR, &changed));
  changed = facts;
  changed.fsx_xflags ^= FS_XFLAG_PROJINHERIT;
  tell("the flag", path, ioctl(fd, FS_IOC_FSSETXATTR, &changed));
  flags ^= FS_PROJINHERIT_FL;
  tell("the old flag", path, ioctl(fd, FS_IOC_SETFLAGS, &flags));
  /* file_setattr(2), Linux 6.17: flags, extent sizes, number, copy-on-write extent size. */
  struct { uint64_t flags; uint32_t size, extents, project, cow; } attributes = {.flags = FS_XFLAG_PROJINHERIT, .project = 0};
  tell("file_setattr", path, syscall(469, AT_FDCWD, path, &attributes, sizeof attributes, 0));
  close(fd);
}

int main(void) {
  int made = open("/leaves", O_CREAT | O_WRONLY, 0644);
  if (made < 0 || mkdir("/leaves.d", 0755) < 0) return 1;
  close(made);
  leave("/leaves");
  leave("/leaves.d");
  leave("/");
  printf("tried %d\n", tried);
  return 0;
}

/*
 * The disk of a machine: a file with an ext4 file system in it, on a loop device of its own. Loop device and mount belong to the
 * machine's mount namespace alone: the kernel takes both back when the last process in it has ended, whoever was killed, so that
 * nothing is left to clean up.
 */
#include <linux/loop.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>

enum { block_bytes = 4096, lock_tries = 6000, loop_tries = 256 };

static FILE *open_stream(const char *path, const char *mode) {
  FILE *stream = fopen(path, mode);
  if (!stream) fail(path);
  return stream;
}

/*
 * The lock belongs to the open file, which the loop device keeps: a file system is never mounted a second time while the machine
 * that had it before is still letting go. A rename or copy of the file takes none along.
 */
static int lock_file(const char *path) {
  int file = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) fail(path);
  for (int left = lock_tries; flock(file, LOCK_EX | LOCK_NB) < 0; left--) {
    if (errno != EWOULDBLOCK || left == 0) fail(path);
    usleep(5000);
  }
  return file;
}

/* A node on the stage, for /dev may be one that shows no new devices. */
static int open_loop(int number) {
  char path[64];
  unsigned major, minor;
  snprintf(path, sizeof path, "/sys/block/loop%d/dev", number);
  FILE *stream = open_stream(path, "re");
  if (fscanf(stream, "%u:%u", &major, &minor) != 2) fail(path);
  fclose(stream);
  if (mknod("loop", S_IFBLK | 0600, makedev(major, minor)) < 0) fail("loop");
  int device = open("loop", O_RDWR | O_CLOEXEC);
  if (device < 0) {
    int error = errno;
    unlink("loop");
    errno = error;
  }
  return device;
}

/*
 * Past the page cache, or what a machine writes would be in memory twice. Gone with its last user. Gives the open device, whose
 * node stays as `loop`.
 */
static int attach(int file, int *number) {
  struct loop_config config = {.fd = (unsigned)file, .block_size = block_bytes};
  config.info.lo_flags = LO_FLAGS_DIRECT_IO | LO_FLAGS_AUTOCLEAR;
  int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
  if (control < 0) fail("/dev/loop-control");
  for (int left = loop_tries; left > 0; left--) {
    *number = ioctl(control, LOOP_CTL_GET_FREE);
    if (*number < 0) fail("/dev/loop-control");
    int device = open_loop(*number);
    if (device >= 0 && ioctl(device, LOOP_CONFIGURE, &config) == 0) {
      close(control);
      return device;
    }
    /* Another one was faster. */
    if (errno != EBUSY && errno != ENXIO) fail("loop device");
    if (device >= 0) {
      close(device);
      unlink("loop");
    }
  }
  fail("loop device");
  return -1;
}

/*
 * What the node `loop` shows; another mount of the same when it is mounted already. data=ordered, the default, stays, with its two flushes to a
 * commit: one flush (journal_async_commit) needs data=writeback, which discards what was deleted before that it was is on the disk. Of a file that
 * was replaced by rename neither the old nor the new is there then when the power goes (ext4_mb_clear_bb; test/control/drivers/oci/disk/power-loss.test.ts).
 */
static int mount_ext4(void) {
  int context = (int)syscall(SYS_fsopen, "ext4", FSOPEN_CLOEXEC);
  if (context < 0) fail("ext4");
  set(context, "source", "loop");
  /* What was never written is zero in the file as well. */
  set(context, "noinit_itable", NULL);
  /* What is deleted goes back to the box. */
  set(context, "discard", NULL);
  set(context, "errors", "remount-ro");
  return mounted(context, "disk", MOUNT_ATTR_NOATIME);
}

/* The file's file system, mounted nowhere yet. */
static int mount_file(const char *file, int *number) {
  int locked = lock_file(file), device = attach(locked, number), tree = mount_ext4();
  close(device);
  close(locked);
  unlink("loop");
  return tree;
}

/* One more mount, nowhere yet, of the file system that a machine which runs has on that device. */
static inline int mount_again(int number) {
  int device = open_loop(number);
  if (device < 0) fail("loop device");
  int tree = mount_ext4();
  close(device);
  unlink("loop");
  return tree;
}

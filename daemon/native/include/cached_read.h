/*
 * Small files that the kernel has in memory, read on the thread that asks: a turn of the thread pool costs ten times what
 * reading one does. Nothing here waits for a disk or for a file system of somebody's own: what would is left to the pool. The name is looked
 * up in the kernel's cache alone (openat2(2), RESOLVE_CACHED, since Linux 5.12; others refuse it), the file is on a device where the pool has
 * met a local file system, and its bytes are in the page cache (preadv2(2), RWF_NOWAIT, or where that is not known, mincore(2)).
 */
#ifndef HUTCH_CACHED_READ_H
#define HUTCH_CACHED_READ_H

#include "arguments.h"
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Of files that are read at once when they are opened for reading. */
enum { small_bytes = 64 * 1024 };

enum { known_devices = 16 };

static struct {
  pthread_mutex_t lock;
  dev_t devices[known_devices];
  int count, next;
} local = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int is_local(dev_t device) {
  int found = 0;
  pthread_mutex_lock(&local.lock);
  for (int index = 0; index < local.count && !found; index++) found = local.devices[index] == device;
  pthread_mutex_unlock(&local.lock);
  return found;
}

/* Called by the pool, which may wait: whether a file's device answers by itself is remembered. /proc is none of these. */
static void meet_device(int fd, dev_t device) {
  struct statfs system;
  if (is_local(device) || fstatfs(fd, &system) < 0) return;
  switch ((unsigned long)system.f_type) {
    case EXT4_SUPER_MAGIC:
    case XFS_SUPER_MAGIC:
    case BTRFS_SUPER_MAGIC:
    case OVERLAYFS_SUPER_MAGIC:
    case TMPFS_MAGIC: break;
    default: return;
  }
  pthread_mutex_lock(&local.lock);
  local.devices[local.next] = device;
  local.next = (local.next + 1) % known_devices;
  if (local.count < known_devices) local.count++;
  pthread_mutex_unlock(&local.lock);
}

static int open_cached(const char *path, int flags) {
  struct open_how how = {.flags = (unsigned)(flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), .resolve = RESOLVE_CACHED};
  /* Beside O_PATH the kernel takes few others. */
  if (flags & O_PATH) how.flags = (unsigned)(flags & (O_PATH | O_NOFOLLOW)) | O_CLOEXEC;
  return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
}

/* Whether it is a small regular file of a local file system, and what is known of it without asking anybody. */
static int look_at(int fd, struct stat *stat) {
  struct statx found;
  if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &found) < 0) return 0;
  if (!S_ISREG(found.stx_mode) || found.stx_size == 0 || found.stx_size > small_bytes) return 0;
  *stat = (struct stat){
    .st_dev = makedev(found.stx_dev_major, found.stx_dev_minor),
    .st_ino = found.stx_ino,
    .st_mode = found.stx_mode,
    .st_size = (off_t)found.stx_size,
    .st_uid = found.stx_uid,
    .st_gid = found.stx_gid,
    .st_mtim = {.tv_sec = found.stx_mtime.tv_sec, .tv_nsec = found.stx_mtime.tv_nsec},
  };
  return is_local(stat->st_dev);
}

/* All pages of the file are in the page cache. They may leave it before they are read: then a disk is waited for, once in a while. */
static int is_in_memory(int fd, size_t size) {
  enum { page_bytes = 4096 };
  unsigned char there[small_bytes / page_bytes];
  void *map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
  if (map == MAP_FAILED) return 0;
  size_t pages = (size + page_bytes - 1) / page_bytes;
  int all = sysconf(_SC_PAGESIZE) == page_bytes && mincore(map, size, there) == 0;
  for (size_t page = 0; page < pages && all; page++) all = there[page] & 1;
  munmap(map, size);
  return all;
}

static int read_cached(int fd, char *to, size_t size) {
  struct iovec piece = {to, size};
  ssize_t count = preadv2(fd, &piece, 1, 0, RWF_NOWAIT);
  /* An overlay and tmpfs cannot say. */
  if (count < 0 && errno == EOPNOTSUPP && is_in_memory(fd, size)) count = pread(fd, to, size, 0);
  return count == (ssize_t)size;
}

/*
 * Opens a small file for reading and answers its descriptor, or -1 when that might wait. It is looked at before it is opened, which a file
 * system of somebody's own could take for ever to do, and again when it is open.
 */
static int open_small_cached(const char *path, int flags, struct stat *stat) {
  int named = open_cached(path, flags | O_PATH);
  if (named < 0) return -1;
  int fits = look_at(named, stat);
  ino_t inode = fits ? stat->st_ino : 0;
  close(named);
  int fd = fits ? open_cached(path, flags) : -1;
  if (fd < 0) return -1;
  if (look_at(fd, stat) && stat->st_ino == inode) return fd;
  close(fd);
  return -1;
}

#endif

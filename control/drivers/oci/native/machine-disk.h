/* The disk of a machine that starts: made where it is new, bounded, and with the host's files in it. */
#include "disk.h"
#include <limits.h>
#include <sys/statfs.h>

/* What is zero is left out: the copy takes no more of the box than it must. */
static void copy_block(int from, int to, off_t at) {
  static const char zeros[block_bytes];
  char block[block_bytes];
  if (pread(from, block, sizeof block, at) != sizeof block) fail("blank disk");
  if (memcmp(block, zeros, sizeof block) == 0) return;
  if (pwrite(to, block, sizeof block, at) != sizeof block) fail("disk");
}

/* A disk that nobody has written, after a blank one of its size. */
static void copy_blank(const char *blank, const char *path) {
  struct stat facts;
  int from = open(blank, O_RDONLY | O_CLOEXEC);
  int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (from < 0 || fstat(from, &facts) < 0) fail(blank);
  if (to < 0 || ftruncate(to, facts.st_size) < 0) fail(path);
  off_t at = lseek(from, 0, SEEK_DATA);
  while (at >= 0 && at < facts.st_size) {
    off_t end = lseek(from, at, SEEK_HOLE);
    for (at -= at % block_bytes; at < end; at += block_bytes) copy_block(from, to, at);
    at = lseek(from, at, SEEK_DATA);
  }
  if (at < 0 && errno != ENXIO) fail(blank);
  close(from);
  close(to);
}

/* The disk, mounted: its loop device, and the blocks of its file system. */
struct mounted_disk {
  int tree, number;
  unsigned long blocks;
};

/* For the host, which changes later what the disk may hold: the device, and the blocks there are. */
static void write_device(const struct mounted_disk *disk, const char *device) {
  FILE *stream = open_stream(device, "we");
  if (fprintf(stream, "loop%d %lu\n", disk->number, disk->blocks) < 0 || fclose(stream) != 0) fail(device);
}

/*
 * One that was made before it was known for whom is larger than what it may hold; the file system keeps the rest to itself. That begins when
 * the root is mounted: one that is full could not be mounted else but to be read only, and nothing be deleted.
 */
static inline void bound(const struct mounted_disk *disk, const char *blocks) {
  char path[64];
  unsigned long most = blocks ? strtoul(blocks, NULL, 10) : disk->blocks;
  if (most >= disk->blocks) return;
  snprintf(path, sizeof path, "/sys/fs/ext4/loop%d/reserved_clusters", disk->number);
  FILE *stream = open_stream(path, "we");
  if (fprintf(stream, "%lu\n", disk->blocks - most) < 0 || fclose(stream) != 0) fail(path);
}

/* Mode and owner of a directory of the image, if it is one. */
static void make_like(const char *original, int at, const char *name) {
  struct stat facts = {.st_mode = 0755};
  if (lstat(original, &facts) == 0 && !S_ISDIR(facts.st_mode)) facts = (struct stat){.st_mode = 0755};
  if (mkdirat(at, name, 0700) < 0) fail(name);
  if (fchownat(at, name, facts.st_uid, facts.st_gid, AT_SYMLINK_NOFOLLOW) < 0) fail(name);
  if (fchmodat(at, name, facts.st_mode & 07777, 0) < 0) fail(name);
}

/* A tenant may have put anything in its place: a directory stays, and so does what finds no room. */
static void write_name(const struct part *part, int etc, const char *name) {
  if (unlinkat(etc, name, 0) < 0 && errno != ENOENT) return;
  int to = openat(etc, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (to < 0 || write(to, part->bytes, part->length) != (ssize_t)part->length) fprintf(stderr, "/etc/%s: %s\n", name, strerror(errno));
  if (to >= 0) close(to);
}

static void write_names(int upper, struct told told) {
  static const char prefix[] = "etc/";
  const size_t length = sizeof prefix - 1;
  struct part part;
  int etc = openat(upper, "etc", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  /* The tenant has made something else of it: then it has its own names, too. */
  if (etc < 0) return;
  while (next_part(&told, &part))
    if (strncmp(part.name, prefix, length) == 0 && !strchr(part.name + length, '/')) write_name(&part, etc, part.name + length);
  close(etc);
}

/* The upper layer, with the host's own files in /etc, if they are given; those of a tenant stay as they are. */
static void furnish(int tree, const char *image, const struct told *told) {
  char etc[PATH_MAX];
  if (mkdirat(tree, "work", 0700) < 0 && errno != EEXIST) fail("work");
  int is_new = faccessat(tree, "upper", F_OK, AT_SYMLINK_NOFOLLOW) < 0;
  if (is_new) make_like(image, tree, "upper");
  int upper = openat(tree, "upper", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (upper < 0) fail("upper");
  snprintf(etc, sizeof etc, "%s/etc", image);
  if (is_new) make_like(etc, upper, "etc");
  if (told) write_names(upper, *told);
  close(upper);
}

struct disk {
  /* The file; what it may hold, in blocks, NULL for all; what it is made of, NULL for one that is there. */
  const char *file, *blocks, *blank;
  /* Where to write down the device. */
  const char *device;
};

/* The disk, mounted nowhere yet. It can be filled to its end until it is bounded. */
static inline struct mounted_disk open_disk(const struct disk *disk) {
  struct mounted_disk opened;
  struct statfs facts;
  if (disk->blank) copy_blank(disk->blank, disk->file);
  opened.tree = mount_file(disk->file, &opened.number);
  if (fstatfs(opened.tree, &facts) < 0) fail("disk");
  opened.blocks = (unsigned long)facts.f_blocks;
  write_device(&opened, disk->device);
  return opened;
}

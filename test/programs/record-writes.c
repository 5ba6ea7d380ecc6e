/*
 * A disk that tells what would be on it had the power gone: a file whose writes, discards and flushes are written down in their order.
 *
 *     record-writes <file> <backing> <log> <step>
 *
 * <file> shows <backing> (FUSE: https://docs.kernel.org/filesystems/fuse.html) until it is unmounted. Each entry of <log> is a struct entry, and what was
 * written follows. <step> is a file with a number, of how much is done by then. Says `ready` when it can be opened.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fuse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { most_written = 1 << 20, written = 1, flushed = 2, discarded = 3 };

struct entry {
  uint32_t what, step;
  uint64_t at, length;
};

static int device, backing, step;
static FILE *record;
static char question[most_written + 4096], bytes[most_written];

static void need(int ok, const char *what) {
  if (ok) return;
  perror(what);
  exit(1);
}

static void answer(uint64_t unique, int error, const void *data, size_t length) {
  struct fuse_out_header head = {.len = (uint32_t)(sizeof head + length), .error = error, .unique = unique};
  struct iovec parts[] = {{&head, sizeof head}, {(void *)data, length}};
  /* ENOENT: who has asked does not wait for it any more. */
  need(writev(device, parts, length > 0 ? 2 : 1) >= 0 || errno == ENOENT, "answer");
}

static void note(uint32_t what, uint64_t at, uint64_t length, const void *data) {
  struct entry entry = {.what = what, .at = at, .length = length};
  need(pread(step, &entry.step, sizeof entry.step, 0) == sizeof entry.step, "step");
  need(fwrite(&entry, sizeof entry, 1, record) == 1, "log");
  if (data) need(fwrite(data, length, 1, record) == 1, "log");
}

static void answer_attributes(uint64_t unique) {
  struct stat facts;
  need(fstat(backing, &facts) == 0, "backing");
  struct fuse_attr_out out = {
      .attr_valid = 3600,
      .attr = {.ino = 1, .size = (uint64_t)facts.st_size, .mode = S_IFREG | 0600, .nlink = 1, .blksize = 4096},
  };
  answer(unique, 0, &out, sizeof out);
}

static void answer_read(uint64_t unique, const struct fuse_read_in *in) {
  ssize_t length = pread(backing, bytes, in->size, (off_t)in->offset);
  need(length >= 0, "read");
  answer(unique, 0, bytes, (size_t)length);
}

static void answer_write(uint64_t unique, const struct fuse_write_in *in) {
  struct fuse_write_out out = {.size = in->size};
  note(written, in->offset, in->size, in + 1);
  need(pwrite(backing, in + 1, in->size, (off_t)in->offset) == in->size, "write");
  answer(unique, 0, &out, sizeof out);
}

/* What is discarded or made zero reads as zero. */
static void answer_discard(uint64_t unique, const struct fuse_fallocate_in *in) {
  note(discarded, in->offset, in->length, NULL);
  int how = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
  need(fallocate(backing, how, (off_t)in->offset, (off_t)in->length) == 0, "discard");
  answer(unique, 0, NULL, 0);
}

static void answer_one(const struct fuse_in_header *head) {
  const void *in = head + 1;
  struct fuse_init_out begun = {.major = 7, .minor = 31, .flags = FUSE_BIG_WRITES | FUSE_MAX_PAGES, .max_write = most_written, .max_pages = most_written / 4096};
  /* Without a size of blocks a loop device discards nothing. */
  struct fuse_statfs_out size = {.st = {.bsize = 4096, .frsize = 4096, .namelen = 255}};
  /* Nothing is kept in pages between the disk and us. */
  struct fuse_open_out opened = {.open_flags = FOPEN_DIRECT_IO};
  switch (head->opcode) {
    case FUSE_INIT: return answer(head->unique, 0, &begun, sizeof begun);
    case FUSE_GETATTR:
    case FUSE_SETATTR: return answer_attributes(head->unique);
    case FUSE_STATFS: return answer(head->unique, 0, &size, sizeof size);
    case FUSE_OPEN: return answer(head->unique, 0, &opened, sizeof opened);
    case FUSE_READ: return answer_read(head->unique, in);
    case FUSE_WRITE: return answer_write(head->unique, in);
    case FUSE_FALLOCATE: return answer_discard(head->unique, in);
    case FUSE_FSYNC: note(flushed, 0, 0, NULL); /* fall through */
    case FUSE_FLUSH:
    case FUSE_RELEASE:
    case FUSE_DESTROY: return answer(head->unique, 0, NULL, 0);
    /* These have no answer. */
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
    case FUSE_INTERRUPT: return;
    default: return answer(head->unique, -ENOSYS, NULL, 0);
  }
}

int main(int count, char **argument) {
  char options[128];
  need(count == 5, "record-writes");
  backing = open(argument[2], O_RDWR | O_CLOEXEC);
  record = fopen(argument[3], "we");
  step = open(argument[4], O_RDONLY | O_CLOEXEC);
  device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
  need(backing >= 0 && record && step >= 0 && device >= 0, "record-writes");
  snprintf(options, sizeof options, "fd=%d,rootmode=100600,user_id=0,group_id=0", device);
  need(mount("record-writes", argument[1], "fuse", 0, options) == 0, "mount");
  printf("ready\n");
  fflush(stdout);
  for (;;) {
    ssize_t length = read(device, question, sizeof question);
    /* Unmounted. */
    if (length < 0 && errno == ENODEV) break;
    if (length < 0 && (errno == EINTR || errno == ENOENT)) continue;
    need(length > 0, "/dev/fuse");
    answer_one((const void *)question);
  }
  need(fclose(record) == 0, "log");
  return 0;
}

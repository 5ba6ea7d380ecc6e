/*
 * The transfer of one body from its socket into a file, block by block: read without waiting, searched for the
 * delimiter, written.
 */
#ifndef HUTCH_TRANSFER_H
#define HUTCH_TRANSFER_H

#include "arguments.h"
#include "md5.h"
#include <sys/socket.h>
#include <unistd.h>

/* Bytes that are read, written and hashed in one step; they fit into the processor's cache. */
#define BLOCK_BYTES (256 * 1024)

/* Why a run ended; receive.ts has the same order. */
enum outcome { GOING, BODY_END, DELIMITER, ROOM_END, FILE_FAILED, SOCKET_FAILED, CLIENT_GONE, CANCELLED };
enum place { AT_REST, WAITING, SERVED };

struct receiver;

/* Of a body in chunks (RFC 9112, section 7.1): where in them the reader is, and what it has read and not yet decoded. */
#define RAW_BYTES 4096
struct chunks {
  int64_t left; /* of the current chunk */
  int needs_crlf; /* which follows a chunk */
  int more;       /* there is something to decode without reading */
  size_t raw_at, raw_length;
  unsigned char raw[RAW_BYTES];
};

struct transfer {
  struct receiver *by;
  int socket;   /* our own duplicate */
  int64_t left; /* bytes of the body that are still in the socket; of a body in chunks 1 until its end */
  struct chunks *chunks; /* NULL: the body has a length */
  unsigned char *delimiter;
  size_t delimiter_length;
  unsigned char *ahead; /* read from the socket and not yet written */
  size_t ahead_length, ahead_at, ahead_size;
  struct md5 md5;
  /* The run. */
  int fd;
  int64_t position, room, written;
  enum outcome outcome;
  int error;
  /* Guarded by the lock. */
  enum place place;
  int cancelled, in_hash;
  uint32_t slot, generation;
  napi_deferred deferred;
  napi_ref self;
};

/* Keeps bytes of the block for the next round, or for the caller after the last one. */
static int keep_ahead(struct transfer *self, const unsigned char *bytes, size_t length) {
  /* The bytes that came with the request are many and needed once; the beginning of a delimiter is short. */
  if (length > self->ahead_size || self->ahead_size > 4096) {
    size_t size = length > self->delimiter_length ? length : self->delimiter_length + 1;
    unsigned char *room = malloc(size);
    if (!room) return -1;
    free(self->ahead);
    self->ahead = room;
    self->ahead_size = size;
  }
  if (length > 0) memcpy(self->ahead, bytes, length);
  self->ahead_at = 0;
  self->ahead_length = length;
  return 0;
}

/* Length of the longest end of `bytes` with which a delimiter may begin. */
static size_t beginning_at_end(const struct transfer *self, const unsigned char *bytes, size_t length) {
  size_t longest = self->delimiter_length - 1 < length ? self->delimiter_length - 1 : length;
  const unsigned char *end = bytes + length;
  for (const unsigned char *at = end - longest; at < end; at++) {
    at = memchr(at, self->delimiter[0], (size_t)(end - at));
    if (!at) return 0;
    if (memcmp(at, self->delimiter, (size_t)(end - at)) == 0) return (size_t)(end - at);
  }
  return 0;
}

static int write_all(struct transfer *self, const unsigned char *bytes, size_t length) {
  while (length > 0) {
    ssize_t count = pwrite(self->fd, bytes, length, self->position);
    if (count < 0 && errno == EINTR) continue;
    if (count == 0) errno = EIO;
    if (count <= 0) return -1;
    bytes += count;
    length -= (size_t)count;
    self->position += count;
    self->written += count;
    self->room -= count;
  }
  return 0;
}

static size_t fail_with(struct transfer *self, enum outcome outcome, int error) {
  self->outcome = outcome;
  self->error = error;
  return 0;
}

static ssize_t receive(const struct transfer *self, unsigned char *bytes, size_t length) {
  ssize_t count;
  do count = recv(self->socket, bytes, length, MSG_DONTWAIT);
  while (count < 0 && errno == EINTR);
  return count;
}

/* What a receive that brought nothing means. Returns how much of the block is filled, 0 when the run has ended. */
static size_t nothing_came(struct transfer *self, ssize_t count, size_t filled) {
  if (count == 0) return fail_with(self, CLIENT_GONE, 0);
  if (errno != EAGAIN && errno != EWOULDBLOCK) return fail_with(self, SOCKET_FAILED, errno);
  return filled;
}

#include "chunks.h"

/*
 * Fills the block from the bytes ahead and then from the socket. Returns 0 when there are none now, or the run has
 * ended.
 */
static size_t fill(struct transfer *self, unsigned char *block) {
  size_t filled = self->ahead_length - self->ahead_at;
  if (filled > BLOCK_BYTES) filled = BLOCK_BYTES;
  if (filled > 0) memcpy(block, self->ahead + self->ahead_at, filled);
  self->ahead_at += filled;
  if (self->ahead_at < self->ahead_length || filled == BLOCK_BYTES || self->left == 0) return filled;
  if (self->chunks) return fill_from_chunks(self, block, filled);
  size_t wanted = BLOCK_BYTES - filled;
  /* Ends at a page boundary of the file, so that no page is written twice. */
  size_t odd = (size_t)((self->position + BLOCK_BYTES) % 4096);
  if (wanted > odd) wanted -= odd;
  if ((int64_t)wanted > self->left) wanted = (size_t)self->left;
  ssize_t count = receive(self, block + filled, wanted);
  if (count <= 0) return nothing_came(self, count, filled);
  self->left -= count;
  return filled + (size_t)count;
}

/* Reads, searches and writes one block. Returns how many of its bytes are content. */
static size_t serve(struct transfer *self, unsigned char *block) {
  size_t filled = fill(self, block);
  if (filled == 0 && (self->outcome != GOING || self->left > 0)) return 0;
  size_t content = filled;
  int last = self->left == 0 && self->ahead_at == self->ahead_length;
  enum outcome outcome = last ? BODY_END : GOING;
  if (self->delimiter_length > 0) {
    unsigned char *hit = memmem(block, filled, self->delimiter, self->delimiter_length);
    if (hit) {
      content = (size_t)(hit - block);
      outcome = DELIMITER;
    } else if (!last) content -= beginning_at_end(self, block, filled);
  }
  if ((int64_t)content > self->room) {
    content = (size_t)self->room;
    outcome = ROOM_END;
  }
  size_t over = filled - content;
  if (self->ahead_at < self->ahead_length) self->ahead_at -= over;
  else if (keep_ahead(self, block + content, over) < 0) return fail_with(self, FILE_FAILED, ENOMEM);
  if (write_all(self, block, content) < 0) return fail_with(self, FILE_FAILED, errno);
  self->outcome = outcome;
  return content;
}

#endif

/*
 * One direction of a link: bytes from one descriptor to another by way of a buffer of the thread, as far as both go without waiting.
 * Only the relay's thread calls any of this.
 *
 * Copied, not spliced: what goes through a pipe reaches the other side in pages, and costs it and us more than one large copy
 * (by turns on kernel 6.18, processor of all three parties a gigabyte: 0.92 s with splice, 0.68 s so).
 */
#ifndef HUTCH_FLOW_H
#define HUTCH_FLOW_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum {
  buffer_bytes = 512 * 1024, /* taken at once where the other side keeps up */
  slow_bytes = 64 * 1024,    /* where it did not the last time, so that little is kept for it */
  scarce_bytes = 4 * 1024,   /* while much is kept for all */
  much_bytes = 64 * 1024 * 1024,
  turn_bytes = 4 * 1024 * 1024,
};

struct flow {
  int from, to;
  int64_t left; /* to be taken still; below zero: until it ends */
  char *head;   /* taken and not sent yet, to go first; malloc's */
  size_t head_at, head_size;
  bool done, source_gone, slow;
  uint64_t bytes;
};

static char buffer[buffer_bytes];
/* In the heads of all. */
static size_t kept_bytes;

static void drop_head(struct flow *flow) {
  if (flow->head) kept_bytes -= flow->head_size;
  free(flow->head);
  flow->head = NULL;
}

/* Keeps what the other side has not taken; false where there is no memory. */
static bool keep(struct flow *flow, const char *bytes, size_t size) {
  if (!(flow->head = malloc(size))) return false;
  memcpy(flow->head, bytes, size);
  flow->head_at = 0;
  flow->head_size = size;
  kept_bytes += size;
  return true;
}

enum outcome { waits, has_more, failed };

/* Sends what goes without waiting and counts it; `*at` is how much that was. */
static enum outcome send_some(struct flow *flow, const char *bytes, size_t size, size_t *at) {
  while (*at < size) {
    ssize_t sent = send(flow->to, bytes + *at, size - *at, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return errno == EAGAIN ? waits : failed;
    *at += (size_t)sent;
    flow->bytes += (uint64_t)sent;
  }
  return has_more;
}

static size_t room(const struct flow *flow) {
  size_t most = kept_bytes > much_bytes ? scarce_bytes : flow->slow ? slow_bytes : buffer_bytes;
  return flow->left < 0 || flow->left > (int64_t)most ? most : (size_t)flow->left;
}

/* Moves what can be moved now. Nothing is taken while something is kept, so that EAGAIN has one meaning. */
static enum outcome pump(struct flow *flow) {
  if (flow->done) return waits;
  if (flow->head) {
    enum outcome sent = send_some(flow, flow->head, flow->head_size, &flow->head_at);
    if (sent != has_more) return sent;
    drop_head(flow);
  }
  for (size_t moved = 0; moved < turn_bytes;) {
    if (flow->left == 0) {
      flow->done = true;
      return waits;
    }
    ssize_t got = recv(flow->from, buffer, room(flow), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return waits;
    /* Broken, or at its end before what was to be moved is there. */
    if (got < 0 || (got == 0 && flow->left > 0)) {
      flow->source_gone = true;
      return failed;
    }
    if (got == 0) {
      flow->done = true;
      return shutdown(flow->to, SHUT_WR) < 0 && errno != ENOTCONN ? failed : waits;
    }
    if (flow->left > 0) flow->left -= got;
    size_t at = 0;
    enum outcome sent = send_some(flow, buffer, (size_t)got, &at);
    flow->slow = sent == waits;
    if (sent == waits && !keep(flow, buffer + at, (size_t)got - at)) return failed;
    if (sent != has_more) return sent;
    moved += at;
  }
  return has_more;
}

#endif

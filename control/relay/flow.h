/*
 * One direction of a link: bytes from one descriptor to another by way of a pipe, as far as both go without waiting. Only the
 * relay's thread calls any of this.
 */
#ifndef HUTCH_FLOW_H
#define HUTCH_FLOW_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* At once, and so at most stuck: of what is joined for good, and of a part that is moved, which is of one request. */
enum { joined_bytes = 256 * 1024, moved_bytes = 512 * 1024, turn_bytes = 4 * 1024 * 1024, kept_pipes = 32 };

struct flow {
  int from, to;
  int pipe[2];
  size_t stuck;        /* bytes in the pipe */
  int64_t left;        /* to be taken still; below zero: until it ends */
  char *head;          /* bytes that were read ahead, to go first */
  size_t head_at, head_size;
  bool done, source_gone;
  uint64_t bytes;
};

/* Empty ones, for the next that needs one. */
static int pool[kept_pipes][2], pooled;

static bool take_pipe(struct flow *flow) {
  if (flow->pipe[0] >= 0) return true;
  if (pooled > 0) {
    memcpy(flow->pipe, pool[--pooled], sizeof flow->pipe);
    return true;
  }
  if (pipe2(flow->pipe, O_NONBLOCK | O_CLOEXEC) < 0) {
    flow->pipe[0] = flow->pipe[1] = -1;
    return false;
  }
  /* A smaller pipe works too: the bound for all of a user may be reached. */
  (void)!fcntl(flow->pipe[1], F_SETPIPE_SZ, moved_bytes);
  return true;
}

static void drop_pipe(struct flow *flow) {
  if (flow->pipe[0] < 0) return;
  if (flow->stuck == 0 && pooled < kept_pipes) memcpy(pool[pooled++], flow->pipe, sizeof flow->pipe);
  else {
    close(flow->pipe[0]);
    close(flow->pipe[1]);
  }
  flow->pipe[0] = flow->pipe[1] = -1;
}

enum outcome { waits, has_more, failed };

static enum outcome send_head(struct flow *flow) {
  while (flow->head_at < flow->head_size) {
    ssize_t sent = send(flow->to, flow->head + flow->head_at, flow->head_size - flow->head_at, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return errno == EAGAIN ? waits : failed;
    flow->head_at += (size_t)sent;
    flow->bytes += (uint64_t)sent;
  }
  free(flow->head);
  flow->head = NULL;
  return has_more;
}

/* Moves what can be moved now. The pipe is filled only when it is empty, so that EAGAIN has one meaning. */
static enum outcome pump(struct flow *flow) {
  if (flow->done) return waits;
  if (flow->head) {
    enum outcome sent = send_head(flow);
    if (sent != has_more) return sent;
  }
  for (size_t moved = 0; moved < turn_bytes;) {
    if (flow->stuck == 0) {
      if (flow->left == 0) {
        flow->done = true;
        return waits;
      }
      if (!take_pipe(flow)) return failed;
      size_t room = flow->left < 0 ? joined_bytes : flow->left < moved_bytes ? (size_t)flow->left : moved_bytes;
      ssize_t got = splice(flow->from, NULL, flow->pipe[1], NULL, room, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
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
      flow->stuck = (size_t)got;
      if (flow->left > 0) flow->left -= got;
    }
    ssize_t sent = splice(flow->pipe[0], NULL, flow->to, NULL, flow->stuck, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return errno == EAGAIN ? waits : failed;
    flow->stuck -= (size_t)sent;
    flow->bytes += (uint64_t)sent;
    moved += (size_t)sent;
  }
  return has_more;
}

#endif

/*
 * Bodies from sockets into files on threads of our own. A few threads wait for all sockets at once: a client that sends
 * slowly holds none of them and no memory but its record. Blocks of several uploads that arrive together are hashed
 * side by side.
 */
#ifndef HUTCH_RECEIVER_H
#define HUTCH_RECEIVER_H

#include "arguments.h"
#include "md5.h"
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* Bytes that are read, written and hashed in one go: all of them stay in the processor's cache meanwhile. */
#define BLOCK_BYTES (256 * 1024)
/* Uploads that a thread serves in one round. */
#define BATCH MD5_LANES
/* Two, so that one file system that hangs does not stop the uploads to others. */
#define MOST_THREADS 2
/* A thread that had nothing to do for so long ends. Milliseconds. */
#define IDLE_MS 2000

/* Why a run ended, in the order that the TypeScript side knows. */
enum outcome { GOING, BODY_END, DELIMITER, ROOM_END, FILE_FAILED, SOCKET_FAILED, CLIENT_GONE, CANCELLED };
enum place { AT_REST, WAITING, SERVED };

struct transfer {
  int socket;   /* our own duplicate */
  int64_t left; /* bytes of the body that are still in the socket */
  unsigned char *delimiter;
  size_t delimiter_length;
  unsigned char *ahead; /* read from the socket and not yet written */
  size_t ahead_length, ahead_at, ahead_size;
  struct md5 md5;
  int hashing;
  /* The run. */
  int fd;
  int64_t position, room, written;
  enum outcome outcome;
  int error;
  /* Guarded by the lock. */
  enum place place;
  int cancelled, registered;
  uint32_t slot, generation;
  napi_deferred deferred;
  napi_ref self;
};

struct receiver {
  pthread_mutex_t lock;
  int epoll;
  /* Who is meant by an event: the record may be gone by the time it is looked at. */
  struct transfer **slots;
  uint32_t slot_count, generation;
  int runs, threads, idle;
  void (*ended)(struct transfer *);
};

static struct receiver receiver = {.lock = PTHREAD_MUTEX_INITIALIZER, .epoll = -1};

/* Keeps bytes of the block for the next round, or for whoever goes on. */
static int keep_ahead(struct transfer *self, const unsigned char *bytes, size_t length) {
  /* What came with the request is large and needed once, the beginning of a delimiter is small. */
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

/* Length of the longest end of `bytes` that a delimiter may begin with. */
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

/* Fills the block from what is ahead and then from the socket; 0 when there is nothing now, or the run has ended. */
static size_t fill(struct transfer *self, unsigned char *block) {
  size_t filled = self->ahead_length - self->ahead_at;
  if (filled > BLOCK_BYTES) filled = BLOCK_BYTES;
  if (filled > 0) memcpy(block, self->ahead + self->ahead_at, filled);
  self->ahead_at += filled;
  if (self->ahead_at < self->ahead_length || filled == BLOCK_BYTES || self->left == 0) return filled;
  size_t wanted = BLOCK_BYTES - filled;
  /* Ends where a page of the file ends, so that no page is written twice. */
  size_t odd = (size_t)((self->position + BLOCK_BYTES) % 4096);
  if (wanted > odd) wanted -= odd;
  if ((int64_t)wanted > self->left) wanted = (size_t)self->left;
  ssize_t count;
  do count = recv(self->socket, block + filled, wanted, MSG_DONTWAIT);
  while (count < 0 && errno == EINTR);
  if (count > 0) {
    self->left -= count;
    return filled + (size_t)count;
  }
  if (count == 0) return fail_with(self, CLIENT_GONE, 0);
  if (errno != EAGAIN && errno != EWOULDBLOCK) return fail_with(self, SOCKET_FAILED, errno);
  return filled;
}

/* One block: read, looked through, written. Returns how much of it is content. */
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

static void hash_all(struct transfer **batch, const size_t *content, int count, unsigned char *blocks) {
  struct md5 *streams[BATCH];
  const unsigned char *data[BATCH];
  size_t lengths[BATCH];
  int n = 0;
  for (int i = 0; i < count; i++) {
    if (!batch[i]->hashing || content[i] == 0) continue;
    streams[n] = &batch[i]->md5;
    data[n] = blocks + (size_t)i * BLOCK_BYTES;
    lengths[n++] = content[i];
  }
  if (n > 0) md5_update(streams, data, lengths, n);
}

static uint64_t token(const struct transfer *self) { return (uint64_t)self->generation << 32 | self->slot; }

/* With the lock: asks for the next event, which comes once. */
static int arm(struct transfer *self, int operation, uint32_t events) {
  struct epoll_event event = {.events = events | EPOLLRDHUP | EPOLLONESHOT, .data.u64 = token(self)};
  self->place = WAITING;
  return epoll_ctl(receiver.epoll, operation, self->socket, &event);
}

/* With the lock: nobody serves it any more. */
static void retire(struct transfer *self) {
  epoll_ctl(receiver.epoll, EPOLL_CTL_DEL, self->socket, NULL);
  receiver.slots[self->slot] = NULL;
  self->place = AT_REST;
  receiver.runs--;
}

/* The transfers behind the events that are still there to be served. */
static int claim(const struct epoll_event *events, int count, struct transfer **batch) {
  int claimed = 0;
  for (int i = 0; i < count; i++) {
    uint32_t slot = (uint32_t)events[i].data.u64, generation = (uint32_t)(events[i].data.u64 >> 32);
    struct transfer *self = slot < receiver.slot_count ? receiver.slots[slot] : NULL;
    if (!self || self->generation != generation || self->place != WAITING) continue;
    self->place = SERVED;
    batch[claimed++] = self;
  }
  return claimed;
}

/* After a round: those that are done go, the others wait for more. */
static void release(struct transfer **batch, int count) {
  struct transfer *ended[BATCH];
  int n = 0;
  pthread_mutex_lock(&receiver.lock);
  for (int i = 0; i < count; i++) {
    struct transfer *self = batch[i];
    if (self->outcome == GOING && self->cancelled) self->outcome = CANCELLED;
    /* What is ahead does not wait for the socket; being writable is a reason to be served at once. */
    size_t ahead = self->ahead_length - self->ahead_at;
    uint32_t events = ahead > self->delimiter_length ? EPOLLIN | EPOLLOUT : EPOLLIN;
    if (self->outcome == GOING && arm(self, EPOLL_CTL_MOD, events) < 0) fail_with(self, SOCKET_FAILED, errno);
    if (self->outcome == GOING) continue;
    retire(self);
    ended[n++] = self;
  }
  pthread_mutex_unlock(&receiver.lock);
  /* From here on the other side may free them. */
  for (int i = 0; i < n; i++) receiver.ended(ended[i]);
}

static void serve_all(unsigned char *blocks) {
  struct epoll_event events[BATCH];
  struct transfer *batch[BATCH];
  size_t content[BATCH];
  for (;;) {
    int count = epoll_wait(receiver.epoll, events, BATCH, IDLE_MS);
    pthread_mutex_lock(&receiver.lock);
    if (count == 0 && receiver.runs == 0) return;
    int claimed = count > 0 ? claim(events, count, batch) : 0;
    if (claimed > 0) receiver.idle--;
    pthread_mutex_unlock(&receiver.lock);
    if (claimed == 0) continue;
    for (int i = 0; i < claimed; i++) content[i] = serve(batch[i], blocks + (size_t)i * BLOCK_BYTES);
    hash_all(batch, content, claimed, blocks);
    release(batch, claimed);
    pthread_mutex_lock(&receiver.lock);
    receiver.idle++;
    pthread_mutex_unlock(&receiver.lock);
  }
}

static void *thread_main(void *blocks) {
  serve_all(blocks);
  /* Holds the lock. */
  receiver.threads--;
  receiver.idle--;
  pthread_mutex_unlock(&receiver.lock);
  munmap(blocks, (size_t)BATCH * BLOCK_BYTES);
  return NULL;
}

/* With the lock: starts a thread; 0 or a negated errno. */
static int start_thread(void) {
  void *blocks =
      mmap(NULL, (size_t)BATCH * BLOCK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (blocks == MAP_FAILED) return -errno;
  pthread_t thread;
  pthread_attr_t attributes;
  sigset_t all, before;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, 256 * 1024);
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = pthread_create(&thread, &attributes, thread_main, blocks);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
  if (error) {
    munmap(blocks, (size_t)BATCH * BLOCK_BYTES);
    return -error;
  }
  receiver.threads++;
  receiver.idle++;
  return 0;
}

/* With the lock: sees to it that somebody serves; 0 or a negated errno. */
static int have_thread(void) {
  if (receiver.epoll < 0) receiver.epoll = epoll_create1(EPOLL_CLOEXEC);
  if (receiver.epoll < 0) return -errno;
  if (receiver.threads > 0 && (receiver.idle > 0 || receiver.threads == MOST_THREADS)) return 0;
  int error = start_thread();
  return receiver.threads > 0 ? 0 : error;
}

/* With the lock: a free place in the table, or -1. */
static int64_t free_slot(void) {
  for (uint32_t i = 0; i < receiver.slot_count; i++)
    if (!receiver.slots[i]) return i;
  uint32_t more = receiver.slot_count ? receiver.slot_count * 2 : 16;
  struct transfer **slots = realloc(receiver.slots, more * sizeof *slots);
  if (!slots) return -1;
  memset(slots + receiver.slot_count, 0, (more - receiver.slot_count) * sizeof *slots);
  receiver.slots = slots;
  uint32_t slot = receiver.slot_count;
  receiver.slot_count = more;
  return slot;
}

/* With the lock: hands a transfer to the threads; 0 or a negated errno. */
static int start_run(struct transfer *self) {
  int64_t slot = free_slot();
  if (slot < 0) return -ENOMEM;
  int error = have_thread();
  if (error) return error;
  self->slot = (uint32_t)slot;
  self->generation = ++receiver.generation;
  self->outcome = GOING;
  self->cancelled = 0;
  /* Writable it is at once: what is ahead does not wait for what is still to come. */
  if (arm(self, EPOLL_CTL_ADD, EPOLLIN | EPOLLOUT) < 0) {
    self->place = AT_REST;
    return -errno;
  }
  receiver.slots[slot] = self;
  receiver.runs++;
  return 0;
}

/* Ends a run from outside; true when it has ended by that, else it ends after the round it is in. */
static int cancel_run(struct transfer *self) {
  pthread_mutex_lock(&receiver.lock);
  int now = self->place == WAITING;
  self->cancelled = 1;
  if (now) {
    retire(self);
    self->outcome = CANCELLED;
  }
  pthread_mutex_unlock(&receiver.lock);
  return now;
}

#endif

/*
 * Writes request bodies from sockets into files, on threads of its own. A few threads wait for all sockets at once: a
 * client that sends slowly occupies no thread and no memory but its record; a slow file system occupies one thread.
 * Hashing has a turn of its own: the blocks of several uploads that arrive together are hashed side by side, while the
 * other thread already reads and writes the next ones. With a single lane each thread hashes what it has read.
 */
#ifndef HUTCH_RECEIVER_H
#define HUTCH_RECEIVER_H

#include "transfer.h"
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

/* A thread serves at most so many uploads in one round. */
#define BATCH MD5_LANES
/* A thread without work ends after so many milliseconds. */
#define IDLE_MS 2000
/* How long a thread waits for its turn to read and write, in milliseconds. */
#define TURN_MS 50

struct receiver {
  const int batch, max_threads;
  pthread_mutex_t lock;
  /*
   * One thread at a time reads and writes, and one at a time hashes, so that one thread takes everything that is ready.
   */
  pthread_mutex_t turn, hash;
  int epoll;
  /* Names the transfer of an event; the record may be freed before the event is handled. */
  struct transfer **slots;
  uint32_t slot_count, generation;
  int runs, threads;
};

#define RECEIVER(width, threads)                                                                                       \
  {.batch = width, .max_threads = threads, .epoll = -1, .lock = PTHREAD_MUTEX_INITIALIZER,                            \
   .turn = PTHREAD_MUTEX_INITIALIZER, .hash = PTHREAD_MUTEX_INITIALIZER}
static struct receiver plain = RECEIVER(1, 4), hashing = RECEIVER(BATCH, 2);

/* Called on a thread when a run has ended. */
static void (*run_ended)(struct transfer *);

static void hash_all(struct transfer **batch, const size_t *content, int count, unsigned char *blocks) {
  struct md5 *streams[BATCH];
  const unsigned char *data[BATCH];
  size_t lengths[BATCH];
  int n = 0;
  for (int i = 0; i < count; i++) {
    if (content[i] == 0) continue;
    streams[n] = &batch[i]->md5;
    data[n] = blocks + (size_t)i * BLOCK_BYTES;
    lengths[n++] = content[i];
  }
  if (n > 0) md5_update(streams, data, lengths, n);
}

static uint64_t token(const struct transfer *self) { return (uint64_t)self->generation << 32 | self->slot; }

/* With the lock: arms the socket for one more event. */
static int arm(struct transfer *self, int operation, uint32_t events) {
  struct epoll_event event = {.events = events | EPOLLRDHUP | EPOLLONESHOT, .data.u64 = token(self)};
  self->place = WAITING;
  return epoll_ctl(self->by->epoll, operation, self->socket, &event);
}

/* With the lock: takes it out of the table. */
static void retire(struct transfer *self) {
  epoll_ctl(self->by->epoll, EPOLL_CTL_DEL, self->socket, NULL);
  self->by->slots[self->slot] = NULL;
  self->place = AT_REST;
  self->by->runs--;
}

/* The transfers of one round, and the results. */
struct round {
  struct transfer *batch[BATCH], *going[BATCH], *ended[BATCH];
  size_t content[BATCH];
  int count, going_count, ended_count;
};

/* With the lock: adds the transfers that the events name, as far as they still exist. */
static void claim(struct receiver *by, const struct epoll_event *events, int count, struct round *round) {
  for (int i = 0; i < count; i++) {
    uint32_t slot = (uint32_t)events[i].data.u64, generation = (uint32_t)(events[i].data.u64 >> 32);
    struct transfer *self = slot < by->slot_count ? by->slots[slot] : NULL;
    if (!self || self->generation != generation || self->place != WAITING) continue;
    self->place = SERVED;
    round->batch[round->count++] = self;
  }
}

/* Unfinished transfers wait for more data; another thread may serve them from here on. */
static void rearm(struct receiver *by, struct round *round, int in_hash) {
  pthread_mutex_lock(&by->lock);
  for (int i = 0; i < round->count; i++) {
    struct transfer *self = round->batch[i];
    if (self->outcome == GOING && self->cancelled) self->outcome = CANCELLED;
    /*
     * A transfer with bytes ahead need not wait for its socket to be readable: it asks for writable, which is true at
     * once. So does one with chunks that are read and not decoded.
     */
    int has_more = self->ahead_length - self->ahead_at > self->delimiter_length || (self->chunks && self->chunks->more);
    uint32_t events = has_more ? EPOLLIN | EPOLLOUT : EPOLLIN;
    if (self->outcome == GOING && arm(self, EPOLL_CTL_MOD, events) < 0) fail_with(self, SOCKET_FAILED, errno);
    if (self->outcome == GOING) {
      self->in_hash = in_hash;
      round->going[round->going_count++] = self;
      continue;
    }
    retire(self);
    round->ended[round->ended_count++] = self;
  }
  pthread_mutex_unlock(&by->lock);
}

/* After hashing: ends the transfers that were cancelled meanwhile. */
static void leave_hash(struct receiver *by, struct round *round) {
  pthread_mutex_lock(&by->lock);
  for (int i = 0; i < round->going_count; i++) {
    struct transfer *self = round->going[i];
    self->in_hash = 0;
    if (!self->cancelled || self->place != WAITING) continue;
    retire(self);
    self->outcome = CANCELLED;
    round->ended[round->ended_count++] = self;
  }
  pthread_mutex_unlock(&by->lock);
}

/* Waits for its turn, but not for ever: the thread that has it may hang in a file system. */
static int take_turn(struct receiver *by) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_nsec += TURN_MS * 1000000L;
  until.tv_sec += until.tv_nsec / 1000000000L;
  until.tv_nsec %= 1000000000L;
  return pthread_mutex_clocklock(&by->turn, CLOCK_MONOTONIC, &until) == 0;
}

/* Reads and writes one block of each transfer from `first` on. */
static void serve_from(int first, struct round *round, unsigned char *blocks) {
  for (int i = first; i < round->count; i++)
    round->content[i] = serve(round->batch[i], blocks + (size_t)i * BLOCK_BYTES);
}

/* Adds to the round what has become ready since it began. Returns whether there was anything. */
static int join(struct receiver *by, struct round *round, unsigned char *blocks) {
  struct epoll_event events[BATCH];
  int first = round->count, room = by->batch - first;
  int count = room > 0 ? epoll_wait(by->epoll, events, room, 0) : 0;
  if (count <= 0) return 0;
  pthread_mutex_lock(&by->lock);
  claim(by, events, count, round);
  pthread_mutex_unlock(&by->lock);
  serve_from(first, round, blocks);
  return round->count > first;
}

/* One round. Returns 0, holding the lock, when there is nothing left to do. */
static int serve_round(struct receiver *by, unsigned char *blocks) {
  struct epoll_event events[BATCH];
  struct round round = {.count = 0, .going_count = 0, .ended_count = 0};
  struct pollfd ready = {.fd = by->epoll, .events = POLLIN};
  int sharing = BATCH > 1 && by == &hashing, turn = 0, count;
  if (sharing) {
    /* Waits without taking the event: everything that is ready when this thread's turn comes is taken together. */
    count = poll(&ready, 1, IDLE_MS);
    turn = count > 0 && take_turn(by);
    if (count > 0) count = epoll_wait(by->epoll, events, by->batch, 0) ?: -1;
  } else count = epoll_wait(by->epoll, events, by->batch, IDLE_MS);
  pthread_mutex_lock(&by->lock);
  if (count == 0 && by->runs == 0) return 0;
  claim(by, events, count, &round);
  pthread_mutex_unlock(&by->lock);
  sharing = sharing && round.count > 0;
  serve_from(0, &round, blocks);
  if (!sharing && by == &hashing) hash_all(round.batch, round.content, round.count, blocks);
  if (sharing) {
    /* While the other thread hashes, more uploads can join: several lanes cost as much as one. */
    while (pthread_mutex_trylock(&by->hash) != 0)
      if (!join(by, &round, blocks)) {
        pthread_mutex_lock(&by->hash);
        join(by, &round, blocks);
        break;
      }
  }
  rearm(by, &round, sharing);
  if (turn) pthread_mutex_unlock(&by->turn);
  if (sharing) {
    hash_all(round.batch, round.content, round.count, blocks);
    leave_hash(by, &round);
    pthread_mutex_unlock(&by->hash);
  }
  /* From here on the main thread may free them. */
  for (int i = 0; i < round.ended_count; i++) run_ended(round.ended[i]);
  return 1;
}

static size_t blocks_size(const struct receiver *by) { return (size_t)by->batch * BLOCK_BYTES; }

static void *thread_main(void *data) {
  struct receiver *by = data;
  unsigned char *blocks = MAP_FAILED;
  prctl(PR_SET_NAME, "receive");
  /* Without memory the thread tries again later. */
  while (blocks == MAP_FAILED) {
    blocks = mmap(NULL, blocks_size(by), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (blocks == MAP_FAILED) usleep(10000);
  }
  while (serve_round(by, blocks)) continue;
  by->threads--;
  pthread_mutex_unlock(&by->lock);
  munmap(blocks, blocks_size(by));
  return NULL;
}

/* With the lock: 0 or a negated errno. */
static int start_thread(struct receiver *by) {
  pthread_t thread;
  pthread_attr_t attributes;
  sigset_t all, before;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, 256 * 1024);
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = pthread_create(&thread, &attributes, thread_main, by);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
  if (error == 0) by->threads++;
  return -error;
}

/*
 * With the lock: starts threads until there is one per run, or the maximum. Returns 0 when at least one runs, else a
 * negated errno.
 */
static int have_threads(struct receiver *by) {
  if (by->epoll < 0) by->epoll = epoll_create1(EPOLL_CLOEXEC);
  if (by->epoll < 0) return -errno;
  if (by->threads > by->runs || by->threads == by->max_threads) return 0;
  int error = start_thread(by);
  return by->threads > 0 ? 0 : error;
}

/* With the lock: a free place in the table, or -1. */
static int64_t free_slot(struct receiver *by) {
  for (uint32_t i = 0; i < by->slot_count; i++)
    if (!by->slots[i]) return i;
  uint32_t more = by->slot_count ? by->slot_count * 2 : 16;
  struct transfer **slots = realloc(by->slots, more * sizeof *slots);
  if (!slots) return -1;
  memset(slots + by->slot_count, 0, (more - by->slot_count) * sizeof *slots);
  by->slots = slots;
  uint32_t slot = by->slot_count;
  by->slot_count = more;
  return slot;
}

/* With the lock: hands a transfer to the threads; 0 or a negated errno. */
static int start_run(struct transfer *self) {
  struct receiver *by = self->by;
  int64_t slot = free_slot(by);
  if (slot < 0) return -ENOMEM;
  int error = have_threads(by);
  if (error) return error;
  self->slot = (uint32_t)slot;
  self->generation = ++by->generation;
  self->outcome = GOING;
  self->cancelled = self->in_hash = 0;
  /* A socket is writable at once: the bytes ahead need not wait for those that are still to come. */
  if (arm(self, EPOLL_CTL_ADD, EPOLLIN | EPOLLOUT) < 0) {
    self->place = AT_REST;
    return -errno;
  }
  by->slots[slot] = self;
  by->runs++;
  return 0;
}

/* Ends a run. True when it has ended; false when it ends after the round that it is in. */
static int cancel_run(struct transfer *self) {
  pthread_mutex_lock(&self->by->lock);
  int now = self->place == WAITING && !self->in_hash;
  self->cancelled = 1;
  if (now) {
    retire(self);
    self->outcome = CANCELLED;
  }
  pthread_mutex_unlock(&self->by->lock);
  return now;
}

#endif

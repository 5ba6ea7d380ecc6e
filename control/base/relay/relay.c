/*
 * Bytes between two connections that nobody reads: moved from one to the other on one thread for all connections, so that a
 * gigabyte costs JavaScript nothing. Both ways until both have ended (join), or so many one way
 * (move). Also where a redirected connection wanted to go.
 *
 * Both ends may be hostile: they may be slow, silent or gone at any moment. What one side has not taken is kept for it, at most
 * `buffer_bytes` each way, `slow_bytes` where it was slow before; and `scarce_bytes` while `much_bytes` are kept for all links
 * together. Nothing else grows with what they send.
 */
#include "arguments.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include "flow.h"

#define SO_ORIGINAL_DST_ 80

enum { batch = 128 };

struct link {
  int64_t id;
  int fd[2]; /* client, server */
  struct flow flow[2];
  bool moves, over, again;
  bool more; /* of what was moved, the first side has sent something that follows it */
  struct link *next;       /* of all */
  struct link *next_again; /* of those that had more than their turn */
};

/* What JavaScript asks the thread to do. */
struct command {
  struct link *begin; /* or NULL: end the link `id` */
  int64_t id;
  struct command *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct command *commands;
static int epoll_fd = -1, wake_fd = -1;
static napi_threadsafe_function tell;

/* Only the thread touches these. */
static struct link *links, *agains;

static void finish(struct link *link) {
  char next;
  link->over = true;
  if (link->moves && link->flow[0].done) link->more = recv(link->fd[0], &next, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
  for (int side = 0; side < 2; side++) {
    drop_head(&link->flow[side]);
    /* Closing takes it out of the epoll set: no other descriptor of it is left by then, or it is taken out here. */
    epoll_ctl(epoll_fd, EPOLL_CTL_DEL, link->fd[side], NULL);
    close(link->fd[side]);
  }
}

static void turn(struct link *link) {
  if (link->over) return;
  bool more = false;
  for (int side = 0; side < 2; side++) {
    struct flow *flow = &link->flow[side];
    enum outcome outcome = pump(flow);
    if (outcome == failed) return finish(link);
    more |= outcome == has_more;
  }
  if (link->flow[0].done && link->flow[1].done) return finish(link);
  if (more && !link->again) {
    link->again = true;
    link->next_again = agains;
    agains = link;
  }
}

/*
 * Whether what is moved has nobody left who takes it. While nothing comes to be moved, no write says so; and node, which may have
 * stopped reading there, does not hear of it.
 */
static bool is_for_nobody(const struct link *link) {
  if (!link->moves) return false;
  struct pollfd to = {.fd = link->fd[1]};
  return poll(&to, 1, 0) == 1 && (to.revents & (POLLERR | POLLHUP));
}

static void begin(struct link *link) {
  link->next = links;
  links = link;
  for (int side = 0; side < 2; side++)
    if (link->flow[side].head) kept_bytes += link->flow[side].head_size;
  for (int side = 0; side < 2; side++) {
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.ptr = link};
    if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, link->fd[side], &event) < 0) return finish(link);
  }
  turn(link);
}

static void obey(void) {
  uint64_t count;
  (void)!read(wake_fd, &count, sizeof count);
  pthread_mutex_lock(&lock);
  struct command *command = commands;
  commands = NULL;
  pthread_mutex_unlock(&lock);
  /* Newest first as they lie there: turned around, an end never comes before its beginning. */
  struct command *in_order = NULL;
  for (struct command *next; command; command = next) {
    next = command->next;
    command->next = in_order;
    in_order = command;
  }
  for (struct command *next; in_order; in_order = next) {
    next = in_order->next;
    if (in_order->begin) begin(in_order->begin);
    else
      for (struct link *link = links; link; link = link->next)
        if (link->id == in_order->id && !link->over) finish(link);
    free(in_order);
  }
}

/* Links that are over are told and freed when nothing of the batch points to them any more. */
static void bury(void) {
  for (struct link **at = &links; *at;) {
    struct link *link = *at;
    if (!link->over || link->again) at = &link->next;
    else {
      *at = link->next;
      napi_call_threadsafe_function(tell, link, napi_tsfn_blocking);
    }
  }
}

static void *run(void *unused) {
  (void)unused;
  struct epoll_event events[batch];
  for (;;) {
    int count = epoll_wait(epoll_fd, events, batch, agains ? 0 : -1);
    bool ended = false;
    struct link *again = agains;
    agains = NULL;
    for (struct link *next; again; again = next) {
      next = again->next_again;
      again->again = false;
      turn(again);
      ended |= again->over;
    }
    for (int index = 0; index < count; index++) {
      struct link *link = events[index].data.ptr;
      if (!link) {
        obey();
        ended = true;
      } else {
        turn(link);
        if (!link->over && (events[index].events & (EPOLLERR | EPOLLHUP)) && is_for_nobody(link)) finish(link);
        ended |= link->over;
      }
    }
    if (ended) bury();
  }
  return NULL;
}

/* On JavaScript's thread: told(id, bytes of the first side that the second has got, bytes still to be taken, whether the first failed, whether more of it follows). */
static void told(napi_env env, napi_value callback, void *context, void *data) {
  (void)context;
  struct link *link = data;
  napi_value argv[5], global;
  if (env && napi_create_int64(env, link->id, &argv[0]) == napi_ok &&
      napi_create_int64(env, (int64_t)link->flow[0].bytes, &argv[1]) == napi_ok &&
      napi_create_int64(env, link->flow[0].left, &argv[2]) == napi_ok &&
      napi_get_boolean(env, link->flow[0].source_gone, &argv[3]) == napi_ok &&
      napi_get_boolean(env, link->more, &argv[4]) == napi_ok &&
      napi_get_global(env, &global) == napi_ok)
    napi_call_function(env, global, callback, 5, argv, NULL);
  free(link);
}

static void post(struct command *command) {
  pthread_mutex_lock(&lock);
  command->next = commands;
  commands = command;
  pthread_mutex_unlock(&lock);
  uint64_t one = 1;
  (void)!write(wake_fd, &one, sizeof one);
}

/* start(told): once. Returns 0 or a negated errno. */
static napi_value start(napi_env env, napi_callback_info info) {
  ARGUMENTS(1);
  napi_value name;
  if (epoll_fd >= 0) return number(env, -EALREADY);
  epoll_fd = epoll_create1(EPOLL_CLOEXEC);
  wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (epoll_fd < 0 || wake_fd < 0) return number(env, -errno);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
  if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, wake_fd, &event) < 0) return number(env, -errno);
  napi_create_string_utf8(env, "relay", NAPI_AUTO_LENGTH, &name);
  if (napi_create_threadsafe_function(env, argv[0], NULL, name, 0, 1, NULL, NULL, NULL, told, &tell) != napi_ok)
    return number(env, -EINVAL);
  /* It does not keep the process alive. */
  napi_unref_threadsafe_function(env, tell);
  pthread_t thread;
  int failure = pthread_create(&thread, NULL, run, NULL);
  if (failure == 0) pthread_detach(thread);
  return number(env, -failure);
}

static bool copy_head(napi_env env, napi_value value, struct flow *flow) {
  void *data;
  size_t size;
  if (napi_get_buffer_info(env, value, &data, &size) != napi_ok) return false;
  if (size == 0) return true;
  flow->head = malloc(size);
  if (!flow->head) return false;
  memcpy(flow->head, data, size);
  flow->head_size = size;
  return true;
}

static int duplicate(int fd) {
  int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3), on = 1;
  /* A peer that is gone without a word is noticed in the end. */
  if (copy >= 0) setsockopt(copy, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  return copy;
}

static void discard(struct link *link) {
  for (int side = 0; link && side < 2; side++) {
    if (link->fd[side] >= 0) close(link->fd[side]);
    free(link->flow[side].head);
  }
  free(link);
}

/* A link between duplicates of both, or NULL with errno. */
static struct link *new_link(int64_t id, int one, int other) {
  struct link *link = calloc(1, sizeof *link);
  if (!link) return NULL;
  link->id = id;
  for (int side = 0; side < 2; side++) {
    link->flow[side].left = -1;
    link->fd[side] = -1;
  }
  if ((link->fd[0] = duplicate(one)) < 0 || (link->fd[1] = duplicate(other)) < 0) {
    int error = errno;
    discard(link);
    errno = error;
    return NULL;
  }
  for (int side = 0; side < 2; side++) {
    link->flow[side].from = link->fd[side];
    link->flow[side].to = link->fd[1 - side];
  }
  return link;
}

/* Gives the link to the thread: 0 or a negated errno, and the link is gone. */
static int begin_soon(struct link *link) {
  struct command *command = calloc(1, sizeof *command);
  if (!command) {
    discard(link);
    return -ENOMEM;
  }
  command->begin = link;
  post(command);
  return 0;
}

/* join(id, client fd, server fd, bytes read from the client, bytes read from the server): 0 or a negated errno. */
static napi_value join(napi_env env, napi_callback_info info) {
  ARGUMENTS(5);
  int64_t id, fds[2];
  if (argc < 5 || napi_get_value_int64(env, argv[0], &id) != napi_ok ||
      napi_get_value_int64(env, argv[1], &fds[0]) != napi_ok || napi_get_value_int64(env, argv[2], &fds[1]) != napi_ok)
    return number(env, -EINVAL);
  struct link *link = new_link(id, (int)fds[0], (int)fds[1]);
  if (!link) return number(env, -errno);
  if (!copy_head(env, argv[3], &link->flow[0]) || !copy_head(env, argv[4], &link->flow[1])) {
    discard(link);
    return number(env, -ENOMEM);
  }
  return number(env, begin_soon(link));
}

/* move(id, from fd, to fd, bytes): so many, one way; what follows them stays where it is. 0 or a negated errno. */
static napi_value move(napi_env env, napi_callback_info info) {
  ARGUMENTS(4);
  int64_t of[4];
  for (int index = 0; index < 4; index++)
    if (argc < 4 || napi_get_value_int64(env, argv[index], &of[index]) != napi_ok) return number(env, -EINVAL);
  if (of[3] <= 0) return number(env, -EINVAL);
  struct link *link = new_link(of[0], (int)of[1], (int)of[2]);
  if (!link) return number(env, -errno);
  link->flow[0].left = of[3];
  link->flow[1].done = true;
  link->moves = true;
  return number(env, begin_soon(link));
}

/* end(id): the link ends at once, if it has not by itself. */
static napi_value end(napi_env env, napi_callback_info info) {
  ARGUMENTS(1);
  int64_t id;
  struct command *command = calloc(1, sizeof *command);
  if (argc < 1 || !command || napi_get_value_int64(env, argv[0], &id) != napi_ok) {
    free(command);
    return number(env, -EINVAL);
  }
  command->id = id;
  post(command);
  return number(env, 0);
}

/* originalDestination(fd): [address as a number, port], or undefined for a connection that was not redirected. */
static napi_value original_destination(napi_env env, napi_callback_info info) {
  ARGUMENTS(1);
  napi_value made;
  int64_t fd = -1;
  struct sockaddr_in to;
  socklen_t size = sizeof to;
  if (napi_get_value_int64(env, argv[0], &fd) != napi_ok ||
      getsockopt((int)fd, SOL_IP, SO_ORIGINAL_DST_, &to, &size) < 0 || to.sin_family != AF_INET)
    return NULL;
  napi_create_array_with_length(env, 2, &made);
  napi_set_element(env, made, 0, number(env, ntohl(to.sin_addr.s_addr)));
  napi_set_element(env, made, 1, number(env, ntohs(to.sin_port)));
  return made;
}

/* isQuiet(fd): nothing has come that was not read, and the other side has not ended: what it says next is said later. */
static napi_value is_quiet(napi_env env, napi_callback_info info) {
  ARGUMENTS(1);
  napi_value made;
  int64_t fd = -1;
  char next;
  bool quiet = napi_get_value_int64(env, argv[0], &fd) == napi_ok &&
               recv((int)fd, &next, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  napi_get_boolean(env, quiet, &made);
  return made;
}

NAPI_MODULE_INIT() {
  const struct {
    const char *name;
    napi_callback call;
  } functions[] = {{"start", start}, {"join", join}, {"move", move}, {"end", end}, {"originalDestination", original_destination}, {"isQuiet", is_quiet}};
  for (size_t index = 0; index < sizeof functions / sizeof *functions; index++) {
    napi_value made;
    napi_create_function(env, functions[index].name, NAPI_AUTO_LENGTH, functions[index].call, NULL, &made);
    napi_set_named_property(env, exports, functions[index].name, made);
  }
  return exports;
}

/*
 * Sends a part of a file to a socket without copying it through this process (sendfile(2)), on a thread for each: it waits for
 * slow clients and slow disks, and libuv's pool must not. It works on a duplicate of the socket's descriptor, which stays non-blocking.
 */
#include "arguments.h"
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

/* Further ones are refused, and go another way: a thousand clients that do not read are not a thousand threads. */
enum { most_threads = 16, turn_bytes = 4 * 1024 * 1024, stack_bytes = 256 * 1024 };

struct sending {
  int socket, fd;
  off_t at;
  int64_t left, sent;
  int error;
  napi_deferred deferred;
  napi_ref self; /* held while a thread works on it */
};

static napi_threadsafe_function completions;
/* Used by the main thread only. */
static int running;

/* Until all is sent, or what is returned says why not: an errno, ENODATA where the file ends before. */
static int send_all(struct sending *self) {
  while (self->left > 0) {
    size_t turn = self->left < turn_bytes ? (size_t)self->left : turn_bytes;
    ssize_t count = sendfile(self->socket, self->fd, &self->at, turn);
    if (count > 0) {
      self->left -= count;
      self->sent += count;
    } else if (count == 0) return ENODATA;
    else if (errno == EAGAIN) {
      struct pollfd room = {.fd = self->socket, .events = POLLOUT};
      if (poll(&room, 1, -1) < 0 && errno != EINTR) return errno;
    } else if (errno != EINTR) return errno;
  }
  return 0;
}

static void *work(void *data) {
  struct sending *self = data;
  self->error = send_all(self);
  napi_call_threadsafe_function(completions, self, napi_tsfn_nonblocking);
  return NULL;
}

/* On the main thread: settles the promise. */
static void completed(napi_env env, napi_value callback, void *context, void *data) {
  (void)callback;
  (void)context;
  struct sending *self = data;
  napi_value answer;
  napi_ref reference = self->self;
  if (!env) return;
  if (--running == 0) napi_unref_threadsafe_function(env, completions);
  close(self->socket);
  self->socket = -1;
  napi_create_object(env, &answer);
  napi_set_named_property(env, answer, "sent", number(env, self->sent));
  napi_set_named_property(env, answer, "error", number(env, self->error));
  napi_resolve_deferred(env, self->deferred, answer);
  napi_delete_reference(env, reference);
}

static int start_thread(struct sending *self) {
  pthread_attr_t attributes;
  pthread_t thread;
  sigset_t all, before;
  int error = pthread_attr_init(&attributes);
  if (error) return error;
  pthread_attr_setstacksize(&attributes, stack_bytes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  /* Signals are for the main thread. */
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  error = pthread_create(&thread, &attributes, work, self);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
  return error;
}

static void collected(napi_env env, void *data, void *hint) {
  (void)env;
  (void)hint;
  free(data);
}

static int begin(struct sending *self) {
  if (running >= most_threads) return EAGAIN;
  int error = start_thread(self);
  if (error == 0) running++;
  return error;
}

/*
 * send_file(socket, fd, from, count) → {sending, ended}, or a negated errno: what `cancel` takes, and the promise of {sent, error}.
 * The file must stay open until that is settled.
 */
static napi_value send_file(napi_env env, napi_callback_info info) {
  ARGUMENTS(4);
  napi_value out, sending, ended;
  struct sending *self = calloc(1, sizeof *self);
  errno = ENOMEM;
  if (!self) return result(env, -1);
  self->fd = (int)integer(env, argv[1], -1);
  self->at = integer(env, argv[2], 0);
  self->left = integer(env, argv[3], 0);
  self->socket = fcntl((int)integer(env, argv[0], -1), F_DUPFD_CLOEXEC, 3);
  int error = self->socket < 0 ? errno : begin(self);
  if (error) {
    if (self->socket >= 0) close(self->socket);
    free(self);
    return number(env, -error);
  }
  /* It may have ended by now; that is told on this thread, so not before this returns. */
  if (running == 1) napi_ref_threadsafe_function(env, completions);
  napi_create_promise(env, &self->deferred, &ended);
  napi_create_external(env, self, collected, NULL, &sending);
  napi_create_reference(env, sending, 1, &self->self);
  napi_create_object(env, &out);
  napi_set_named_property(env, out, "sending", sending);
  napi_set_named_property(env, out, "ended", ended);
  return out;
}

/* cancel(sending): ends it soon, and the connection with it. */
static napi_value cancel(napi_env env, napi_callback_info info) {
  ARGUMENTS(1);
  void *data = NULL;
  if (napi_get_value_external(env, argv[0], &data) != napi_ok || !data) return NULL;
  const struct sending *self = data;
  if (self->socket >= 0) shutdown(self->socket, SHUT_RDWR);
  return NULL;
}

NAPI_MODULE_INIT() {
  napi_value name;
  napi_create_string_utf8(env, "send", NAPI_AUTO_LENGTH, &name);
  /* Threads may use it for as long as the process lives, so it is never released. */
  napi_create_threadsafe_function(env, NULL, NULL, name, 0, 1, NULL, NULL, NULL, completed, &completions);
  napi_unref_threadsafe_function(env, completions);
  FUNCTION(send_file);
  FUNCTION(cancel);
  return exports;
}

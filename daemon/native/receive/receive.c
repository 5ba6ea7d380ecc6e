/*
 * Writes the rest of a request's body from its socket into a file (receiver.h). It works on a duplicate of the socket's
 * descriptor; the caller must have stopped reading from it.
 */
#include "receiver.h"
#include <fcntl.h>

static napi_threadsafe_function completions;
static int unfinished;

static void dispose(struct transfer *self) {
  if (self->socket >= 0) close(self->socket);
  free(self->delimiter);
  free(self->ahead);
  free(self->chunks);
  free(self);
}

/* A run holds a reference, so this happens only after the last run. */
static void collected(napi_env env, void *data, void *hint) {
  (void)env;
  (void)hint;
  dispose(data);
}

static struct transfer *transfer_of(napi_env env, napi_value value) {
  void *self = NULL;
  return napi_get_value_external(env, value, &self) == napi_ok ? self : NULL;
}

static int copy_of(napi_env env, napi_value value, unsigned char **bytes, size_t *length) {
  void *data;
  *length = 0;
  if (napi_get_buffer_info(env, value, &data, length) != napi_ok || *length == 0) return 0;
  *bytes = malloc(*length);
  if (*bytes) memcpy(*bytes, data, *length);
  return *bytes ? 0 : -1;
}

/* With a chunk's rest below zero the body has a length. */
static int chunks_of(struct transfer *self, int64_t rest, int needs_crlf) {
  if (rest < 0) return 0;
  self->chunks = calloc(1, sizeof *self->chunks);
  if (!self->chunks) return -1;
  self->chunks->left = rest;
  self->chunks->needs_crlf = needs_crlf;
  return 0;
}

/*
 * create(socket, left, ahead, delimiter, hashing, chunk, needsCrlf) → a transfer, or a negated errno. Takes everything that a
 * run needs, so that failures happen before the first byte is read. `chunk` is the rest of the current one, -1 without any.
 */
static napi_value create(napi_env env, napi_callback_info info) {
  ARGUMENTS(7);
  napi_value out;
  struct transfer *self = calloc(1, sizeof *self);
  errno = ENOMEM;
  if (!self) return result(env, -1);
  self->socket = -1;
  self->by = truthy(env, argv[4]) ? &hashing : &plain;
  if (copy_of(env, argv[2], &self->ahead, &self->ahead_length) == 0 &&
      copy_of(env, argv[3], &self->delimiter, &self->delimiter_length) == 0 &&
      chunks_of(self, integer(env, argv[5], -1), truthy(env, argv[6])) == 0)
    self->socket = fcntl((int)integer(env, argv[0], -1), F_DUPFD_CLOEXEC, 3);
  int error = errno;
  if (self->socket >= 0) {
    pthread_mutex_lock(&self->by->lock);
    int started = have_threads(self->by);
    pthread_mutex_unlock(&self->by->lock);
    if (started < 0) {
      close(self->socket);
      self->socket = -1;
      error = -started;
    }
  }
  self->ahead_size = self->ahead_length;
  self->left = integer(env, argv[1], 0);
  md5_init(&self->md5);
  if (self->socket < 0) {
    dispose(self);
    errno = error;
    return result(env, -1);
  }
  napi_create_external(env, self, collected, NULL, &out);
  return out;
}

static void set_number(napi_env env, napi_value object, const char *name, int64_t value) {
  napi_set_named_property(env, object, name, number(env, value));
}

/* On the main thread: settles the promise of a run. */
static void settle(napi_env env, struct transfer *self) {
  napi_value answer;
  napi_ref reference = self->self;
  napi_create_object(env, &answer);
  set_number(env, answer, "outcome", self->outcome);
  set_number(env, answer, "error", self->error);
  set_number(env, answer, "written", self->written);
  if (--unfinished == 0) napi_unref_threadsafe_function(env, completions);
  self->self = NULL;
  napi_resolve_deferred(env, self->deferred, answer);
  napi_delete_reference(env, reference);
}

static void completed(napi_env env, napi_value callback, void *context, void *data) {
  (void)callback;
  (void)context;
  if (env) settle(env, data);
}

/* On a thread. */
static void tell(struct transfer *self) { napi_call_threadsafe_function(completions, self, napi_tsfn_nonblocking); }

/*
 * run(transfer, fd, position, room) → a promise of {outcome, error, written}, or a negated errno. Writes at most `room`
 * bytes. The descriptor must stay open until then. One run at a time; the next continues where the one before ended.
 */
static napi_value run(napi_env env, napi_callback_info info) {
  ARGUMENTS(4);
  napi_value promise;
  struct transfer *self = transfer_of(env, argv[0]);
  errno = EINVAL;
  if (!self || self->self || self->socket < 0) return result(env, -1);
  self->fd = (int)integer(env, argv[1], -1);
  self->position = integer(env, argv[2], 0);
  self->room = integer(env, argv[3], INT64_MAX);
  self->written = 0;
  self->error = 0;
  pthread_mutex_lock(&self->by->lock);
  int error = start_run(self);
  if (error == 0) {
    /* No thread can settle it before this: they need the lock. */
    napi_create_promise(env, &self->deferred, &promise);
    napi_create_reference(env, argv[0], 1, &self->self);
    if (unfinished++ == 0) napi_ref_threadsafe_function(env, completions);
  }
  pthread_mutex_unlock(&self->by->lock);
  return error ? number(env, error) : promise;
}

/* cancel(transfer): makes its run, if any, end soon. */
static napi_value cancel(napi_env env, napi_callback_info info) {
  ARGUMENTS(1);
  struct transfer *self = transfer_of(env, argv[0]);
  if (self && self->self && cancel_run(self)) settle(env, self);
  return NULL;
}

static napi_value hex_of(napi_env env, const unsigned char *bytes, size_t length) {
  char hex[2 * 16];
  napi_value text;
  for (size_t i = 0; i < length; i++) {
    hex[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
    hex[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
  }
  napi_create_string_utf8(env, hex, 2 * length, &text);
  return text;
}

static void set_bytes(napi_env env, napi_value object, const char *name, const unsigned char *bytes, size_t length) {
  napi_value buffer;
  napi_create_buffer_copy(env, length, bytes, NULL, &buffer);
  napi_set_named_property(env, object, name, buffer);
}

/*
 * finish(transfer) → {left, ahead}, or a negated errno: bytes still in the socket, and those that were read from it and
 * not written. In chunks also {chunk, needsCrlf, raw}: the rest of the current one, and what is not decoded. Closes the socket's
 * duplicate; call it once, after the last run.
 */
static napi_value finish(napi_env env, napi_callback_info info) {
  ARGUMENTS(1);
  napi_value answer;
  struct transfer *self = transfer_of(env, argv[0]);
  errno = EINVAL;
  if (!self || self->self || self->socket < 0) return result(env, -1);
  close(self->socket);
  self->socket = -1;
  napi_create_object(env, &answer);
  set_number(env, answer, "left", self->left);
  set_bytes(env, answer, "ahead", self->ahead ? self->ahead + self->ahead_at : NULL, self->ahead_length - self->ahead_at);
  const struct chunks *chunks = self->chunks;
  if (!chunks) return answer;
  set_number(env, answer, "chunk", chunks->left);
  set_number(env, answer, "needsCrlf", chunks->needs_crlf);
  set_bytes(env, answer, "raw", chunks->raw + chunks->raw_at, chunks->raw_length - chunks->raw_at);
  return answer;
}

/* written_digest(transfer) → 32 hex digits: the MD5 of what was written. Not during a run. */
static napi_value written_digest(napi_env env, napi_callback_info info) {
  ARGUMENTS(1);
  unsigned char bytes[16] = {0};
  struct transfer *self = transfer_of(env, argv[0]);
  if (self && !self->self) {
    struct md5 copy = self->md5;
    md5_final(&copy, bytes);
  }
  return hex_of(env, bytes, sizeof bytes);
}

static void free_hash(napi_env env, void *data, void *hint) {
  (void)env;
  (void)hint;
  free(data);
}

static struct md5 *hash_of(napi_env env, napi_value value) {
  void *self = NULL;
  return napi_get_value_external(env, value, &self) == napi_ok ? self : NULL;
}

/* hash() → a stream to be hashed on this thread. */
static napi_value hash(napi_env env, napi_callback_info info) {
  (void)info;
  napi_value out = NULL;
  struct md5 *self = malloc(sizeof *self);
  if (!self) {
    napi_throw_error(env, NULL, "no memory");
    return NULL;
  }
  md5_init(self);
  napi_create_external(env, self, free_hash, NULL, &out);
  return out;
}

/* update(hash, buffer) → false for wrong arguments. */
static napi_value update(napi_env env, napi_callback_info info) {
  ARGUMENTS(2);
  void *data = NULL;
  size_t length = 0;
  struct md5 *self = hash_of(env, argv[0]);
  napi_value answer;
  int good = self && napi_get_buffer_info(env, argv[1], &data, &length) == napi_ok;
  const unsigned char *bytes = data;
  if (good) md5_update(&self, &bytes, &length, 1);
  napi_get_boolean(env, good, &answer);
  return answer;
}

/* digest(hash) → 32 hex digits. The hash must not be used afterwards. */
static napi_value digest(napi_env env, napi_callback_info info) {
  ARGUMENTS(1);
  unsigned char bytes[16] = {0};
  struct md5 *self = hash_of(env, argv[0]);
  if (self) md5_final(self, bytes);
  return hex_of(env, bytes, sizeof bytes);
}

NAPI_MODULE_INIT() {
  napi_value name;
  napi_create_string_utf8(env, "receive", NAPI_AUTO_LENGTH, &name);
  /* Threads may use it for as long as the process lives, so it is never released. */
  napi_create_threadsafe_function(env, NULL, NULL, name, 0, 1, NULL, NULL, NULL, completed, &completions);
  napi_unref_threadsafe_function(env, completions);
  run_ended = tell;
  FUNCTION(create);
  FUNCTION(run);
  FUNCTION(cancel);
  FUNCTION(finish);
  FUNCTION(written_digest);
  FUNCTION(hash);
  FUNCTION(update);
  FUNCTION(digest);
  return exports;
}

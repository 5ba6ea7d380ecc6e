/*
 * inotify on the event loop, with the kernel's own records. node:fs.watch uses an instance per directory, does not say
 * what happened, and misses what happens while it starts.
 */
#include "as_user.h"
#include <sys/inotify.h>
#include <uv.h>

#define BATCH_BYTES (64 * 1024)

struct instance {
  uv_poll_t poll;
  int fd;
  napi_env env;
  napi_ref callback;
  napi_async_context context;
};

/* One batch of records per call; an empty one says that the queue is empty. */
static void deliver(struct instance *self, const char *bytes, size_t length) {
  napi_handle_scope scope;
  napi_value callback, global, buffer;
  napi_open_handle_scope(self->env, &scope);
  napi_get_reference_value(self->env, self->callback, &callback);
  napi_get_global(self->env, &global);
  napi_create_buffer_copy(self->env, length, bytes, NULL, &buffer);
  napi_status called = napi_make_callback(self->env, self->context, global, callback, 1, &buffer, NULL);
  if (called == napi_pending_exception) {
    napi_value error;
    napi_get_and_clear_last_exception(self->env, &error);
    napi_fatal_exception(self->env, error);
  }
  napi_close_handle_scope(self->env, scope);
}

static void readable(uv_poll_t *poll, int status, int events) {
  struct instance *self = poll->data;
  static char batch[BATCH_BYTES] __attribute__((aligned(__alignof__(struct inotify_event))));
  (void)status;
  (void)events;
  /* Bounded, so that many events do not block the event loop; poll reports the rest again. */
  for (int round = 0; round < 8 && self->fd >= 0; round++) {
    ssize_t length = read(self->fd, batch, sizeof batch);
    if (length < 0 && errno == EINTR) continue;
    deliver(self, batch, length > 0 ? (size_t)length : 0);
    if (length <= 0) return;
  }
}

static void closed(uv_handle_t *handle) { free(handle->data); }

/* open(callback(batch)) → an instance, or a negated errno. It does not keep the process alive. */
static napi_value open_instance(napi_env env, napi_callback_info info) {
  ARGUMENTS(1);
  uv_loop_t *loop;
  napi_value out, name;
  struct instance *self = calloc(1, sizeof *self);
  errno = ENOMEM;
  if (!self) return result(env, -1);
  self->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (self->fd < 0) {
    free(self);
    return result(env, -1);
  }
  self->env = env;
  napi_get_uv_event_loop(env, &loop);
  napi_create_reference(env, argv[0], 1, &self->callback);
  napi_create_string_utf8(env, "inotify", NAPI_AUTO_LENGTH, &name);
  napi_async_init(env, NULL, name, &self->context);
  uv_poll_init(loop, &self->poll, self->fd);
  self->poll.data = self;
  uv_unref((uv_handle_t *)&self->poll);
  uv_poll_start(&self->poll, UV_READABLE, readable);
  napi_create_external(env, self, NULL, NULL, &out);
  return out;
}

static struct instance *instance_of(napi_env env, napi_value value) {
  void *self = NULL;
  return napi_get_value_external(env, value, &self) == napi_ok ? self : NULL;
}

/* add(instance, path, mask, uid, gid) → watch descriptor; the user must be allowed to read the directory. */
static napi_value add(napi_env env, napi_callback_info info) {
  ARGUMENTS(5);
  struct instance *self = instance_of(env, argv[0]);
  struct user user = {integer(env, argv[3], -1), integer(env, argv[4], -1)};
  struct before before = {.count = -1};
  char *path = text(env, argv[1]);
  int watch = -1;
  errno = EINVAL;
  if (self && path) {
    if (enter(&user, &before) == 0) watch = inotify_add_watch(self->fd, path, (uint32_t)integer(env, argv[2], 0));
    leave(&user, &before);
  }
  int error = errno;
  free(path);
  errno = error;
  return result(env, watch);
}

static napi_value remove_watch(napi_env env, napi_callback_info info) {
  ARGUMENTS(2);
  struct instance *self = instance_of(env, argv[0]);
  return result(env, self ? inotify_rm_watch(self->fd, (int)integer(env, argv[1], -1)) : -1);
}

/* close(instance): call it once; the instance must not be used afterwards. */
static napi_value close_instance(napi_env env, napi_callback_info info) {
  ARGUMENTS(1);
  struct instance *self = instance_of(env, argv[0]);
  uv_poll_stop(&self->poll);
  close(self->fd);
  self->fd = -1;
  napi_delete_reference(env, self->callback);
  napi_async_destroy(env, self->context);
  uv_close((uv_handle_t *)&self->poll, closed);
  return NULL;
}

NAPI_MODULE_INIT() {
  FUNCTION(open_instance);
  FUNCTION(add);
  FUNCTION(remove_watch);
  FUNCTION(close_instance);
  return exports;
}

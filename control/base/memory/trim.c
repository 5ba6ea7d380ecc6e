/* trim(): gives the free pages of the C library's heap back to the system. Resolves, from a thread, with nothing. */
#define NAPI_VERSION 8
#include <malloc.h>
#include <node_api.h>
#include <stdlib.h>

struct work {
  napi_deferred deferred;
  napi_async_work work;
};

static void execute(napi_env env, void *given) {
  (void)env;
  (void)given;
  malloc_trim(0);
}

static void complete(napi_env env, napi_status status, void *given) {
  struct work *work = given;
  napi_value nothing;
  (void)status;
  napi_get_undefined(env, &nothing);
  napi_resolve_deferred(env, work->deferred, nothing);
  napi_delete_async_work(env, work->work);
  free(work);
}

static napi_value trim(napi_env env, napi_callback_info info) {
  (void)info;
  napi_value promise, name;
  struct work *work = malloc(sizeof *work);
  if (!work) {
    napi_throw_error(env, NULL, "trim: no memory");
    return NULL;
  }
  napi_create_promise(env, &work->deferred, &promise);
  napi_create_string_utf8(env, "trim", NAPI_AUTO_LENGTH, &name);
  napi_create_async_work(env, NULL, name, execute, complete, work, &work->work);
  napi_queue_async_work(env, work->work);
  return promise;
}

NAPI_MODULE_INIT() {
  napi_value made;
  napi_create_function(env, "trim", NAPI_AUTO_LENGTH, trim, NULL, &made);
  napi_set_named_property(env, exports, "trim", made);
  return exports;
}

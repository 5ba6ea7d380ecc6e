/*
 * A visit of the namespaces of a machine, from an addon: on a thread of its own that ends with it, for what a thread has once entered it cannot
 * leave; off JavaScript's, which goes on meanwhile. It answers a promise of undefined, or of [step, errno].
 */
#ifndef HUTCH_VISIT_H
#define HUTCH_VISIT_H

#include "arguments.h"
#include <pthread.h>

/* The first member of what an addon knows of its visit. */
struct visit {
  /* What failed, and why; NULL while nothing has. */
  const char *step;
  int error;
  /* Run on the thread. */
  void *(*inside)(void *visit);
  /* Frees all that the visit has, itself included. */
  void (*discard)(struct visit *visit);
  napi_deferred deferred;
  napi_async_work work;
};

static void failed(struct visit *visit, const char *step) {
  visit->step = step;
  visit->error = errno;
}

static void execute_visit(napi_env env, void *given) {
  (void)env;
  struct visit *visit = given;
  pthread_t thread;
  errno = pthread_create(&thread, NULL, visit->inside, visit);
  if (errno != 0) failed(visit, "thread");
  else pthread_join(thread, NULL);
}

static void complete_visit(napi_env env, napi_status status, void *given) {
  struct visit *visit = given;
  napi_value answer, part;
  if (status != napi_ok && !visit->step) visit->step = "work", visit->error = ECANCELED;
  napi_get_undefined(env, &answer);
  if (visit->step) {
    napi_create_array_with_length(env, 2, &answer);
    napi_create_string_utf8(env, visit->step, NAPI_AUTO_LENGTH, &part);
    napi_set_element(env, answer, 0, part);
    napi_create_int32(env, visit->error, &part);
    napi_set_element(env, answer, 1, part);
  }
  napi_resolve_deferred(env, visit->deferred, answer);
  napi_delete_async_work(env, visit->work);
  visit->discard(visit);
}

/* Begins it, once its arguments are read; its promise. */
static napi_value begin_visit(napi_env env, struct visit *visit, const char *what) {
  napi_value promise, name;
  napi_create_promise(env, &visit->deferred, &promise);
  napi_create_string_utf8(env, what, NAPI_AUTO_LENGTH, &name);
  napi_create_async_work(env, NULL, name, execute_visit, complete_visit, visit, &visit->work);
  napi_queue_async_work(env, visit->work);
  return promise;
}

#endif

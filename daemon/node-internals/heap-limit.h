/*
 * V8's heap limit, which Node-API does not offer. The functions are found by the names that they have in Node's binary.
 * The symbols are weak: where a V8 has other names, V8 keeps its own limit, half of the machine's memory.
 */
#ifndef HUTCH_HEAP_LIMIT_H
#define HUTCH_HEAP_LIMIT_H

#include "arguments.h"

typedef size_t near_limit(void *data, size_t current, size_t initial);
extern void *v8_isolate(void) __asm__("_ZN2v87Isolate10GetCurrentEv") __attribute__((weak));
extern void v8_add(void *isolate, near_limit *callback, void *data)
    __asm__("_ZN2v87Isolate24AddNearHeapLimitCallbackEPFmPvmmES1_") __attribute__((weak));
extern void v8_remove(void *isolate, near_limit *callback, size_t limit)
    __asm__("_ZN2v87Isolate27RemoveNearHeapLimitCallbackEPFmPvmmEm") __attribute__((weak));

/* V8 has collected all it can and needs more: the soft limit grows, up to V8's own limit. */
static size_t give_way(void *data, size_t current, size_t initial) {
  (void)data;
  size_t more = current + current / 4;
  return more < initial ? more : current < initial ? initial : current;
}

/* limit(bytes) → whether V8 now collects everything before its heap grows beyond so many bytes. */
static napi_value limit(napi_env env, napi_callback_info info) {
  ARGUMENTS(1);
  int64_t bytes = integer(env, argv[0], 0);
  napi_value answer;
  int can = v8_isolate && v8_add && v8_remove && bytes > 0;
  if (can) {
    /* V8 sets a lower limit when a callback is taken away. */
    v8_add(v8_isolate(), give_way, NULL);
    v8_remove(v8_isolate(), give_way, (size_t)bytes);
    v8_add(v8_isolate(), give_way, NULL);
  }
  napi_get_boolean(env, can, &answer);
  return answer;
}

#endif

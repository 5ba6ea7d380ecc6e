/* The C library's share of the daemon's memory. Loading this keeps it to one arena: the default is one a thread. */
#include "arguments.h"
#include <malloc.h>

/* trim(): gives the free pages of the heap back to the system. */
static napi_value trim(napi_env env, napi_callback_info info) {
  (void)info;
  return number(env, malloc_trim(0));
}

NAPI_MODULE_INIT() {
  mallopt(M_ARENA_MAX, 1);
  FUNCTION(trim);
  return exports;
}

/*
 * What every addon needs: reading arguments and returning numbers. Functions follow the kernel's convention: a
 * result below zero is a negated errno, and the TypeScript side turns it into an Error with a code.
 */
#ifndef HUTCH_ARGUMENTS_H
#define HUTCH_ARGUMENTS_H

#define NAPI_VERSION 8
#define _GNU_SOURCE
#include <errno.h>
#include <node_api.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ARGUMENTS(count)                                                                                               \
  size_t argc = (count);                                                                                               \
  napi_value argv[(count) > 0 ? (count) : 1];                                                                          \
  napi_get_cb_info(env, info, &argc, argv, NULL, NULL)

#define FUNCTION(name)                                                                                                 \
  do {                                                                                                                 \
    napi_value made_;                                                                                                  \
    napi_create_function(env, #name, NAPI_AUTO_LENGTH, name, NULL, &made_);                                            \
    napi_set_named_property(env, exports, #name, made_);                                                               \
  } while (0)

static inline napi_value number(napi_env env, int64_t value) {
  napi_value made;
  napi_create_int64(env, value, &made);
  return made;
}

/* The result of a system call wrapper: its value, or the negated errno. */
static inline napi_value result(napi_env env, int64_t value) { return number(env, value < 0 ? -errno : value); }

static inline int64_t integer(napi_env env, napi_value value, int64_t fallback) {
  int64_t out;
  return napi_get_value_int64(env, value, &out) == napi_ok ? out : fallback;
}

static inline int truthy(napi_env env, napi_value value) {
  bool out;
  return napi_get_value_bool(env, value, &out) == napi_ok && out;
}

/* A copy the caller frees; NULL when it is not a string or holds a NUL, which no system call can carry. */
static inline __attribute__((unused)) char *text(napi_env env, napi_value value) {
  size_t length;
  if (napi_get_value_string_utf8(env, value, NULL, 0, &length) != napi_ok) return NULL;
  char *out = malloc(length + 1);
  if (!out) return NULL;
  napi_get_value_string_utf8(env, value, out, length + 1, &length);
  if (strlen(out) == length) return out;
  free(out);
  return NULL;
}

static inline napi_value property(napi_env env, napi_value object, const char *name) {
  napi_value out;
  if (napi_get_named_property(env, object, name, &out) != napi_ok) napi_get_undefined(env, &out);
  return out;
}

#endif

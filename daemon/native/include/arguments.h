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
#include <uchar.h>

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

/*
 * Text as bytes: UTF-8, and a lone surrogate U+DC80..U+DCFF as the byte it stands for (shared/utf8.ts), since names of
 * files need not be UTF-8. Room for three bytes a unit is enough. Returns how many bytes were written.
 */
static inline size_t bytes_of(const char16_t *units, size_t count, char *out) {
  char *at = out;
  for (size_t index = 0; index < count; index++) {
    uint32_t code = units[index];
    int low = index + 1 < count && (units[index + 1] & 0xfc00) == 0xdc00;
    if ((code & 0xfc00) == 0xd800 && low) code = 0x10000 + ((code & 0x3ff) << 10) + (units[++index] & 0x3ff);
    else if (code >= 0xdc80 && code <= 0xdcff) {
      *at++ = (char)(code & 0xff);
      continue;
    } else if ((code & 0xf800) == 0xd800) code = 0xfffd;
    if (code < 0x80) *at++ = (char)code;
    else if (code < 0x800) *at++ = (char)(0xc0 | code >> 6);
    else if (code < 0x10000) *at++ = (char)(0xe0 | code >> 12);
    else *at++ = (char)(0xf0 | code >> 18);
    if (code >= 0x10000) *at++ = (char)(0x80 | (code >> 12 & 0x3f));
    if (code >= 0x800) *at++ = (char)(0x80 | (code >> 6 & 0x3f));
    if (code >= 0x80) *at++ = (char)(0x80 | (code & 0x3f));
  }
  return (size_t)(at - out);
}

/* A copy that the caller frees, of `size` bytes and a NUL behind them; NULL when the value is no string. */
static inline __attribute__((unused)) char *content(napi_env env, napi_value value, size_t *size) {
  size_t length;
  if (napi_get_value_string_utf16(env, value, NULL, 0, &length) != napi_ok) return NULL;
  char16_t *units = malloc((length + 1) * sizeof *units);
  char *out = malloc(length * 3 + 1);
  int got = units && out && napi_get_value_string_utf16(env, value, units, length + 1, &length) == napi_ok;
  *size = got ? bytes_of(units, length, out) : 0;
  free(units);
  if (got) return out[*size] = 0, out;
  free(out);
  return NULL;
}

/* The same; NULL also when it contains a NUL, which no system call accepts. */
static inline __attribute__((unused)) char *text(napi_env env, napi_value value) {
  size_t size;
  char *out = content(env, value, &size);
  if (out && strlen(out) == size) return out;
  free(out);
  return NULL;
}

static inline napi_value property(napi_env env, napi_value object, const char *name) {
  napi_value out;
  if (napi_get_named_property(env, object, name, &out) != napi_ok) napi_get_undefined(env, &out);
  return out;
}

#endif

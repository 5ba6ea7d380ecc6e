/* HMAC-SHA256, which the preface of a connection on the channel is checked with. */
#include "arguments.h"
#include "sha256.h"

/* hmac(key, bytes, out): writes 32 bytes to `out`; 0, or -EINVAL. */
static napi_value hmac(napi_env env, napi_callback_info info) {
  ARGUMENTS(3);
  void *key, *bytes, *out;
  size_t key_count, count, room;
  if (napi_get_buffer_info(env, argv[0], &key, &key_count) != napi_ok ||
      napi_get_buffer_info(env, argv[1], &bytes, &count) != napi_ok ||
      napi_get_buffer_info(env, argv[2], &out, &room) != napi_ok || room != SHA256_BYTES)
    return number(env, -EINVAL);
  hmac_sha256(key, key_count, bytes, count, out);
  return number(env, 0);
}

NAPI_MODULE_INIT() {
  FUNCTION(hmac);
  return exports;
}

/*
 * MD5 on the threads of libuv's pool, with the OpenSSL that Node brings: Node's own takes the time of the main thread.
 * Bytes stay where they are; the arrays that hold them are kept until they are hashed.
 */
#include "arguments.h"
#include <openssl/evp.h>

struct piece {
  void *data;
  size_t length;
};

struct job {
  EVP_MD_CTX *context;
  struct piece *pieces;
  uint32_t count;
  int done;
  napi_ref hash, buffers;
  napi_deferred deferred;
  napi_async_work work;
};

static void free_context(napi_env env, void *data, void *hint) {
  (void)env;
  (void)hint;
  EVP_MD_CTX_free(data);
}

static EVP_MD_CTX *context_of(napi_env env, napi_value hash) {
  void *context = NULL;
  return napi_get_value_external(env, hash, &context) == napi_ok ? context : NULL;
}

/* create() → a hash, or undefined when there is none to be had. */
static napi_value create(napi_env env, napi_callback_info info) {
  (void)info;
  EVP_MD_CTX *context = EVP_MD_CTX_new();
  napi_value hash;
  napi_get_undefined(env, &hash);
  if (context && EVP_DigestInit_ex(context, EVP_md5(), NULL) == 1)
    napi_create_external(env, context, free_context, NULL, &hash);
  else EVP_MD_CTX_free(context);
  return hash;
}

static void execute(napi_env env, void *data) {
  (void)env;
  struct job *job = data;
  job->done = 1;
  for (uint32_t i = 0; i < job->count; i++)
    job->done &= EVP_DigestUpdate(job->context, job->pieces[i].data, job->pieces[i].length);
}

static void complete(napi_env env, napi_status status, void *data) {
  struct job *job = data;
  napi_value answer;
  napi_get_boolean(env, status == napi_ok && job->done == 1, &answer);
  napi_resolve_deferred(env, job->deferred, answer);
  napi_delete_reference(env, job->hash);
  napi_delete_reference(env, job->buffers);
  napi_delete_async_work(env, job->work);
  free(job->pieces);
  free(job);
}

/* update(hash, buffers) → a promise of whether it was done. One at a time for each hash. */
static napi_value update(napi_env env, napi_callback_info info) {
  ARGUMENTS(2);
  napi_value promise, name;
  uint32_t count = 0;
  EVP_MD_CTX *context = context_of(env, argv[0]);
  struct job *job = calloc(1, sizeof *job);
  if (context && job && napi_get_array_length(env, argv[1], &count) == napi_ok)
    job->pieces = calloc(count + 1, sizeof *job->pieces);
  if (!job || !job->pieces) {
    free(job);
    napi_throw_error(env, NULL, "md5: not a hash and buffers, or no memory");
    return NULL;
  }
  job->context = context;
  for (uint32_t i = 0; i < count; i++) {
    napi_value buffer;
    struct piece *piece = &job->pieces[job->count];
    if (napi_get_element(env, argv[1], i, &buffer) == napi_ok &&
        napi_get_buffer_info(env, buffer, &piece->data, &piece->length) == napi_ok)
      job->count++;
  }
  napi_create_reference(env, argv[0], 1, &job->hash);
  napi_create_reference(env, argv[1], 1, &job->buffers);
  napi_create_promise(env, &job->deferred, &promise);
  napi_create_string_utf8(env, "md5", NAPI_AUTO_LENGTH, &name);
  napi_create_async_work(env, NULL, name, execute, complete, job, &job->work);
  napi_queue_async_work(env, job->work);
  return promise;
}

/* digest(hash) → 32 hex digits, or undefined. The hash is of no use afterwards. */
static napi_value digest(napi_env env, napi_callback_info info) {
  ARGUMENTS(1);
  EVP_MD_CTX *context = context_of(env, argv[0]);
  unsigned char bytes[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  char hex[2 * EVP_MAX_MD_SIZE];
  napi_value text;
  napi_get_undefined(env, &text);
  if (!context || EVP_DigestFinal_ex(context, bytes, &length) != 1) return text;
  for (unsigned i = 0; i < length; i++) {
    hex[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
    hex[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
  }
  napi_create_string_utf8(env, hex, 2 * length, &text);
  return text;
}

NAPI_MODULE_INIT() {
  FUNCTION(create);
  FUNCTION(update);
  FUNCTION(digest);
  return exports;
}

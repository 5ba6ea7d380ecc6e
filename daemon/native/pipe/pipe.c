/* Descriptors that Node does not make: pipes, unless for children it starts itself, files in memory, copies. */
#include "arguments.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

/* pipe() → read end + write end * 2^20, both close-on-exec, or a negated errno. */
static napi_value make_pipe(napi_env env, napi_callback_info info) {
  (void)info;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) return result(env, -1);
  return number(env, ends[0] + ((int64_t)ends[1] << 20));
}

/* keep(fd, yes): whether the descriptor stays open over an exec. */
static napi_value keep(napi_env env, napi_callback_info info) {
  ARGUMENTS(2);
  return result(env, fcntl((int)integer(env, argv[0], -1), F_SETFD, truthy(env, argv[1]) ? 0 : FD_CLOEXEC));
}

/* memory_file() → a file that is in no directory, close-on-exec, or a negated errno. */
static napi_value memory_file(napi_env env, napi_callback_info info) {
  (void)info;
  return result(env, memfd_create("hutchd", MFD_CLOEXEC));
}

/* copy(fd) → another descriptor of the same, close-on-exec, or a negated errno. */
static napi_value copy(napi_env env, napi_callback_info info) {
  ARGUMENTS(1);
  return result(env, fcntl((int)integer(env, argv[0], -1), F_DUPFD_CLOEXEC, 0));
}

NAPI_MODULE_INIT() {
  FUNCTION(make_pipe);
  FUNCTION(memory_file);
  FUNCTION(copy);
  FUNCTION(keep);
  return exports;
}

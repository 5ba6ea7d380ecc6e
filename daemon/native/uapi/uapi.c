/* The control socket of a WireGuard process, made so that nobody else can connect to it. */
#include "arguments.h"
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/*
 * control_socket(path) → listening end + connected end * 2^20, both close-on-exec, or a negated errno. The socket's
 * file is gone when this returns.
 */
static napi_value control_socket(napi_env env, napi_callback_info info) {
  ARGUMENTS(1);
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  char *path = text(env, argv[0]);
  if (!path || strlen(path) >= sizeof address.sun_path) {
    free(path);
    return number(env, -ENAMETOOLONG);
  }
  strcpy(address.sun_path, path);
  free(path);
  int listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int connected = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int bound = listening < 0 || connected < 0 ? -1 : bind(listening, (struct sockaddr *)&address, sizeof address);
  int done = bound;
  if (done == 0) done = listen(listening, 1);
  if (done == 0) done = connect(connected, (struct sockaddr *)&address, sizeof address);
  int failed = errno;
  if (bound == 0) unlink(address.sun_path);
  if (done == 0) return number(env, listening + ((int64_t)connected << 20));
  if (listening >= 0) close(listening);
  if (connected >= 0) close(connected);
  return number(env, -failed);
}

/*
 * no_more_files(pid): the process keeps the descriptors it has and can open no others above 2; only CAP_SYS_RESOURCE
 * can undo it. The limit is not 0, because poll() would fail.
 */
static napi_value no_more_files(napi_env env, napi_callback_info info) {
  ARGUMENTS(1);
  struct rlimit standard = {3, 3};
  return result(env, prlimit((pid_t)integer(env, argv[0], -1), RLIMIT_NOFILE, &standard, NULL));
}

NAPI_MODULE_INIT() {
  FUNCTION(control_socket);
  FUNCTION(no_more_files);
  return exports;
}

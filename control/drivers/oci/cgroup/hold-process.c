/*
 * Descriptors of processes (pidfd_open(2), Linux 5.3): a number may be another process's by the time that it is signalled, and a tenant that
 * makes processes as fast as it can has all numbers used up within seconds.
 *
 *     hold(pid)        → a descriptor of who has that number now
 *     end(descriptor)  SIGKILL to that one; the descriptor is closed
 *
 * Each answers a negative errno where it fails.
 */
#include "arguments.h"
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

static napi_value hold(napi_env env, napi_callback_info info) {
  ARGUMENTS(1);
  return result(env, syscall(SYS_pidfd_open, (pid_t)integer(env, argv[0], -1), 0));
}

static napi_value end(napi_env env, napi_callback_info info) {
  ARGUMENTS(1);
  int descriptor = integer(env, argv[0], -1);
  napi_value answer = result(env, syscall(SYS_pidfd_send_signal, descriptor, SIGKILL, NULL, 0));
  close(descriptor);
  return answer;
}

NAPI_MODULE_INIT() {
  FUNCTION(hold);
  FUNCTION(end);
  return exports;
}

/* Pseudo-terminals: pty(7). */
#include "arguments.h"
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

/*
 * open_pty() → [master, slave], both close-on-exec, or a negated errno. The master is non-blocking. The slave is not:
 * its flags are shared by all processes that have it, and a shell does not expect EAGAIN.
 */
static napi_value open_pty(napi_env env, napi_callback_info info) {
  (void)info;
  char name[64];
  int slave = -1, master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
  if (master < 0) return result(env, -1);
  if (grantpt(master) == 0 && unlockpt(master) == 0 && ptsname_r(master, name, sizeof name) == 0)
    slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (slave < 0) {
    int error = errno;
    close(master);
    return number(env, -error);
  }
  napi_value out;
  napi_create_array_with_length(env, 2, &out);
  napi_set_element(env, out, 0, number(env, master));
  napi_set_element(env, out, 1, number(env, slave));
  return out;
}

/* resize(fd, columns, rows): its foreground programs get SIGWINCH. */
static napi_value resize(napi_env env, napi_callback_info info) {
  ARGUMENTS(3);
  struct winsize size = {.ws_col = (unsigned short)integer(env, argv[1], 80),
                         .ws_row = (unsigned short)integer(env, argv[2], 24)};
  return result(env, ioctl((int)integer(env, argv[0], -1), TIOCSWINSZ, &size));
}

NAPI_MODULE_INIT() {
  FUNCTION(open_pty);
  FUNCTION(resize);
  return exports;
}

/* Descriptors that Node has no function for: pipes, files in memory, copies, listening sockets. */
#include "arguments.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
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

/* memory_file() → a file in no directory, close-on-exec, or a negated errno. */
static napi_value memory_file(napi_env env, napi_callback_info info) {
  (void)info;
  return result(env, memfd_create("hutchd", MFD_CLOEXEC));
}

/* copy(fd) → another descriptor of the same, close-on-exec, or a negated errno. */
static napi_value copy(napi_env env, napi_callback_info info) {
  ARGUMENTS(1);
  return result(env, fcntl((int)integer(env, argv[0], -1), F_DUPFD_CLOEXEC, 0));
}

/* `address` in text, IPv4 or IPv6; empty for every address of `family`. EINVAL when it is none of that family. */
static int listen_on(int family, const char *address, int port) {
  struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
  void *bytes = family == AF_INET ? (void *)&four.sin_addr : (void *)&six.sin6_addr;
  if (*address && inet_pton(family, address, bytes) != 1) {
    errno = EINVAL;
    return -1;
  }
  const struct sockaddr *place = family == AF_INET ? (struct sockaddr *)&four : (struct sockaddr *)&six;
  socklen_t length = family == AF_INET ? sizeof four : sizeof six;
  int on = 1, off = 0, fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  /* One socket for both families, as Node's own servers have. */
  if (family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  if (bind(fd, place, length) == 0 && listen(fd, 511) == 0) return fd;
  int error = errno;
  close(fd);
  errno = error;
  return -1;
}

/*
 * listen_tcp(port, address) → descriptor + port * 2^20, close-on-exec, or a negated errno. Port 0 picks a free one; the
 * empty address stands for every address of both families, or of IPv4 alone where there is no IPv6.
 */
static napi_value listen_tcp(napi_env env, napi_callback_info info) {
  ARGUMENTS(2);
  int port = (int)integer(env, argv[0], 0);
  char *host = text(env, argv[1]);
  if (!host) return number(env, -EINVAL);
  int fd = listen_on(AF_INET6, host, port);
  if (fd < 0 && (errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL || errno == EINVAL)) fd = listen_on(AF_INET, host, port);
  int failure = errno;
  free(host);
  errno = failure;
  if (fd < 0) return result(env, -1);
  struct sockaddr_storage address;
  socklen_t length = sizeof address;
  if (getsockname(fd, (struct sockaddr *)&address, &length) < 0) {
    int error = errno;
    close(fd);
    return number(env, -error);
  }
  /* The port is at the same offset in both families' addresses. */
  return number(env, fd + ((int64_t)ntohs(((struct sockaddr_in *)&address)->sin_port) << 20));
}

NAPI_MODULE_INIT() {
  FUNCTION(make_pipe);
  FUNCTION(memory_file);
  FUNCTION(copy);
  FUNCTION(keep);
  FUNCTION(listen_tcp);
  return exports;
}

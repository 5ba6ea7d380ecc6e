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

static int listen_on(const struct sockaddr_storage *address, int both) {
  int family = address->ss_family, on = 1, only = !both;
  socklen_t length = family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
  int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  /* One socket for both families, as Node's own servers have. */
  if (family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof only);
  if (bind(fd, (const struct sockaddr *)address, length) == 0 && listen(fd, 511) == 0) return fd;
  int error = errno;
  close(fd);
  errno = error;
  return -1;
}

/* Fills in the address that `host` says in digits; 0 when it is none. */
static int parse_address(const char *host, int port, struct sockaddr_storage *out) {
  struct sockaddr_in *four = (struct sockaddr_in *)out;
  struct sockaddr_in6 *six = (struct sockaddr_in6 *)out;
  memset(out, 0, sizeof *out);
  /* The port is at the same offset in both families' addresses. */
  four->sin_port = htons((uint16_t)port);
  if (inet_pton(AF_INET, host, &four->sin_addr) == 1) four->sin_family = AF_INET;
  else if (inet_pton(AF_INET6, host, &six->sin6_addr) == 1) six->sin6_family = AF_INET6;
  return out->ss_family != 0;
}

static int listen_everywhere(int port) {
  struct sockaddr_storage address;
  parse_address("::", port, &address);
  int fd = listen_on(&address, 1);
  if (fd >= 0 || (errno != EAFNOSUPPORT && errno != EADDRNOTAVAIL && errno != EINVAL)) return fd;
  parse_address("0.0.0.0", port, &address);
  return listen_on(&address, 0);
}

/*
 * listen_tcp(port, host) → descriptor + port * 2^20, close-on-exec, or a negated errno. Port 0 picks a free one. `host` is
 * an IP address; with '' on every address of both families, or of IPv4 alone where there is no IPv6.
 */
static napi_value listen_tcp(napi_env env, napi_callback_info info) {
  ARGUMENTS(2);
  int port = (int)integer(env, argv[0], 0), fd = -1;
  char *host = text(env, argv[1]);
  struct sockaddr_storage address;
  if (host && *host == 0) fd = listen_everywhere(port);
  else if (host && parse_address(host, port, &address)) fd = listen_on(&address, 0);
  else errno = EINVAL;
  int error = errno;
  free(host);
  if (fd < 0) return number(env, -error);
  socklen_t length = sizeof address;
  if (getsockname(fd, (struct sockaddr *)&address, &length) < 0) {
    error = errno;
    close(fd);
    return number(env, -error);
  }
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

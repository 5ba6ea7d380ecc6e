/*
 * Mounts between descriptors. A tenant may replace any path between our check and our mount; a descriptor stays the
 * same. No link in a path is followed.
 */
#include "arguments.h"
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIRECTORY (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* The kernel's path of a descriptor: it leads to that same directory, whatever its own path is by now. */
static void name_of(int fd, char out[64]) { snprintf(out, 64, "/proc/self/fd/%d", fd); }

/* Enters `name`, and makes it unless `mode` is -1; *created says whether it was made. */
static int enter_directory(int parent, const char *name, int mode, int *created) {
  *created = 0;
  int fd = openat(parent, name, DIRECTORY);
  if (fd >= 0 || errno != ENOENT || mode < 0) return fd;
  if (mkdirat(parent, name, (mode_t)mode) == 0) *created = 1;
  else if (errno != EEXIST) return -1;
  return openat(parent, name, DIRECTORY);
}

/* open_directory(path, mode or -1) → [descriptor, created], or a negated errno (ENOTDIR for a link in the path). */
static napi_value open_directory(napi_env env, napi_callback_info info) {
  ARGUMENTS(2);
  char *path = text(env, argv[0]), *rest = path;
  int mode = (int)integer(env, argv[1], -1), created = 0;
  int fd = -1;
  errno = EINVAL;
  if (path && path[0] == '/') fd = open("/", DIRECTORY);
  for (char *name = NULL; fd >= 0 && (name = strtok_r(name ? NULL : path, "/", &rest));) {
    int next = -1;
    errno = EINVAL;
    if (strcmp(name, "..") != 0) next = enter_directory(fd, name, mode, &created);
    int error = errno;
    close(fd);
    errno = error;
    fd = next;
  }
  int error = errno;
  free(path);
  errno = error;
  if (fd < 0) return result(env, -1);
  napi_value out;
  napi_create_array_with_length(env, 2, &out);
  napi_set_element(env, out, 0, number(env, fd));
  napi_set_element(env, out, 1, number(env, created));
  return out;
}

static napi_value change_owner(napi_env env, napi_callback_info info) {
  ARGUMENTS(3);
  return result(env, fchownat((int)integer(env, argv[0], -1), "", (uid_t)integer(env, argv[1], -1),
                              (gid_t)integer(env, argv[2], -1), AT_EMPTY_PATH));
}

/*
 * bind(from, to, flags): flags of mount(2) besides MS_BIND; MS_RDONLY and similar ones take effect only with `change`.
 */
static napi_value bind_mount(napi_env env, napi_callback_info info) {
  ARGUMENTS(3);
  char from[64], to[64];
  name_of((int)integer(env, argv[0], -1), from);
  name_of((int)integer(env, argv[1], -1), to);
  return result(env, mount(from, to, NULL, MS_BIND | (unsigned long)integer(env, argv[2], 0), NULL));
}

/* change(fd, flags): remounts or changes the propagation of the mount that the descriptor is the root of. */
static napi_value change_mount(napi_env env, napi_callback_info info) {
  ARGUMENTS(2);
  char name[64];
  name_of((int)integer(env, argv[0], -1), name);
  return result(env, mount(NULL, name, NULL, (unsigned long)integer(env, argv[1], 0), NULL));
}

/* detach(fd): removes the mount now; files that are open in it stay usable until they are closed. */
static napi_value detach(napi_env env, napi_callback_info info) {
  ARGUMENTS(1);
  char name[64];
  name_of((int)integer(env, argv[0], -1), name);
  return result(env, umount2(name, MNT_DETACH));
}

NAPI_MODULE_INIT() {
  FUNCTION(open_directory);
  FUNCTION(change_owner);
  FUNCTION(bind_mount);
  FUNCTION(change_mount);
  FUNCTION(detach);
  return exports;
}

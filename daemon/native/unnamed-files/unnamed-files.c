/* Files without a name (O_TMPFILE): made several at a time on a thread of libuv's pool, and named later. */
#include "arguments.h"
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define MAX_FILES 32

struct job {
  char *dir;
  int flags, wanted, made, error, descriptors[MAX_FILES];
  mode_t mode;
  napi_deferred deferred;
  napi_async_work work;
};

static void execute(napi_env env, void *data) {
  (void)env;
  struct job *job = data;
  while (job->made < job->wanted) {
    int fd = open(job->dir, job->flags | O_TMPFILE | O_CLOEXEC, job->mode);
    if (fd < 0) {
      job->error = errno;
      return;
    }
    job->descriptors[job->made++] = fd;
  }
}

static void complete(napi_env env, napi_status status, void *data) {
  (void)status;
  struct job *job = data;
  napi_value answer = NULL;
  if (job->made == 0) answer = number(env, -job->error);
  else napi_create_array_with_length(env, (size_t)job->made, &answer);
  for (int i = 0; i < job->made; i++) napi_set_element(env, answer, (uint32_t)i, number(env, job->descriptors[i]));
  napi_resolve_deferred(env, job->deferred, answer);
  napi_delete_async_work(env, job->work);
  free(job->dir);
  free(job);
}

/*
 * make(dir, flags, mode, count) → promise of the descriptors, fewer after an error; a negated errno when none was made.
 */
static napi_value make(napi_env env, napi_callback_info info) {
  ARGUMENTS(4);
  napi_value promise, name;
  struct job *job = calloc(1, sizeof *job);
  if (!job) return number(env, -ENOMEM);
  job->dir = text(env, argv[0]);
  job->flags = (int)integer(env, argv[1], -1);
  job->mode = (mode_t)integer(env, argv[2], 0);
  int64_t count = integer(env, argv[3], 0);
  if (!job->dir || job->flags < 0 || count <= 0 || count > MAX_FILES) {
    free(job->dir);
    free(job);
    return number(env, -EINVAL);
  }
  job->wanted = (int)count;
  napi_create_promise(env, &job->deferred, &promise);
  napi_create_string_utf8(env, "unnamed-files", NAPI_AUTO_LENGTH, &name);
  napi_create_async_work(env, NULL, name, execute, complete, job, &job->work);
  napi_queue_async_work(env, job->work);
  return promise;
}

/* name(fd, path): EEXIST when the name is taken. */
static napi_value name(napi_env env, napi_callback_info info) {
  ARGUMENTS(2);
  int fd = (int)integer(env, argv[0], -1);
  char *path = text(env, argv[1]), own[32];
  if (!path) return number(env, -EINVAL);
  int done = linkat(fd, "", AT_FDCWD, path, AT_EMPTY_PATH);
  if (done < 0 && errno == ENOENT) {
    /* Without CAP_DAC_READ_SEARCH a descriptor must be named by its path in /proc. */
    snprintf(own, sizeof own, "/proc/self/fd/%d", fd);
    done = linkat(AT_FDCWD, own, AT_FDCWD, path, AT_SYMLINK_FOLLOW);
  }
  napi_value answer = result(env, done);
  free(path);
  return answer;
}

NAPI_MODULE_INIT() {
  FUNCTION(make);
  FUNCTION(name);
  return exports;
}

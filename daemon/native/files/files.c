/*
 * File operations. Each runs on a thread of libuv's pool that takes the ids of the wanted user meanwhile, so that the
 * kernel decides what the user may reach. There is no helper process that a tenant could stop, trace or starve.
 */
#include "as_user.h"
#include "cached_read.h"
#include "own_entries.h"
#include "remove_tree.h"
#include "whole_file.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>

enum operation {
  OPEN,
  STAT,
  LSTAT,
  READDIR,
  LIST,
  MKDIR,
  READLINK,
  REALPATH,
  SYMLINK,
  RENAME,
  UNLINK,
  RMDIR,
  REMOVE,
  LINK,
  CHOWN,
  CHMOD,
  TOUCH,
  OPEN_READ,
  ACCESS,
  NAME,
  RESEMBLE,
  FCHOWN,
  FCHMOD,
  STAGE,
  PUBLISH
};

struct job {
  enum operation operation;
  struct user user;
  char *path, *other;
  int flags;
  mode_t mode;
  int64_t result; /* below zero: a negated errno */
  char *bytes;    /* an answer of bytes, else NULL */
  size_t length, capacity;
  napi_deferred deferred;
  napi_async_work work;
};

/* The head of a record of READDIR and LIST; the name and a NUL follow. */
struct record {
  double mode, size, uid, gid, seconds, nanoseconds;
};

static int append(struct job *job, const void *bytes, size_t length) {
  if (job->length + length > job->capacity) {
    size_t capacity = (job->capacity + length) * 2;
    char *grown = realloc(job->bytes, capacity);
    if (!grown) return -1;
    job->bytes = grown;
    job->capacity = capacity;
  }
  memcpy(job->bytes + job->length, bytes, length);
  job->length += length;
  return 0;
}

static struct record record_of(const struct stat *stat) {
  return (struct record){stat->st_mode, (double)stat->st_size,         stat->st_uid,
                         stat->st_gid,  (double)stat->st_mtim.tv_sec, (double)stat->st_mtim.tv_nsec};
}

static int64_t open_file(struct job *job) {
  int fd = open(job->path, job->flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, job->mode);
  if (fd >= 0 && is_our_own(fd)) {
    close(fd);
    errno = EACCES;
    return -1;
  }
  return fd;
}

/* Appends the whole of a small regular file; 0 when it is none or cannot be read, which whoever has the descriptor will see. */
static int append_small(struct job *job, int fd, const struct stat *stat) {
  if (!S_ISREG(stat->st_mode) || stat->st_size <= 0 || stat->st_size > small_bytes) return 0;
  size_t size = (size_t)stat->st_size, start = job->length;
  char *grown = realloc(job->bytes, start + size);
  if (!grown) return 0;
  job->bytes = grown;
  job->capacity = start + size;
  while (job->length < job->capacity) {
    ssize_t count = pread(fd, grown + job->length, job->capacity - job->length, (off_t)(job->length - start));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) job->length = start;
    if (count <= 0) return count == 0;
    job->length += (size_t)count;
  }
  return 1;
}

/* OPEN_READ: a record, the descriptor, and the content; a file whose content is there is closed, its descriptor is -1. */
static int64_t open_read(struct job *job) {
  struct stat stat;
  int fd = (int)open_file(job);
  if (fd < 0) return -1;
  if (fstat(fd, &stat) == 0) {
    meet_device(fd, stat.st_dev);
    struct record record = record_of(&stat);
    double none = -1, kept = fd;
    if (append(job, &record, sizeof record) == 0 && append(job, &kept, sizeof kept) == 0) {
      if (append_small(job, fd, &stat)) {
        memcpy(job->bytes + sizeof record, &none, sizeof none);
        close(fd);
      }
      return 0;
    }
  }
  int error = errno;
  close(fd);
  errno = error;
  return -1;
}

static int64_t stat_file(struct job *job) {
  struct stat stat;
  if (fstatat(AT_FDCWD, job->path, &stat, job->operation == LSTAT ? AT_SYMLINK_NOFOLLOW : 0) < 0) return -1;
  struct record record = record_of(&stat);
  return append(job, &record, sizeof record);
}

static int add_entry(struct job *job, DIR *directory, const struct dirent *entry) {
  struct record record = {.mode = DTTOIF(entry->d_type)};
  if (job->operation == LIST || entry->d_type == DT_UNKNOWN) {
    struct stat stat;
    /* It was removed between the two calls. */
    if (fstatat(dirfd(directory), entry->d_name, &stat, AT_SYMLINK_NOFOLLOW) < 0) return errno == ENOENT ? 0 : -1;
    record = record_of(&stat);
  }
  if (append(job, &record, sizeof record) < 0) return -1;
  return append(job, entry->d_name, strlen(entry->d_name) + 1);
}

static int64_t read_directory(struct job *job) {
  DIR *directory = opendir(job->path);
  if (!directory) return -1;
  if (is_our_own(dirfd(directory))) {
    closedir(directory);
    errno = EACCES;
    return -1;
  }
  /* An empty directory is an answer of no bytes. */
  job->bytes = malloc(job->capacity = 4096);
  int failed = !job->bytes;
  struct dirent *entry;
  while (!failed && (errno = 0, entry = readdir(directory)))
    if (!is_dots(entry->d_name)) failed = add_entry(job, directory, entry);
  int error = errno;
  closedir(directory);
  errno = error;
  return failed || error ? -1 : 0;
}

static int make_one(const char *path, mode_t mode) {
  if (mkdir(path, mode) == 0) return 0;
  int error = errno;
  struct stat stat;
  /* Also when making it is forbidden (a read-only root): it is enough that the directory exists. */
  if (fstatat(AT_FDCWD, path, &stat, 0) == 0 && S_ISDIR(stat.st_mode)) return 0;
  errno = error;
  return -1;
}

static int64_t make_directories(struct job *job) {
  for (char *at = job->path + 1; *at; at++) {
    if (*at != '/') continue;
    *at = 0;
    int failed = make_one(job->path, 0755);
    *at = '/';
    if (failed && errno == EEXIST) errno = ENOTDIR; /* it exists and can contain nothing */
    if (failed) return -1;
  }
  return make_one(job->path, job->mode);
}

static int64_t read_link(struct job *job) {
  char target[PATH_MAX];
  ssize_t length = readlink(job->path, target, sizeof target);
  return length < 0 ? -1 : append(job, target, (size_t)length);
}

static int64_t real_path(struct job *job) {
  char target[PATH_MAX];
  return realpath(job->path, target) ? append(job, target, strlen(target)) : -1;
}

/* `other`: nanoseconds since the epoch, possibly negative. */
static int64_t touch(struct job *job) {
  long long time = strtoll(job->other, NULL, 10), rest = time % 1000000000;
  struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {time / 1000000000 - (rest < 0), rest < 0 ? rest + 1000000000 : rest}};
  return utimensat(AT_FDCWD, job->path, times, AT_SYMLINK_NOFOLLOW);
}

/*
 * STAGE: an unnamed file beside the one that `path` leads to, which must be writable if `flags` says so: a record, of zeros when nothing is there
 * yet, the descriptor, and the path without links. Any failure means that it is no plain case.
 */
static int64_t stage(struct job *job) {
  char real[PATH_MAX], directory[PATH_MAX];
  struct stat stat;
  if (find_target(job->path, job->flags, real, &stat) < 0) return -1;
  strcpy(directory, real);
  char *slash = strrchr(directory, '/');
  if (!slash) return errno = EINVAL, -1;
  slash[slash == directory] = 0;
  int fd = open(directory, O_RDWR | O_TMPFILE | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, job->mode);
  if (fd < 0) return -1;
  struct record record = record_of(&stat);
  double kept = fd;
  if (!reports_at_once(fd)) errno = EOPNOTSUPP;
  else if (append(job, &record, sizeof record) == 0 && append(job, &kept, sizeof kept) == 0 && append(job, real, strlen(real)) == 0)
    return 0;
  int error = errno;
  close(fd);
  errno = error;
  return -1;
}

/*
 * PUBLISH: RESEMBLE, and then gives the unnamed file of the descriptor the name `path`, by way of `other`. The result is above 1, and nothing is
 * done, when the file there has so many names.
 */
static int64_t publish(struct job *job) {
  int64_t names = resemble(job->flags, job->path, job->mode != 0);
  if (names > 1 || (names < 0 && errno != ENOENT)) return names;
  if (name_file(job->flags, job->other) < 0) return -1;
  if (rename(job->other, job->path) == 0) return 0;
  int error = errno;
  unlink(job->other);
  errno = error;
  return -1;
}

static int64_t perform(struct job *job) {
  switch (job->operation) {
    case OPEN: return open_file(job);
    case OPEN_READ: return open_read(job);
    case STAT:
    case LSTAT: return stat_file(job);
    case READDIR:
    case LIST: return read_directory(job);
    case MKDIR: return make_directories(job);
    case READLINK: return read_link(job);
    case REALPATH: return real_path(job);
    case SYMLINK: return symlink(job->path, job->other);
    case RENAME: return rename(job->path, job->other);
    case UNLINK: return unlink(job->path);
    case RMDIR: return rmdir(job->path);
    case REMOVE: return remove_in(AT_FDCWD, job->path, 0);
    case LINK: return link(job->path, job->other);
    case CHOWN: return lchown(job->path, (uid_t)job->flags, (gid_t)job->mode);
    case CHMOD: return chmod(job->path, job->mode);
    case TOUCH: return touch(job);
    case ACCESS: return faccessat(AT_FDCWD, job->path, job->flags, AT_EACCESS);
    case NAME: return name_file(job->flags, job->path);
    case RESEMBLE: return resemble(job->flags, job->path, job->mode != 0);
    case FCHOWN: return fchown(job->flags, (uid_t)strtoul(job->other, NULL, 10), (gid_t)job->mode);
    case FCHMOD: return fchmod(job->flags, job->mode);
    case STAGE: return stage(job);
    case PUBLISH: return publish(job);
  }
  errno = ENOSYS;
  return -1;
}

static void execute(napi_env env, void *data) {
  (void)env;
  struct job *job = data;
  struct before before = {.count = -1};
  job->result = enter(&job->user, &before) == 0 ? perform(job) : -1;
  if (job->result < 0) job->result = -errno;
  leave(&job->user, &before);
}

static void forget(struct job *job) {
  free(job->path);
  free(job->other);
  free(job->bytes);
  free(job);
}

static void discard(napi_env env, struct job *job) {
  napi_delete_async_work(env, job->work);
  forget(job);
}

static void complete(napi_env env, napi_status status, void *data) {
  struct job *job = data;
  napi_value value = number(env, status == napi_ok ? job->result : -ECANCELED);
  if (status == napi_ok && job->result >= 0 && job->bytes)
    napi_create_buffer_copy(env, job->length, job->bytes, NULL, &value);
  napi_resolve_deferred(env, job->deferred, value);
  discard(env, job);
}

/* The answer to OPEN_READ where it is in the kernel's memory; NULL where the pool has to see. */
static napi_value answer_cached(napi_env env, const struct job *job) {
  struct stat stat;
  if (job->operation != OPEN_READ || job->user.uid >= 0) return NULL;
  int fd = open_small_cached(job->path, job->flags, &stat);
  if (fd < 0) return NULL;
  struct record record = record_of(&stat);
  double none = -1;
  size_t head = sizeof record + sizeof none, size = (size_t)stat.st_size;
  char *bytes;
  napi_value answer = NULL;
  if (napi_create_buffer(env, head + size, (void **)&bytes, &answer) == napi_ok) {
    memcpy(bytes, &record, sizeof record);
    memcpy(bytes + sizeof record, &none, sizeof none);
    if (!read_cached(fd, bytes + head, size)) answer = NULL;
  }
  close(fd);
  return answer;
}

/*
 * run(operation, uid, gid, path, other, flags, mode) → promise of a number or of bytes, or bytes that are
 * there at once; a number below zero is a negated errno.
 */
static napi_value run(napi_env env, napi_callback_info info) {
  ARGUMENTS(7);
  napi_value promise, name;
  struct job *job = calloc(1, sizeof *job);
  if (!job) return number(env, -ENOMEM);
  job->operation = (enum operation)integer(env, argv[0], -1);
  job->user = (struct user){integer(env, argv[1], -1), integer(env, argv[2], -1)};
  job->path = text(env, argv[3]);
  job->other = text(env, argv[4]);
  job->flags = (int)integer(env, argv[5], 0);
  job->mode = (mode_t)integer(env, argv[6], 0);
  if (!job->path || !job->path[0] || !job->other) {
    forget(job);
    return number(env, -EINVAL);
  }
  napi_value cached = answer_cached(env, job);
  if (cached) {
    forget(job);
    return cached;
  }
  napi_create_promise(env, &job->deferred, &promise);
  napi_create_string_utf8(env, "files", NAPI_AUTO_LENGTH, &name);
  napi_create_async_work(env, NULL, name, execute, complete, job, &job->work);
  napi_queue_async_work(env, job->work);
  return promise;
}

NAPI_MODULE_INIT() {
  FUNCTION(run);
  return exports;
}

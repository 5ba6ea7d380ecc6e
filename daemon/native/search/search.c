/*
 * Walks directories and searches files on a thread of libuv's pool, with the ids of the wanted user: one call for
 * thousands of entries, instead of one for each. Whatever a tenant does to the tree meanwhile, no link below the start is
 * followed, nothing but a regular file is read, and nothing blocks.
 */
#include "as_user.h"
#include "own_entries.h"
#include "search_block.h"
#include <dirent.h>
#include <stdbool.h>

/* Bytes that grow. */
struct bytes {
  char *at;
  size_t length, capacity;
};

static int append(struct bytes *bytes, const void *from, size_t length) {
  if (bytes->length + length > bytes->capacity) {
    size_t capacity = (bytes->capacity + length) * 2;
    char *grown = realloc(bytes->at, capacity);
    if (!grown) return -1;
    bytes->at = grown;
    bytes->capacity = capacity;
  }
  memcpy(bytes->at + bytes->length, from, length);
  bytes->length += length;
  return 0;
}

struct job {
  struct user user;
  bool walks;
  char *start;
  /* What to visit next, each as `kind path NUL`. For a search the files, each as `path NUL`. */
  struct bytes input;
  /* Names, and whole paths, of directories that are not entered, each with a NUL. */
  struct bytes excluded, closed;
  bool skip_hidden;
  int64_t budget; /* entries to visit, or lines to find */
  struct needle needle;
  struct bytes output;
  int64_t result; /* below zero: a negated errno */
  napi_deferred deferred;
  napi_async_work work;
};

static bool lists(const struct bytes *list, const char *name) {
  for (size_t at = 0; at < list->length; at += strlen(list->at + at) + 1)
    if (strcmp(list->at + at, name) == 0) return true;
  return false;
}

/* An entry still to be visited; the one on top is the next. */
struct entry {
  struct entry *below;
  char kind;
  char path[]; /* relative to the start */
};

static struct entry *push(struct entry *below, char kind, const char *directory, const char *name) {
  size_t length = strlen(directory);
  struct entry *entry = malloc(sizeof *entry + length + strlen(name) + 2);
  if (!entry) return NULL;
  *entry = (struct entry){.below = below, .kind = kind};
  sprintf(entry->path, "%s%s%s", directory, length ? "/" : "", name);
  return entry;
}

static void drop(struct entry *top) {
  while (top) {
    struct entry *below = top->below;
    free(top);
    top = below;
  }
}

/* `f`, `d`, or `o` for anything else: a link is not what it leads to. */
static char kind_of(int directory, const struct dirent *entry) {
  mode_t mode = DTTOIF(entry->d_type);
  struct stat stat;
  if (entry->d_type == DT_UNKNOWN) mode = fstatat(directory, entry->d_name, &stat, AT_SYMLINK_NOFOLLOW) == 0 ? stat.st_mode : 0;
  return S_ISREG(mode) ? 'f' : S_ISDIR(mode) ? 'd' : 'o';
}

static int open_below(const struct job *job, const char *path, int flags) {
  char whole[PATH_MAX];
  if (snprintf(whole, sizeof whole, "%s%s%s", job->start, *path ? "/" : "", path) >= (int)sizeof whole) {
    errno = ENAMETOOLONG;
    return -1;
  }
  int fd = open(whole, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags | (*path ? O_NOFOLLOW : 0));
  if (fd < 0 || !is_our_own(fd)) return fd;
  close(fd);
  errno = EACCES;
  return -1;
}

static int backwards(const void *a, const void *b) { return strcmp((*(struct entry **)b)->path, (*(struct entry **)a)->path); }

static bool is_left_out(const struct job *job, char kind, const char *name) {
  return (job->skip_hidden && name[0] == '.') || (kind == 'd' && lists(&job->excluded, name));
}

/* Puts the entries of a directory on top, the first by name as the next. Returns -1 with errno. */
static int read_directory(const struct job *job, const char *path, struct entry **top) {
  int fd = open_below(job, path, O_DIRECTORY);
  DIR *directory = fd < 0 ? NULL : fdopendir(fd);
  if (!directory) {
    int error = errno;
    if (fd >= 0) close(fd);
    errno = error;
    return -1;
  }
  struct bytes found = {0};
  int failed = 0;
  struct dirent *next;
  while (!failed && (errno = 0, next = readdir(directory))) {
    if (next->d_name[0] == '.' && (!next->d_name[1] || (next->d_name[1] == '.' && !next->d_name[2]))) continue;
    char kind = kind_of(fd, next);
    if (is_left_out(job, kind, next->d_name)) continue;
    struct entry *entry = push(NULL, kind, path, next->d_name);
    failed = !entry || append(&found, &entry, sizeof entry) < 0;
    if (failed) free(entry);
  }
  int error = errno;
  closedir(directory);
  struct entry **entries = (struct entry **)(void *)found.at;
  size_t count = found.length / sizeof *entries;
  if (count > 0) qsort(entries, count, sizeof *entries, backwards);
  for (size_t index = 0; index < count; index++) {
    entries[index]->below = *top;
    *top = entries[index];
  }
  free(found.at);
  errno = error;
  return failed || error ? -1 : 0;
}

/* `kind path NUL`, or `!errno path NUL` for a directory that cannot be read. */
static int record(struct bytes *into, char kind, int error, const char *path) {
  char head[16];
  int length = error ? snprintf(head, sizeof head, "!%d ", error) : snprintf(head, sizeof head, "%c", kind);
  return append(into, head, (size_t)length) < 0 ? -1 : append(into, path, strlen(path) + 1);
}

static bool is_closed(const struct job *job, const char *path) {
  char whole[PATH_MAX];
  const char *start = strcmp(job->start, "/") == 0 ? "" : job->start;
  int length = snprintf(whole, sizeof whole, "%s/%s", start, path);
  return length < (int)sizeof whole && lists(&job->closed, whole);
}

/* What was left to visit, the next one on top. NULL with errno 0 when there is nothing. */
static struct entry *load(const struct bytes *input) {
  struct entry *first = NULL, **last = &first;
  errno = 0;
  for (size_t at = 0; at < input->length; at += strlen(input->at + at) + 1) {
    if (!(*last = push(NULL, input->at[at], "", input->at + at + 1))) {
      drop(first);
      errno = ENOMEM;
      return NULL;
    }
    last = &(*last)->below;
  }
  return first;
}

/* Visits the top and, when it is a directory, puts what is in it there instead. */
static int visit(struct job *job, struct entry **top) {
  struct entry *entry = *top;
  *top = entry->below;
  int error = 0;
  bool start = !entry->path[0], enters = entry->kind == 'd' && (start || !is_closed(job, entry->path));
  int failed = start ? 0 : record(&job->output, entry->kind, 0, entry->path);
  if (!failed && enters && read_directory(job, entry->path, top) < 0) error = errno;
  if (!failed && error) failed = record(&job->output, 0, error, entry->path);
  free(entry);
  return failed;
}

/* Depth first, by name. Answers in four bytes how long the records of what was visited are, these, and what is left to visit. */
static int64_t walk(struct job *job) {
  uint32_t visited = 0;
  struct entry *top = load(&job->input);
  if (!top && errno) return -1;
  int failed = append(&job->output, &visited, sizeof visited);
  for (int64_t left = job->budget; !failed && top && left > 0; left--) failed = visit(job, &top);
  visited = (uint32_t)(job->output.length - sizeof visited);
  if (!failed) memcpy(job->output.at, &visited, sizeof visited);
  for (struct entry *entry = top; !failed && entry; entry = entry->below)
    failed = record(&job->output, entry->kind, 0, entry->path);
  drop(top);
  if (failed) errno = ENOMEM;
  return failed ? -1 : 0;
}

/* The head of a line that was found; its text follows. */
struct hit {
  double line, column;
  uint32_t file, length;
};

struct telling {
  struct job *job;
  uint32_t file;
};

static int tell(void *context, const struct line *line) {
  struct telling *telling = context;
  struct bytes *output = &telling->job->output;
  struct hit hit = {(double)line->number, (double)line->column, telling->file, (uint32_t)line->length};
  if (append(output, &hit, sizeof hit) < 0 || append(output, line->text, line->length) < 0) return -1;
  return --telling->job->budget > 0 ? 0 : 1;
}

/* A file that cannot be read, or is gone, is passed over. Returns -1 without memory. */
static int search_one(struct job *job, struct space *space, const char *path, uint32_t file) {
  struct telling telling = {job, file};
  struct stat stat;
  int fd = open_below(job, path, 0);
  if (fd < 0) return 0;
  int failed = fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) ? search_file(fd, space, &job->needle, tell, &telling) : 0;
  close(fd);
  return failed;
}

static int64_t search(struct job *job) {
  struct space space = {0};
  int failed = 0;
  uint32_t file = 0;
  const struct bytes *input = &job->input;
  for (size_t at = 0; !failed && at < input->length && job->budget > 0; at += strlen(input->at + at) + 1)
    failed = search_one(job, &space, input->at + at, file++);
  free_space(&space);
  if (failed) errno = ENOMEM;
  return failed ? -1 : 0;
}

static void execute(napi_env env, void *data) {
  (void)env;
  struct job *job = data;
  struct before before = {.count = -1};
  job->result = enter(&job->user, &before) < 0 ? -1 : job->walks ? walk(job) : search(job);
  if (job->result < 0) job->result = -errno;
  leave(&job->user, &before);
}

static void discard(struct job *job) {
  free(job->start);
  free(job->input.at);
  free(job->excluded.at);
  free(job->closed.at);
  free(job->needle.text);
  free(job->output.at);
  free(job);
}

static void complete(napi_env env, napi_status status, void *data) {
  struct job *job = data;
  napi_value value = number(env, status == napi_ok ? job->result : -ECANCELED);
  if (status == napi_ok && job->result >= 0)
    napi_create_buffer_copy(env, job->output.length, job->output.at ? job->output.at : "", NULL, &value);
  napi_resolve_deferred(env, job->deferred, value);
  napi_delete_async_work(env, job->work);
  discard(job);
}

/* A copy of a buffer; what it holds ends with a NUL, so that reading on ends there. */
static int copied(napi_env env, napi_value value, struct bytes *into) {
  void *from;
  size_t length;
  if (napi_get_buffer_info(env, value, &from, &length) != napi_ok) return -1;
  if (append(into, from, length) < 0 || append(into, "", 1) < 0) return -1;
  into->length = length;
  return 0;
}

static napi_value queue(napi_env env, struct job *job, int failed) {
  if (failed || !job->start || !job->start[0]) {
    discard(job);
    return number(env, -EINVAL);
  }
  napi_value promise, name;
  napi_create_promise(env, &job->deferred, &promise);
  napi_create_string_utf8(env, "search", NAPI_AUTO_LENGTH, &name);
  napi_create_async_work(env, NULL, name, execute, complete, job, &job->work);
  napi_queue_async_work(env, job->work);
  return promise;
}

static struct job *begin(napi_env env, napi_value *argv) {
  struct job *job = calloc(1, sizeof *job);
  if (!job) return NULL;
  job->user = (struct user){integer(env, argv[0], -1), integer(env, argv[1], -1)};
  job->start = text(env, argv[2]);
  return job;
}

/* walk(uid, gid, start, pending, excluded, closed, skipHidden, budget) → promise of what `walk` above makes */
static napi_value walk_directories(napi_env env, napi_callback_info info) {
  ARGUMENTS(8);
  struct job *job = begin(env, argv);
  if (!job) return number(env, -ENOMEM);
  job->walks = true;
  job->skip_hidden = truthy(env, argv[6]);
  job->budget = integer(env, argv[7], 0);
  int failed = copied(env, argv[3], &job->input) | copied(env, argv[4], &job->excluded) | copied(env, argv[5], &job->closed);
  return queue(env, job, failed);
}

/* search(uid, gid, start, paths, needle, form, limit) → promise of hits, each with the text of its line */
static napi_value search_files(napi_env env, napi_callback_info info) {
  ARGUMENTS(7);
  struct job *job = begin(env, argv);
  if (!job) return number(env, -ENOMEM);
  struct bytes needle = {0};
  int failed = copied(env, argv[3], &job->input) | copied(env, argv[4], &needle);
  job->needle = (struct needle){needle.at, needle.length, (enum form)integer(env, argv[5], EXACT)};
  job->budget = integer(env, argv[6], 0);
  return queue(env, job, failed || needle.length == 0);
}

NAPI_MODULE_INIT() {
  napi_value made;
  napi_create_function(env, "walk", NAPI_AUTO_LENGTH, walk_directories, NULL, &made);
  napi_set_named_property(env, exports, "walk", made);
  napi_create_function(env, "search", NAPI_AUTO_LENGTH, search_files, NULL, &made);
  napi_set_named_property(env, exports, "search", made);
  return exports;
}

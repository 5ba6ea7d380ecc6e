/*
 * Runs programs for the host without copying it. `fork(2)`, which Node starts processes by, copies the page tables of a
 * server that holds hundreds of megabytes, in the thread that serves everybody, and every page it writes to afterwards is
 * copied once more. `posix_spawn(3)` shares the memory until the program is there, in a thread of its own that nobody waits for.
 *
 *     start(file, [argument, …], [`NAME=value`, …], input, capture, session, (error, code, signal, output, said) => …) → a process
 *     stop(process)
 *
 * `input` is a text, or undefined for nothing. With `capture` what it writes comes back as `output` and `said` (standard
 * error), up to `MOST_OUTPUT` bytes each, else nobody reads it. With `session` it has a session of its own. `error` is an
 * errno of a start that failed, or 0. `stop` sends SIGKILL to a process that has not ended, also before it was started.
 */
#include "arguments.h"
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_OUTPUT (16 << 20)
#define STACK (256 << 10)

struct process {
  pthread_mutex_t lock;
  /* The pid while it may be killed, else 0. */
  pid_t alive;
  int unwanted, session, capture, error, code, signal;
  /* The thread's, and what JavaScript holds to kill it by. */
  atomic_int holders;
  char *file, **arguments, **environment, *input, *text[2];
  size_t input_length, length[2];
  napi_threadsafe_function ended;
};

static void free_list(char **list) {
  for (char **at = list; at && *at; at++) free(*at);
  free(list);
}

static void let_go(struct process *process) {
  if (atomic_fetch_sub(&process->holders, 1) > 1) return;
  free_list(process->arguments), free_list(process->environment);
  free(process->file), free(process->input), free(process->text[0]), free(process->text[1]);
  pthread_mutex_destroy(&process->lock);
  free(process);
}

/* A file in memory: nobody has to read while the program writes. */
static int file_with(const char *text, size_t length) {
  int fd = memfd_create("process", MFD_CLOEXEC);
  while (fd >= 0 && length > 0) {
    ssize_t written = write(fd, text, length);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return close(fd), -1;
    text += written, length -= (size_t)written;
  }
  if (fd >= 0) lseek(fd, 0, SEEK_SET);
  return fd;
}

static void read_back(int fd, char **text, size_t *length) {
  struct stat facts;
  if (fstat(fd, &facts) < 0) return;
  size_t size = facts.st_size > MOST_OUTPUT ? MOST_OUTPUT : (size_t)facts.st_size;
  if (!(*text = malloc(size + 1))) return;
  for (ssize_t got; *length < size && (got = pread(fd, *text + *length, size - *length, (off_t)*length)) != 0;) {
    if (got > 0) *length += (size_t)got;
    else if (errno != EINTR) break;
  }
}

static int launch(struct process *process, const int streams[3], pid_t *pid) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t all, none;
  sigfillset(&all), sigemptyset(&none);
  posix_spawn_file_actions_init(&actions), posix_spawnattr_init(&attributes);
  for (int at = 0; at < 3; at++) posix_spawn_file_actions_adddup2(&actions, streams[at], at);
  posix_spawnattr_setsigdefault(&attributes, &all), posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK |
                                            (process->session ? POSIX_SPAWN_SETSID : 0));
  int error = posix_spawn(pid, process->file, &actions, &attributes, process->arguments, process->environment);
  posix_spawn_file_actions_destroy(&actions), posix_spawnattr_destroy(&attributes);
  return error;
}

/* It keeps its number until it is waited for, so that nobody else is killed in its place. */
static void wait_for(struct process *process, pid_t pid) {
  siginfo_t how;
  pthread_mutex_lock(&process->lock);
  process->alive = pid;
  if (process->unwanted) kill(pid, SIGKILL);
  pthread_mutex_unlock(&process->lock);
  while (waitid(P_PID, (id_t)pid, &how, WEXITED | WNOWAIT) < 0 && errno == EINTR);
  pthread_mutex_lock(&process->lock);
  process->alive = 0;
  while (waitid(P_PID, (id_t)pid, &how, WEXITED) < 0 && errno == EINTR);
  pthread_mutex_unlock(&process->lock);
  if (how.si_code == CLD_EXITED) process->code = how.si_status;
  else process->signal = how.si_status;
}

static void *run(void *given) {
  struct process *process = given;
  pid_t pid;
  int none = open("/dev/null", O_RDWR | O_CLOEXEC);
  int streams[3] = {process->input ? file_with(process->input, process->input_length) : none,
                    process->capture ? file_with("", 0) : none, process->capture ? file_with("", 0) : none};
  process->error = streams[0] < 0 || streams[1] < 0 || streams[2] < 0 ? errno : launch(process, streams, &pid);
  if (process->error == 0) wait_for(process, pid);
  for (int at = 1; at < 3 && process->capture; at++) read_back(streams[at], &process->text[at - 1], &process->length[at - 1]);
  for (int at = 0; at < 3; at++)
    if (streams[at] >= 0 && streams[at] != none) close(streams[at]);
  if (none >= 0) close(none);
  napi_call_threadsafe_function(process->ended, process, napi_tsfn_blocking);
  return NULL;
}

static void tell(napi_env env, napi_value callback, void *context, void *given) {
  (void)context;
  struct process *process = given;
  napi_threadsafe_function ended = process->ended;
  napi_value self, told[5];
  if (env) {
    const int numbers[] = {process->error, process->code, process->signal};
    napi_get_undefined(env, &self);
    for (int at = 0; at < 3; at++) napi_create_int32(env, numbers[at], &told[at]);
    for (int at = 0; at < 2; at++) napi_create_string_utf8(env, process->text[at] ? process->text[at] : "", process->length[at], &told[3 + at]);
    napi_call_function(env, self, callback, 5, told, NULL);
  }
  let_go(process);
  napi_release_threadsafe_function(ended, napi_tsfn_release);
}

static void dropped(napi_env env, void *given, void *hint) {
  (void)env, (void)hint;
  let_go(given);
}

/* `first`, where there is one, and the texts of the list; ends with NULL. */
static char **copy_list(napi_env env, napi_value list, const char *first) {
  uint32_t count, at = first ? 1 : 0;
  if (napi_get_array_length(env, list, &count) != napi_ok) return NULL;
  char **texts = calloc(count + 2, sizeof *texts);
  if (!texts || (first && !(texts[0] = strdup(first)))) return free(texts), NULL;
  for (uint32_t item = 0; item < count; item++) {
    napi_value value;
    napi_get_element(env, list, item, &value);
    if (!(texts[at++] = text(env, value))) return free_list(texts), NULL;
  }
  return texts;
}

static int start_thread(struct process *process) {
  pthread_t thread;
  pthread_attr_t attributes;
  sigset_t all, before;
  sigfillset(&all);
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, STACK), pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  /* Signals to the server are not this thread's. */
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = pthread_create(&thread, &attributes, run, process);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
  return error;
}

static napi_value start(napi_env env, napi_callback_info info) {
  ARGUMENTS(7);
  napi_value name, held;
  napi_valuetype kind = napi_undefined;
  bool capture = false, session = false;
  struct process *process = calloc(1, sizeof *process);
  if (!process) return napi_throw_error(env, NULL, "no memory"), NULL;
  pthread_mutex_init(&process->lock, NULL);
  atomic_init(&process->holders, 1);
  int whole = argc == 7 && (process->file = text(env, argv[0])) &&
              (process->arguments = copy_list(env, argv[1], process->file)) &&
              (process->environment = copy_list(env, argv[2], NULL)) && napi_typeof(env, argv[3], &kind) == napi_ok &&
              (kind == napi_undefined || (process->input = content(env, argv[3], &process->input_length))) &&
              napi_get_value_bool(env, argv[4], &capture) == napi_ok && napi_get_value_bool(env, argv[5], &session) == napi_ok;
  process->capture = capture, process->session = session;
  napi_create_string_utf8(env, "process", NAPI_AUTO_LENGTH, &name);
  if (!whole || napi_create_threadsafe_function(env, argv[6], NULL, name, 0, 1, NULL, NULL, NULL, tell, &process->ended) != napi_ok)
    return let_go(process), napi_throw_type_error(env, NULL, "start: wrong arguments"), NULL;
  atomic_fetch_add(&process->holders, 1);
  if (napi_create_external(env, process, dropped, NULL, &held) != napi_ok) let_go(process), held = NULL;
  int error = start_thread(process);
  if (error != 0) {
    /* There is no thread, which would write there itself. */
    process->error = error;
    napi_call_threadsafe_function(process->ended, process, napi_tsfn_blocking);
  }
  return held;
}

static napi_value stop(napi_env env, napi_callback_info info) {
  ARGUMENTS(1);
  struct process *process = NULL;
  if (argc != 1 || napi_get_value_external(env, argv[0], (void **)&process) != napi_ok) return NULL;
  pthread_mutex_lock(&process->lock);
  process->unwanted = 1;
  if (process->alive > 0) kill(process->alive, SIGKILL);
  pthread_mutex_unlock(&process->lock);
  return NULL;
}

NAPI_MODULE_INIT() {
  FUNCTION(start);
  FUNCTION(stop);
  return exports;
}

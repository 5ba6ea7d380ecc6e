/* System calls about processes, files and privileges that Node does not offer. One thin function each. */
#include "arguments.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static napi_value exit_of(napi_env env, pid_t pid, int exit_code, int signal, long peak_kib) {
  napi_value out;
  napi_create_array_with_length(env, 4, &out);
  napi_set_element(env, out, 0, number(env, pid));
  napi_set_element(env, out, 1, number(env, exit_code));
  napi_set_element(env, out, 2, number(env, signal));
  napi_set_element(env, out, 3, number(env, peak_kib));
  return out;
}

/* wait(pid) → [pid, exit code or -1, signal or 0, peak resident KiB], 0 when it still runs, or a negated errno. Never blocks. */
static napi_value wait_for(napi_env env, napi_callback_info info) {
  ARGUMENTS(1);
  int status;
  struct rusage used = {0};
  pid_t pid = wait4((pid_t)integer(env, argv[0], -1), &status, WNOHANG, &used);
  if (pid <= 0) return result(env, pid);
  if (WIFSIGNALED(status)) return exit_of(env, pid, -1, WTERMSIG(status), used.ru_maxrss);
  return exit_of(env, pid, WEXITSTATUS(status), 0, used.ru_maxrss);
}

/* random(buffer): fills it, at most 256 bytes, with the kernel's randomness → 0 or a negated errno. */
static napi_value random_bytes(napi_env env, napi_callback_info info) {
  ARGUMENTS(1);
  void *data;
  size_t length;
  errno = EINVAL;
  if (napi_get_buffer_info(env, argv[0], &data, &length) != napi_ok || length > 256) return result(env, -1);
  /* So few come in one call, unless a signal arrives before the kernel's generator is ready. */
  ssize_t given;
  do given = getrandom(data, length, 0);
  while (given < 0 && errno == EINTR);
  return result(env, given == (ssize_t)length ? 0 : -1);
}

/* peek() → the pid of a child that has exited, without reaping it; 0 when there is none; or a negated errno. */
static napi_value peek(napi_env env, napi_callback_info info) {
  (void)info;
  siginfo_t child = {0};
  if (waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT) < 0) return result(env, -1);
  return number(env, child.si_pid);
}

/* read_stat(pid) → the line of /proc/PID/stat, or a negated errno. */
static napi_value read_stat(napi_env env, napi_callback_info info) {
  ARGUMENTS(1);
  char path[32], line[1024];
  snprintf(path, sizeof path, "/proc/%d/stat", (int)integer(env, argv[0], -1));
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return result(env, -1);
  ssize_t size = read(file, line, sizeof line);
  int error = errno;
  close(file);
  if (size < 0) return number(env, -error);
  napi_value text;
  return napi_create_string_latin1(env, line, (size_t)size, &text) == napi_ok ? text : number(env, -ENOMEM);
}

static napi_value send_signal(napi_env env, napi_callback_info info) {
  ARGUMENTS(2);
  return result(env, kill((pid_t)integer(env, argv[0], 0), (int)integer(env, argv[1], -1)));
}

/* control(option, argument): prctl with one argument. */
static napi_value control(napi_env env, napi_callback_info info) {
  ARGUMENTS(2);
  return result(env, prctl((int)integer(env, argv[0], -1), (unsigned long)integer(env, argv[1], 0), 0UL, 0UL, 0UL));
}

/* punch(fd, offset, length): releases the blocks of a range; the file keeps its size and reads as zeros there. */
static napi_value punch(napi_env env, napi_callback_info info) {
  ARGUMENTS(3);
  return result(env, fallocate((int)integer(env, argv[0], -1), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                               integer(env, argv[1], -1), integer(env, argv[2], -1)));
}

static napi_value lock(napi_env env, napi_callback_info info) {
  ARGUMENTS(2);
  return result(env, flock((int)integer(env, argv[0], -1), (int)integer(env, argv[1], 0)));
}

static napi_value ignore_signal(napi_env env, napi_callback_info info) {
  ARGUMENTS(1);
  struct sigaction ignore = {.sa_handler = SIG_IGN};
  return result(env, sigaction((int)integer(env, argv[0], -1), &ignore, NULL));
}

/* The raw system call: glibc reserves two real-time signals. */
struct kernel_action {
  void (*handler)(int);
  unsigned long flags;
  void (*restorer)(void);
  uint64_t mask;
};

/*
 * ignore_fatal(): ignores every signal whose default action would end us, except those that a program fault raises. The
 * kernel drops such signals for PID 1, but not while its main thread has them blocked and another thread has not. That
 * is so during every fork, and they would end it then.
 */
static napi_value ignore_fatal(napi_env env, napi_callback_info info) {
  (void)info;
  const int spared[] = {SIGKILL, SIGSTOP, SIGCHLD, SIGCONT, SIGURG, SIGWINCH, SIGTSTP, SIGTTIN, SIGTTOU, SIGSEGV,
                        SIGBUS,  SIGFPE,  SIGILL,  SIGTRAP, SIGABRT, SIGSYS};
  for (int number = 1; number <= 64; number++) {
    int spare = 0;
    for (size_t i = 0; i < sizeof spared / sizeof *spared; i++) spare |= spared[i] == number;
    struct kernel_action now, ignore = {.handler = SIG_IGN};
    if (spare || syscall(SYS_rt_sigaction, number, NULL, &now, sizeof now.mask) < 0) continue;
    if (now.handler == SIG_DFL) syscall(SYS_rt_sigaction, number, &ignore, NULL, sizeof now.mask);
  }
  return result(env, 0);
}

static struct sigaction guarded[NSIG];

/*
 * Whether the sender is outside of our pid namespace: it then has no pid here, and 0 is shown. Only signals from
 * kill(2) and from the kernel are believed: with sigqueue a sender writes the pid itself, and a tenant's descriptors
 * may signal us too (F_SETSIG).
 */
static int is_from_outside(const siginfo_t *sent) {
  if (sent->si_code == SI_KERNEL) return 1;
  if (sent->si_code != SI_USER && sent->si_code != SI_TKILL) return 0;
  return sent->si_pid == 0 || sent->si_pid == getpid();
}

static void from_outside(int number, siginfo_t *sent, void *context) {
  if (!is_from_outside(sent)) return;
  struct sigaction *before = &guarded[number];
  if (before->sa_flags & SA_SIGINFO) before->sa_sigaction(number, sent, context);
  else if (before->sa_handler != SIG_DFL && before->sa_handler != SIG_IGN) before->sa_handler(number);
}

/* guard_signal(number): the handler that is installed now runs only for signals from outside of our pid namespace. */
static napi_value guard_signal(napi_env env, napi_callback_info info) {
  ARGUMENTS(1);
  int64_t number = integer(env, argv[0], -1);
  struct sigaction now, guard = {.sa_sigaction = from_outside};
  errno = EINVAL;
  if (number <= 0 || number >= NSIG || sigaction((int)number, NULL, &now) < 0) return result(env, -1);
  if (now.sa_flags & SA_SIGINFO && now.sa_sigaction == from_outside) return result(env, 0);
  guarded[number] = now;
  guard.sa_mask = now.sa_mask;
  guard.sa_flags = SA_SIGINFO | SA_RESTART;
  return result(env, sigaction((int)number, &guard, NULL));
}

NAPI_MODULE_INIT() {
  FUNCTION(ignore_signal);
  FUNCTION(guard_signal);
  FUNCTION(ignore_fatal);
  FUNCTION(wait_for);
  FUNCTION(random_bytes);
  FUNCTION(peek);
  FUNCTION(read_stat);
  FUNCTION(send_signal);
  FUNCTION(control);
  FUNCTION(punch);
  FUNCTION(lock);
  return exports;
}

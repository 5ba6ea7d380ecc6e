/*
 * Starts a program: fork and exec, with everything that a tenant's process needs set in between. The child is made with
 * CLONE_VM | CLONE_VFORK: it borrows our memory until it execs, so nothing is copied and a large daemon spawns as fast
 * as a small one. That puts three rules on the child: it runs on its own stack, it makes only raw system calls (glibc's
 * setuid family would signal our threads), and it reports failure in shared memory. CLONE_VFORK also makes the kernel
 * give the child an oom_score_adj of its own although the memory is shared. While the child borrows our memory it may
 * already have a tenant's user id. Nobody can trace it then, because a change of user id clears the dumpable flag. But
 * a tenant could stop it or let it wait, and we would wait for ever; so a watchdog thread kills a child that has not
 * reached its exec in time. One that wants to go on, and only does not get the processor or the disk of a busy machine,
 * has more time.
 */
#include "arguments.h"
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define STACK_BYTES (64 * 1024)
#define MAX_DESCRIPTORS 16
/* On a busy machine gVisor takes seconds for what the kernel does in a millisecond. */
#define PATIENCE_SECONDS 10
/* So often it is looked at again. */
#define MORE_LOOKS 5

enum stage { DESCRIPTORS = 1, SESSION, OOM, CAPABILITIES, IDENTITY, PRIVILEGES, DIRECTORY, EXEC };

struct plan {
  char *file, *cwd, **argv, **envp;
  int descriptors[MAX_DESCRIPTORS], descriptor_count;
  int session, group, terminal, no_new_privileges, death_signal, umask, oom;
  int has_oom, oom_is_late, change_identity, lose_capabilities;
  uid_t uid;
  gid_t gid, *groups;
  size_t group_count;
  uint64_t drop;
  sigset_t mask;
  int stage, error;
};

static int fail_at(struct plan *plan, int stage) {
  plan->error = errno;
  plan->stage = stage;
  return -1;
}

static void close_from(int first) {
  if (syscall(SYS_close_range, first, ~0U, 0) == 0) return;
  struct rlimit limit; /* before Linux 5.9 */
  int end = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < 65536 ? (int)limit.rlim_cur : 65536;
  for (int fd = first; fd < end; fd++) close(fd);
}

/*
 * Makes descriptors[i] descriptor i. All are first duplicated above the targets, so that no target overwrites a source.
 */
static int place_descriptors(struct plan *plan) {
  for (int i = 0; i < plan->descriptor_count; i++) {
    int *fd = &plan->descriptors[i];
    if (*fd < 0) *fd = open("/dev/null", O_RDWR);
    if (*fd < 0) return -1;
    if ((*fd = fcntl(*fd, F_DUPFD_CLOEXEC, MAX_DESCRIPTORS)) < 0) return -1;
  }
  for (int i = 0; i < plan->descriptor_count; i++)
    if (dup2(plan->descriptors[i], i) < 0) return -1;
  close_from(plan->descriptor_count);
  return 0;
}

/* `process` is its directory in /proc. */
static int write_oom(const char *process, int score) {
  char path[64], digits[16];
  snprintf(path, sizeof path, "%s/oom_score_adj", process);
  int length = snprintf(digits, sizeof digits, "%d", score);
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  int wrote = write(fd, digits, length) == length;
  close(fd);
  return wrote ? 0 : -1;
}

/*
 * Before its exec a child has our memory, and in a sandbox of its own users the files in /proc of whoever has that are
 * nobody's to write; afterwards they are. Best effort: it may have ended, and a lower score needs a capability.
 */
static void set_oom(pid_t pid, int score) {
  char process[32];
  snprintf(process, sizeof process, "/proc/%d", (int)pid);
  if (write_oom(process, score) < 0) errno = 0;
}

/*
 * Removes capabilities from the bounding set. Those that the child itself has until its exec stay, because changing its
 * user needs them; exec then gives root the bounding set, and everybody else the (cleared) ambient and inheritable
 * sets.
 */
static int drop_capabilities(uint64_t drop) {
  for (int capability = 0; capability < 64; capability++) {
    if (!(drop >> capability & 1)) continue;
    /* Without privileges of our own there is nothing to remove, and we may not shrink the set. */
    if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0 && geteuid() == 0) return -1;
  }
  /* EINVAL: before Linux 4.3 there is no ambient set. */
  if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 && errno != EINVAL) return -1;
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct data[2];
  if (syscall(SYS_capget, &header, data) < 0) return -1;
  data[0].inheritable = data[1].inheritable = 0;
  return syscall(SYS_capset, &header, data) < 0 ? -1 : 0;
}

static int become(struct plan *plan) {
  if (syscall(SYS_setgroups, plan->group_count, plan->groups) < 0) return -1;
  if (syscall(SYS_setresgid, plan->gid, plan->gid, plan->gid) < 0) return -1;
  return syscall(SYS_setresuid, plan->uid, plan->uid, plan->uid) < 0 ? -1 : 0;
}

static int prepare(struct plan *plan) {
  if (plan->session && setsid() < 0) return fail_at(plan, SESSION);
  if (plan->group && setpgid(0, 0) < 0) return fail_at(plan, SESSION);
  if (place_descriptors(plan) < 0) return fail_at(plan, DESCRIPTORS);
  if (plan->terminal && ioctl(0, TIOCSCTTY, 0) < 0) return fail_at(plan, SESSION);
  /* Best effort: /proc may be missing. */
  plan->oom_is_late = plan->has_oom && write_oom("/proc/self", plan->oom) < 0;
  if (plan->umask >= 0) umask(plan->umask);
  if (plan->lose_capabilities && drop_capabilities(plan->drop) < 0) return fail_at(plan, CAPABILITIES);
  if (plan->change_identity && become(plan) < 0) return fail_at(plan, IDENTITY);
  if (plan->death_signal && prctl(PR_SET_PDEATHSIG, plan->death_signal, 0, 0, 0) < 0) return fail_at(plan, PRIVILEGES);
  if (plan->no_new_privileges && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) return fail_at(plan, PRIVILEGES);
  if (plan->cwd && chdir(plan->cwd) < 0) return fail_at(plan, DIRECTORY);
  return 0;
}

static int child(void *argument) {
  struct plan *plan = argument;
  /* Node ignores SIGPIPE and handles other signals; a new program expects the defaults and no blocked signals. */
  const char standard[32] = {0}; /* the kernel's struct sigaction: SIG_DFL, no flags, nothing masked */
  for (int signal = 1; signal <= 64; signal++) syscall(SYS_rt_sigaction, signal, standard, NULL, 8);
  if (prepare(plan) == 0) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execve(plan->file, plan->argv, plan->envp);
    fail_at(plan, EXEC);
  }
  _exit(127);
}

static struct {
  pthread_once_t once;
  int timer;
  volatile pid_t child;
  volatile int fired;
} watchdog = {PTHREAD_ONCE_INIT, -1, 0, 0};

/* Whether it runs or waits for the disk (proc_pid_stat(5)): nobody but the kernel lets a process do either. */
static int is_under_way(pid_t pid) {
  char path[32], text[256];
  snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  ssize_t size = read(file, text, sizeof text - 1);
  close(file);
  if (size <= 0) return 0;
  text[size] = 0;
  /* The name before it may have any letters. */
  const char *state = strrchr(text, ')');
  return state && state[1] == ' ' && (state[2] == 'R' || state[2] == 'D');
}

static void *watch(void *unused) {
  (void)unused;
  pid_t last = 0;
  int looks = 0;
  for (;;) {
    uint64_t expirations;
    if (read(watchdog.timer, &expirations, sizeof expirations) < 0) continue;
    pid_t stuck = watchdog.child;
    if (stuck <= 0) continue;
    looks = stuck == last ? looks + 1 : 0;
    last = stuck;
    if (looks < MORE_LOOKS && is_under_way(stuck)) continue;
    watchdog.fired = 1;
    kill(stuck, SIGKILL);
  }
  return NULL;
}

static void start_watchdog(void) {
  int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
  if (timer < 0) return;
  watchdog.timer = timer;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, STACK_BYTES);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  if (pthread_create(&thread, &attributes, watch, NULL) != 0) {
    close(timer);
    watchdog.timer = -1;
  }
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void arm(int seconds) {
  if (watchdog.timer < 0) return;
  struct itimerspec when = {.it_value.tv_sec = seconds, .it_interval.tv_sec = seconds};
  timerfd_settime(watchdog.timer, 0, &when, NULL);
}

static pid_t launch(struct plan *plan) {
  /* Used again for the next child: only the main thread spawns, and a child no longer uses it when the call returns. */
  static void *stack = MAP_FAILED;
  if (stack == MAP_FAILED)
    stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stack == MAP_FAILED) return -1;
  pthread_once(&watchdog.once, start_watchdog);
  /* Signals are blocked until the child has reset the handlers: ours must not run on its stack. */
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  watchdog.child = watchdog.fired = 0;
  arm(PATIENCE_SECONDS);
  /* CLONE_PARENT_SETTID: the watchdog knows the child before it runs. */
  pid_t pid = clone(child, (char *)stack + STACK_BYTES, CLONE_VM | CLONE_VFORK | CLONE_PARENT_SETTID | SIGCHLD, plan,
                    &watchdog.child);
  int error = errno;
  watchdog.child = 0;
  arm(0);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (pid > 0 && watchdog.fired) {
    plan->error = ETIMEDOUT;
    plan->stage = EXEC;
  }
  errno = error;
  return pid;
}

/*
 * The bounding set. Read once: it only ever shrinks, and dropping a capability that is no longer in it does no harm.
 * Capabilities that this kernel does not know are not in it.
 */
static uint64_t bounding_set(void) {
  static uint64_t known;
  if (known) return known;
  for (int capability = 0; capability < 64; capability++)
    if (prctl(PR_CAPBSET_READ, capability, 0, 0, 0) == 1) known |= 1ULL << capability;
  return known;
}

static char **strings(napi_env env, napi_value array) {
  uint32_t count = 0;
  if (napi_get_array_length(env, array, &count) != napi_ok) return NULL;
  char **out = calloc(count + 1, sizeof *out);
  for (uint32_t i = 0; out && i < count; i++) {
    napi_value item;
    napi_get_element(env, array, i, &item);
    if ((out[i] = text(env, item))) continue;
    for (uint32_t made = 0; made < i; made++) free(out[made]);
    free(out);
    return NULL;
  }
  return out;
}

static void release(char **list) {
  for (char **item = list; list && *item; item++) free(*item);
  free(list);
}

static int read_plan(napi_env env, napi_value options, struct plan *plan) {
  plan->file = text(env, property(env, options, "file"));
  plan->cwd = text(env, property(env, options, "cwd"));
  plan->argv = strings(env, property(env, options, "args"));
  plan->envp = strings(env, property(env, options, "env"));
  if (!plan->file || !plan->argv || !plan->envp) return -1;
  uint32_t count = 0;
  napi_value item, list = property(env, options, "descriptors");
  if (napi_get_array_length(env, list, &count) != napi_ok || count > MAX_DESCRIPTORS) return -1;
  plan->descriptor_count = (int)count;
  for (uint32_t i = 0; i < count; i++) {
    napi_get_element(env, list, i, &item);
    plan->descriptors[i] = (int)integer(env, item, -1);
  }
  plan->session = truthy(env, property(env, options, "session"));
  plan->group = truthy(env, property(env, options, "group"));
  plan->terminal = truthy(env, property(env, options, "terminal"));
  plan->no_new_privileges = truthy(env, property(env, options, "noNewPrivileges"));
  plan->death_signal = (int)integer(env, property(env, options, "deathSignal"), 0);
  plan->umask = (int)integer(env, property(env, options, "umask"), -1);
  plan->oom = (int)integer(env, property(env, options, "oomScore"), 10000);
  plan->has_oom = plan->oom != 10000;
  bool lossless;
  if (napi_get_value_bigint_uint64(env, property(env, options, "dropCapabilities"), &plan->drop, &lossless) != napi_ok)
    plan->drop = 0;
  if ((plan->lose_capabilities = plan->drop != 0)) plan->drop &= bounding_set();
  int64_t uid = integer(env, property(env, options, "uid"), -1), gid = integer(env, property(env, options, "gid"), -1);
  if (uid < 0) return 0;
  if (gid < 0 || napi_get_array_length(env, list = property(env, options, "groups"), &count) != napi_ok) return -1;
  plan->change_identity = 1;
  plan->uid = (uid_t)uid;
  plan->gid = (gid_t)gid;
  plan->group_count = count;
  if (!(plan->groups = calloc(count + 1, sizeof *plan->groups))) return -1;
  for (uint32_t i = 0; i < count; i++) {
    napi_get_element(env, list, i, &item);
    plan->groups[i] = (gid_t)integer(env, item, -1);
  }
  return 0;
}

/* spawn(options) → pid, or a negated errno plus 100000 times the stage at which it happened. */
static napi_value spawn(napi_env env, napi_callback_info info) {
  ARGUMENTS(1);
  struct plan plan = {0};
  int64_t pid = -EINVAL;
  if (read_plan(env, argv[0], &plan) == 0) {
    pid = launch(&plan);
    if (pid < 0) pid = -errno;
    else if (plan.error) {
      syscall(SYS_wait4, pid, NULL, 0, NULL); /* it has ended or is about to: it failed before its exec */
      pid = -(plan.error + 100000 * plan.stage);
    } else if (plan.oom_is_late) set_oom((pid_t)pid, plan.oom);
  }
  free(plan.file);
  free(plan.cwd);
  free(plan.groups);
  release(plan.argv);
  release(plan.envp);
  return number(env, pid);
}

NAPI_MODULE_INIT() {
  FUNCTION(spawn);
  return exports;
}

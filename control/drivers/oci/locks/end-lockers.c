/*
 * Ends processes of machines that hold too many record locks, until each machine has no more than it may:
 *
 *     end-lockers <limit> <directory of the machines' control groups>
 *
 * Prints `<machine> <pid> <locks>` for each process that it ends, and at last `used <ms>` of a processor.
 *
 * `/proc/locks` names who made each lock, which is quickly read but is not who has it where processes share descriptors, and a number
 * may be another process's by now: so nobody is ended for what is not in its own descriptors. Where those that are named do not have what
 * the list has, all processes are looked through.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <time.h>
#include "held-locks.h"

/* Of the kernel's list: reading costs the kernel more with each line. */
#define MOST_LINES 30000

struct process {
  int pid, machine, ended;
  size_t named, locks;
};

static struct process *processes;
static size_t count, room;
static char **machines;
static size_t machine_count;
static int machine_now;
static size_t limit;

static void fail(const char *step) {
  fprintf(stderr, "%s: %s\n", step, strerror(errno));
  exit(1);
}

static void *grown(void *list, size_t size) {
  list = realloc(list, size);
  if (!list) fail("memory");
  return list;
}

/* Visits directories of control groups; one may be gone by now. */
static int keep_processes(const char *path, const struct stat *, int kind, struct FTW *) {
  char file[4096];
  if (kind != FTW_D || snprintf(file, sizeof file, "%s/cgroup.procs", path) >= (int)sizeof file) return 0;
  FILE *text = fopen(file, "re");
  for (int pid; text && fscanf(text, "%d", &pid) == 1;) {
    if (pid <= 0) continue;
    if (count == room) processes = grown(processes, (room = room ? room * 2 : 1024) * sizeof *processes);
    processes[count++] = (struct process){.pid = pid, .machine = machine_now};
  }
  if (text) fclose(text);
  return 0;
}

static void list_machines(const char *directory) {
  DIR *list = opendir(directory);
  /* There has been no machine yet. */
  if (!list && errno == ENOENT) return;
  if (!list) fail(directory);
  for (struct dirent *entry; (entry = readdir(list));) {
    char path[4096];
    if (entry->d_type != DT_DIR || entry->d_name[0] == '.') continue;
    machines = grown(machines, (machine_count + 1) * sizeof *machines);
    machines[machine_now = machine_count++] = strdup(entry->d_name);
    if (snprintf(path, sizeof path, "%s/%s", directory, entry->d_name) < (int)sizeof path) nftw(path, keep_processes, 16, FTW_PHYS);
  }
  closedir(list);
}

static int by_pid(const void *one, const void *other) {
  return ((const struct process *)one)->pid - ((const struct process *)other)->pid;
}

static int most_first(const void *one, const void *other) {
  size_t a = ((const struct process *)one)->locks, b = ((const struct process *)other)->locks;
  return (a < b) - (a > b);
}

static struct process *process_of(int pid) {
  return bsearch(&(struct process){.pid = pid}, processes, count, sizeof *processes, by_pid);
}

/*
 * `1: POSIX  ADVISORY  WRITE <pid> …`. Answers how many are listed of machines and of processes that have ended, or SIZE_MAX when the
 * list is too long to say.
 */
static size_t read_list(void) {
  FILE *text = fopen("/proc/locks", "re");
  char line[256];
  size_t listed = 0;
  if (!text) fail("/proc/locks");
  for (size_t at = 0; fgets(line, sizeof line, text); at++) {
    int pid;
    if (at == MOST_LINES) {
      listed = SIZE_MAX;
      break;
    }
    if (sscanf(line, "%*d: POSIX %*s %*s %d", &pid) != 1) continue;
    struct process *found = process_of(pid);
    if (found) found->named++;
    listed += found || kill(pid, 0) < 0;
  }
  fclose(text);
  return listed;
}

/* The number may be another's by now: the descriptor is of who had it before it was looked through. */
static void end_process(struct process *process, int descriptor) {
  if (syscall(SYS_pidfd_send_signal, descriptor, SIGKILL, NULL, 0) < 0) {
    if (errno == ESRCH) return;
    fail("kill");
  }
  printf("%s %d %zu\n", machines[process->machine], process->pid, process->locks);
  process->ended = 1;
}

/* `<number>:<controllers>:/<instance>/<machine>`, and perhaps a directory below. */
static int still_of(const struct process *process) {
  char path[64], line[4096], wanted[300];
  int found = 0;
  size_t length = snprintf(wanted, sizeof wanted, "/%s", machines[process->machine]);
  snprintf(path, sizeof path, "/proc/%d/cgroup", process->pid);
  FILE *text = fopen(path, "re");
  while (text && fgets(line, sizeof line, text))
    for (const char *at = line; (at = strstr(at, wanted)); at++) found |= at[length] == '\n' || at[length] == '/';
  if (text) fclose(text);
  return found;
}

/* Who was ended while it sleeps goes when it wakes: `ShdPnd` in proc(5), where signal 9 is bit 8. */
static int is_ending(const struct process *process) {
  char path[64], line[4096];
  unsigned long long pending = 0;
  snprintf(path, sizeof path, "/proc/%d/status", process->pid);
  FILE *text = fopen(path, "re");
  while (text && fgets(line, sizeof line, text))
    if (sscanf(line, "ShdPnd: %llx", &pending) == 1) break;
  if (text) fclose(text);
  return pending >> (SIGKILL - 1) & 1;
}

/* Counts anew; whoever is beyond what a whole machine may have is ended at once, and whoever `must` is. */
static void look_at(struct process *process, int must) {
  int descriptor = syscall(SYS_pidfd_open, process->pid, 0);
  if (descriptor < 0) {
    if (errno != ESRCH) fail("open process");
    process->locks = 0;
    return;
  }
  process->locks = still_of(process) && !is_ending(process) ? locks_of(process->pid, limit) : 0;
  if (process->locks > (must ? 0 : limit)) end_process(process, descriptor);
  close(descriptor);
}

static size_t look_at_all(int named) {
  size_t explained = 0;
  for (size_t at = 0; at < count; at++) {
    struct process *process = &processes[at];
    if (process->ended || !process->named != !named) continue;
    look_at(process, 0);
    explained += process->ended ? process->named : process->locks;
  }
  return explained;
}

int main(int argc, char **argv) {
  if (argc != 3) return fputs("usage: end-lockers <limit> <directory>\n", stderr), 2;
  limit = strtoul(argv[1], NULL, 10);
  list_machines(argv[2]);
  qsort(processes, count, sizeof *processes, by_pid);
  size_t listed = read_list();
  if (listed - limit > look_at_all(1) && listed > limit) look_at_all(0);
  size_t *held = zeroed(machine_count + 1, sizeof *held);
  for (size_t at = 0; at < count; at++)
    if (!processes[at].ended) held[processes[at].machine] += processes[at].locks;
  qsort(processes, count, sizeof *processes, most_first);
  for (size_t at = 0; at < count; at++) {
    struct process *process = &processes[at];
    if (process->ended || held[process->machine] <= limit) continue;
    size_t before = process->locks;
    look_at(process, 1);
    held[process->machine] -= before;
  }
  struct timespec used;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  printf("used %ld\n", (long)used.tv_sec * 1000 + used.tv_nsec / 1000000);
  return 0;
}

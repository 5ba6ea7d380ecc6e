/*
 * Makes pairs of a user namespace and a network namespace that belongs to it, and keeps them while a program names
 * the second:
 *
 *     hold-namespaces <first id> ... -- <program> [<argument> ...]
 *
 * In each pair the ids 0 to 65535 are those from <first id> on outside. For each pair a process is in both, and this
 * one becomes the program, on whose end they end, too. It reads what this one was given to read, with the process ids in
 * the places of `@0`, `@1` and so on. A user namespace needs no name: its network namespace keeps it.
 *
 * What the kernel counts per user inside of a user namespace (pending signals, message queues, inotify) it counts again
 * for the user outside who made it. Made by root they would all share what root may have; so each is made under its own
 * first id, and its machine has in all what one user of the box may have.
 *
 * Where that cannot be done it says which step failed, and why, on its standard error and exits with 1.
 */
#define _GNU_SOURCE
#include "id-map.h"
#include <linux/securebits.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

/* Signals queued and timers set in one machine, by all of its users together. */
#define PENDING 65536

static void fail(const char *step) {
  fprintf(stderr, "user namespaces: %s: %s\n", step, strerror(errno));
  exit(1);
}

/* What the namespace's users may have together is what its maker may have at this moment. */
static int limit_pending(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_SIGPENDING, &limit) < 0) return -1;
  limit.rlim_cur = limit.rlim_max < PENDING ? limit.rlim_max : PENDING;
  return setrlimit(RLIMIT_SIGPENDING, &limit);
}

/* Keeps its capabilities, so that boxes which refuse user namespaces to users let it through. */
static int become(unsigned id) {
  if (prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP) < 0) return -1;
  return (int)syscall(SYS_setresuid, -1, id, -1);
}

/* Goes on when a byte comes through the gate, and ends when the gate is closed, be it by the parent's death. */
static void hold(unsigned id, int ready, int gate) {
  char error = 0;
  if (limit_pending() < 0 || become(id) < 0 || unshare(CLONE_NEWUSER) < 0) error = (char)errno;
  if (write(ready, &error, 1) != 1 || error || read(gate, &error, 1) != 1) _exit(1);
  /* Only now, so that what belongs to root in the new network belongs to a user who exists. */
  error = unshare(CLONE_NEWNET) < 0 ? (char)errno : 0;
  if (write(ready, &error, 1) != 1 || error || read(gate, &error, 1) < 0) _exit(1);
  _exit(0);
}

static void await(int ready, const char *step) {
  char error = EPIPE;
  if (read(ready, &error, 1) == 1 && error == 0) return;
  errno = error;
  fail(step);
}

static pid_t pair(unsigned id) {
  int ready[2], gate[2];
  char lines[64];
  if (pipe2(ready, O_CLOEXEC) < 0 || pipe2(gate, O_CLOEXEC) < 0) fail("pipe");
  pid_t child = fork();
  if (child < 0) fail("fork");
  if (child == 0) {
    close(gate[1]);
    close(ready[0]);
    hold(id, ready[1], gate[0]);
  }
  close(ready[1]);
  await(ready[0], "users");
  snprintf(lines, sizeof lines, "0 %u %u\n", id, RANGE);
  if (write_map(child, "uid_map", lines) < 0 || write_map(child, "gid_map", lines) < 0) fail("map");
  /* The program has it until it ends, however it does. */
  if (write(gate[1], "", 1) != 1 || fcntl(gate[1], F_SETFD, 0) < 0) fail("gate");
  await(ready[0], "network");
  return child;
}

/* Copies the input into a file in memory, which takes its place. */
static void fill_in(const pid_t *pids, int count) {
  int fd = memfd_create("input", MFD_CLOEXEC), at;
  FILE *filled = fd < 0 ? NULL : fdopen(fd, "w");
  if (!filled) fail("memory");
  for (int next; (next = getchar()) != EOF;) {
    if (next != '@') {
      putc(next, filled);
      continue;
    }
    errno = EINVAL;
    if (scanf("%d", &at) != 1 || at < 0 || at >= count) fail("input");
    fprintf(filled, "%d", (int)pids[at]);
  }
  if (ferror(stdin) || fflush(filled) == EOF || lseek(fd, 0, SEEK_SET) < 0 || dup2(fd, 0) < 0) fail("input");
}

int main(int count, char **argument) {
  pid_t pids[count];
  int at = 1;
  for (; at < count && strcmp(argument[at], "--") != 0; at++) pids[at - 1] = pair((unsigned)strtoul(argument[at], NULL, 10));
  errno = EINVAL;
  if (at + 1 >= count) fail("arguments");
  fill_in(pids, at - 1);
  execv(argument[at + 1], argument + at + 1);
  fail(argument[at + 1]);
}

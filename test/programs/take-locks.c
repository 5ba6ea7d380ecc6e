/*
 * Takes locks of files, prints how many it has got, and holds them until it is ended:
 *
 *     take-locks file|memory|dead|spread <count>     record locks: of a file, of files in memory that everybody has on one device, by a
 *                                                    process that shares its descriptors and ends, by a hundred processes
 *     take-locks commands                            tries F_OFD_* and says what the kernel answers
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define OF_EACH_FILE 1000

static const char *how;
static int count;

static int file_of(int number) {
  char name[64];
  if (strcmp(how, "memory") == 0) return memfd_create("locks", 0);
  snprintf(name, sizeof name, "/tmp/locks-%d-%d", getpid(), number);
  return open(name, O_RDWR | O_CREAT, 0600);
}

/* Of single bytes, every other one, so that the kernel cannot join them; from the end, where it looks first. */
static int take(void *) {
  int file = -1, got = 0;
  for (; got < count; got++) {
    if (got % OF_EACH_FILE == 0) file = file_of(got);
    struct flock lock = {.l_type = F_WRLCK, .l_start = 2L * (OF_EACH_FILE - got % OF_EACH_FILE), .l_len = 1};
    if (fcntl(file, F_SETLK, &lock) < 0) break;
  }
  printf("%d\n", got);
  fflush(stdout);
  return 0;
}

/* The kernel looks at the lower half of a command only. */
static void try_commands(void) {
  struct flock lock = {.l_type = F_WRLCK};
  int file = open("/tmp/commands", O_RDWR | O_CREAT, 0600);
  for (long command = F_OFD_GETLK; command <= F_OFD_SETLKW; command++)
    for (int high = 0; high < 2; high++) {
      long answer = syscall(SYS_fcntl, file, command | (long)high << 40, &lock);
      printf("%s ", answer < 0 ? strerrorname_np(errno) : "done");
    }
  printf("%s %s\n", fcntl(file, F_SETLK, &lock) < 0 ? "refused" : "done", fcntl(file, F_DUPFD_CLOEXEC, 100) == 100 ? "done" : "refused");
}

int main(int argc, char **argv) {
  static char stack[65536] __attribute__((aligned(16)));
  how = argc > 1 ? argv[1] : "";
  if (strcmp(how, "commands") == 0) return try_commands(), 0;
  count = argc > 2 ? atoi(argv[2]) : 0;
  if (strcmp(how, "dead") == 0) {
    int child = clone(take, stack + sizeof stack, CLONE_FILES | SIGCHLD, NULL);
    if (child < 0 || waitpid(child, NULL, 0) != child) return perror("clone"), 1;
  } else if (strcmp(how, "spread") == 0) {
    count /= 100;
    for (int at = 0; at < 100; at++)
      if (fork() == 0) return take(NULL), pause();
    signal(SIGINT, SIG_IGN);
  } else {
    take(NULL);
  }
  return pause();
}

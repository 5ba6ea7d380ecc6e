/*
 * Takes from the tree of a machine that does not run what told it from others, so that a machine with a copy of the tree is another one:
 *
 *     renew-identity [<command> ...]
 *
 * The tree is the directory `upper` of the working directory. Host keys of SSH, the machine id of D-Bus and the seed of systemd go.
 * Where there were host keys of SSH, the command is run in their directory, and the environment says in KEYS of which types they were.
 * Exits with 0, or says what failed and exits with 1. A tenant has made the tree: no part of a path is followed that is a link.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void fail(const char *step) {
  fprintf(stderr, "%s: %s\n", step, strerror(errno));
  exit(1);
}

/* A directory below `upper`; -1 where a part of the path is not there, or is something else. */
static int open_below(const char *const path[]) {
  int at = open("upper", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  for (; at >= 0 && *path; path++) {
    int next = openat(at, *path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    close(at);
    at = next;
  }
  return at;
}

/* A whiteout stays: what it hides is the image's. */
static int is_file(int at, const char *name) {
  struct stat facts;
  return fstatat(at, name, &facts, AT_SYMLINK_NOFOLLOW) == 0 && (S_ISREG(facts.st_mode) || S_ISLNK(facts.st_mode));
}

static void drop_file(const char *const path[], const char *name) {
  int at = open_below(path);
  if (at < 0) return;
  if (is_file(at, name) && unlinkat(at, name, 0) < 0) fail(name);
  close(at);
}

static const char *const types[] = {"rsa", "ecdsa", "ed25519"};

/* Removes host keys; adds to `kinds` of which types they were. */
static void drop_keys(int at, char *kinds) {
  static const char prefix[] = "ssh_host_";
  DIR *list = fdopendir(fcntl(at, F_DUPFD_CLOEXEC, 0));
  if (!list) fail("ssh");
  for (struct dirent *entry; (entry = readdir(list));) {
    if (strncmp(entry->d_name, prefix, sizeof prefix - 1) != 0 || !is_file(at, entry->d_name)) continue;
    for (size_t type = 0; type < sizeof types / sizeof *types; type++) {
      char name[64];
      snprintf(name, sizeof name, "%s%s_key", prefix, types[type]);
      if (strcmp(entry->d_name, name) == 0) strcat(strcat(kinds, types[type]), " ");
    }
    if (unlinkat(at, entry->d_name, 0) < 0) fail(entry->d_name);
  }
  closedir(list);
}

int main(int count, char **argument) {
  char kinds[64] = "";
  drop_file((const char *const[]){"var", "lib", "dbus", NULL}, "machine-id");
  drop_file((const char *const[]){"var", "lib", "systemd", NULL}, "random-seed");
  int ssh = open_below((const char *const[]){"etc", "ssh", NULL});
  if (ssh < 0) return 0;
  drop_keys(ssh, kinds);
  if (!*kinds || count < 2) return 0;
  if (setenv("KEYS", kinds, 1) < 0 || fchdir(ssh) < 0) fail("ssh");
  execv(argument[1], argument + 1);
  fail(argument[1]);
  return 1;
}

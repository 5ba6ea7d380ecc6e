/*
 * Runs a command where the disk of a machine that does not run is seen:
 *
 *     with-disk <stage> <disk> <command> ...
 *
 * It is the command's working directory and ends with it. Exits as the command does, or says what failed and exits with 1.
 */
#define _GNU_SOURCE
#include "mounts.h"
#include "disk.h"
#include <sched.h>

int main(int count, char **argument) {
  int number;
  if (count < 4) return 1;
  if (unshare(CLONE_NEWNS) < 0) fail("mount namespace");
  if (mount(NULL, "/", NULL, RECURSIVE | SLAVE, NULL) < 0) fail("mount namespace");
  if (mount("tmpfs", argument[1], "tmpfs", 0, "mode=700,size=64k,nr_inodes=16") < 0) fail(argument[1]);
  if (chdir(argument[1]) < 0) fail(argument[1]);
  place_tree(mount_file(argument[2], &number), argument[2], "disk", -1);
  if (chdir("disk") < 0) fail("disk");
  execv(argument[3], argument + 3);
  fail(argument[3]);
}

/*
 * Runs a command where a layer of the older kind is seen together with its image, redirected directories and all:
 *
 *     merged-view <stage> <image> <upper> <command> ...
 *
 * The view is read-only, is the command's working directory and ends with it. Exits as the command does, or says what
 * failed and exits with 1.
 */
#define _GNU_SOURCE
#include "mounts.h"
#include <sched.h>

int main(int count, char **argument) {
  if (count < 5) return 1;
  if (unshare(CLONE_NEWNS) < 0) fail("mount namespace");
  if (mount(NULL, "/", NULL, RECURSIVE | SLAVE, NULL) < 0) fail("mount namespace");
  if (mount("tmpfs", argument[1], "tmpfs", 0, "mode=700,size=64k,nr_inodes=16") < 0) fail(argument[1]);
  if (chdir(argument[1]) < 0 || mkdir("merged", 0700) < 0) fail(argument[1]);
  show(argument[2], "image", -1);
  show(argument[3], "upper", -1);
  move(overlay_of((const char *const[][2]){
           {"lowerdir", "upper:image"}, {"redirect_dir", "on"}, {"metacopy", "on"}, {NULL, NULL}}),
       "merged");
  if (chdir("merged") < 0) fail("merged");
  execv(argument[4], argument + 4);
  fail(argument[4]);
}

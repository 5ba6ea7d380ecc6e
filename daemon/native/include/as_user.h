/*
 * One system call as another user, on one thread. The kernel keeps the ids that file permissions are checked with per
 * thread; glibc hides that, so these are raw system calls. Leaving user id 0 takes the file capabilities (DAC_OVERRIDE
 * and its like) from the effective set until we return to it.
 */
#ifndef HUTCH_AS_USER_H
#define HUTCH_AS_USER_H

#include "arguments.h"
#include <grp.h>
#include <sys/syscall.h>
#include <unistd.h>

struct user {
  int64_t uid, gid; /* uid below zero: stay who we are */
};

struct before {
  gid_t groups[64];
  int count;
};

/* Becomes the user; -1 and errno when that is not certain, and then nothing may be done. */
static inline int enter(const struct user *user, struct before *before) {
  if (user->uid < 0) return 0;
  before->count = (int)syscall(SYS_getgroups, 64, before->groups);
  if (before->count < 0) return -1;
  if (syscall(SYS_setgroups, 0, NULL) < 0) return -1;
  syscall(SYS_setfsgid, (gid_t)user->gid);
  syscall(SYS_setfsuid, (uid_t)user->uid);
  /* These two never report failure; asking with an impossible id tells what is in force. */
  if (syscall(SYS_setfsgid, -1) == user->gid && syscall(SYS_setfsuid, -1) == user->uid) return 0;
  errno = EPERM;
  return -1;
}

/* Becomes ourselves again. A thread that cannot must not run anything else. */
static inline void leave(const struct user *user, const struct before *before) {
  if (user->uid < 0) return;
  int error = errno;
  uid_t uid = geteuid();
  gid_t gid = getegid();
  syscall(SYS_setfsuid, uid);
  syscall(SYS_setfsgid, gid);
  if ((uid_t)syscall(SYS_setfsuid, -1) != uid || (gid_t)syscall(SYS_setfsgid, -1) != gid) abort();
  if (before->count >= 0 && syscall(SYS_setgroups, before->count, before->groups) < 0) abort();
  errno = error;
}

#endif

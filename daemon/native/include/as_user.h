/*
 * System calls as another user, on one thread. The kernel keeps the ids that it checks file permissions with per
 * thread; glibc hides that, so these are raw system calls. While a thread's user id is not 0, file capabilities such as
 * DAC_OVERRIDE are not in its effective set.
 */
#ifndef HUTCH_AS_USER_H
#define HUTCH_AS_USER_H

#include "arguments.h"
#include <grp.h>
#include <sys/syscall.h>
#include <unistd.h>

struct user {
  int64_t uid, gid; /* a uid below zero: keep our own ids */
};

struct before {
  gid_t groups[64];
  int count;
};

/* Takes the user's ids. Returns -1 and sets errno when that is not certain; the caller must then do nothing. */
static inline int enter(const struct user *user, struct before *before) {
  if (user->uid < 0) return 0;
  before->count = (int)syscall(SYS_getgroups, 64, before->groups);
  if (before->count < 0) return -1;
  if (syscall(SYS_setgroups, 0, NULL) < 0) return -1;
  syscall(SYS_setfsgid, (gid_t)user->gid);
  syscall(SYS_setfsuid, (uid_t)user->uid);
  /* These two calls never report failure; calling them with an invalid id returns the id in force. */
  if (syscall(SYS_setfsgid, -1) == user->gid && syscall(SYS_setfsuid, -1) == user->uid) return 0;
  errno = EPERM;
  return -1;
}

/* Takes our own ids again. A thread that cannot do so must not run anything else. */
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

/*
 * Quotas of projects: what a file system that is mounted with `prjquota` (ext4, XFS) counts of files that have a project's number, and
 * bounds (quotactl(2), ioctl_fsgetxattr(2)). A directory hands its number on to what is made in it.
 *
 *     join(directory, project)                    gives an empty directory the number
 *     projectOf(directory)                        → its number, 0 for none
 *     bound(place, project, bytes, inodes)        what files with it may take of the file system of `place`; 0 is no bound
 *     count(place, project)                       → [bytes, inodes, most bytes, most inodes]; all 0 for one that nobody has
 *
 * Each answers a negative errno where it fails. All take microseconds.
 */
#define NAPI_VERSION 8
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/quota.h>
#include <node_api.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Linux 5.14; the same number everywhere. */
#ifndef SYS_quotactl_fd
#define SYS_quotactl_fd 443
#endif

enum { bytes_per_block = 1024, longest_path = 4096 };

static int open_directory(const char *path) { return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); }

static int join_project(int directory, uint32_t project) {
  struct fsxattr facts;
  if (ioctl(directory, FS_IOC_FSGETXATTR, &facts) < 0) return -errno;
  facts.fsx_projid = project;
  facts.fsx_xflags |= FS_XFLAG_PROJINHERIT;
  return ioctl(directory, FS_IOC_FSSETXATTR, &facts) < 0 ? -errno : 0;
}

static int64_t project_of(int directory) {
  struct fsxattr facts;
  if (ioctl(directory, FS_IOC_FSGETXATTR, &facts) < 0) return -errno;
  return facts.fsx_xflags & FS_XFLAG_PROJINHERIT ? facts.fsx_projid : 0;
}

/* Commands are shifted beyond what a signed number holds. */
static int quota(int place, uint32_t command, uint32_t project, struct if_dqblk *block) {
  return syscall(SYS_quotactl_fd, place, QCMD(command, PRJQUOTA), project, block) < 0 ? -errno : 0;
}

static int bound_project(int place, uint32_t project, uint64_t bytes, uint64_t inodes) {
  struct if_dqblk block = {.dqb_bhardlimit = bytes / bytes_per_block, .dqb_ihardlimit = inodes, .dqb_valid = QIF_LIMITS};
  return quota(place, Q_SETQUOTA, project, &block);
}

/* What is looked at or changed; the directory closed and the answer a number, unless it is said otherwise. */
struct call {
  int directory;
  int64_t number[3];
};

/* Throws, and answers 0, for arguments that are not a path and so many numbers; `directory` is a negative errno where there is none. */
static int read_call(napi_env env, napi_callback_info info, size_t numbers, struct call *call) {
  size_t argc = 4, length;
  napi_value argv[4];
  char path[longest_path];
  napi_get_cb_info(env, info, &argc, argv, NULL, NULL);
  int whole = argc == numbers + 1 && napi_get_value_string_utf8(env, argv[0], path, sizeof path, &length) == napi_ok &&
              length < sizeof path - 1;
  for (size_t at = 0; whole && at < numbers; at++)
    whole = napi_get_value_int64(env, argv[at + 1], &call->number[at]) == napi_ok && call->number[at] >= 0;
  if (!whole) return napi_throw_type_error(env, NULL, "project-quota: bad arguments"), 0;
  int opened = open_directory(path);
  call->directory = opened < 0 ? -errno : opened;
  return 1;
}

static napi_value answer(napi_env env, const struct call *call, int64_t number) {
  napi_value made;
  if (call->directory >= 0) close(call->directory);
  napi_create_int64(env, number, &made);
  return made;
}

static napi_value join_call(napi_env env, napi_callback_info info) {
  struct call call;
  if (!read_call(env, info, 1, &call)) return NULL;
  if (call.directory < 0) return answer(env, &call, call.directory);
  return answer(env, &call, join_project(call.directory, (uint32_t)call.number[0]));
}

static napi_value project_call(napi_env env, napi_callback_info info) {
  struct call call;
  if (!read_call(env, info, 0, &call)) return NULL;
  return answer(env, &call, call.directory < 0 ? call.directory : project_of(call.directory));
}

static napi_value bound_call(napi_env env, napi_callback_info info) {
  struct call call;
  if (!read_call(env, info, 3, &call)) return NULL;
  if (call.directory < 0) return answer(env, &call, call.directory);
  uint64_t bytes = (uint64_t)call.number[1], inodes = (uint64_t)call.number[2];
  return answer(env, &call, bound_project(call.directory, (uint32_t)call.number[0], bytes, inodes));
}

static napi_value count_call(napi_env env, napi_callback_info info) {
  struct call call;
  struct if_dqblk block = {0};
  if (!read_call(env, info, 1, &call)) return NULL;
  if (call.directory < 0) return answer(env, &call, call.directory);
  int error = quota(call.directory, Q_GETQUOTA, (uint32_t)call.number[0], &block);
  /* XFS has no record of a project that nobody ever had. */
  if (error < 0 && error != -ENOENT) return answer(env, &call, error);
  close(call.directory);
  const uint64_t found[] = {block.dqb_curspace, block.dqb_curinodes, block.dqb_bhardlimit * bytes_per_block, block.dqb_ihardlimit};
  napi_value list, number;
  napi_create_array_with_length(env, 4, &list);
  for (uint32_t at = 0; at < 4; at++) {
    napi_create_int64(env, (int64_t)found[at], &number);
    napi_set_element(env, list, at, number);
  }
  return list;
}

NAPI_MODULE_INIT() {
  const napi_property_descriptor calls[] = {{"join", NULL, join_call, NULL, NULL, NULL, napi_enumerable, NULL},
                                            {"projectOf", NULL, project_call, NULL, NULL, NULL, napi_enumerable, NULL},
                                            {"bound", NULL, bound_call, NULL, NULL, NULL, napi_enumerable, NULL},
                                            {"count", NULL, count_call, NULL, NULL, NULL, napi_enumerable, NULL}};
  napi_define_properties(env, exports, sizeof calls / sizeof *calls, calls);
  return exports;
}

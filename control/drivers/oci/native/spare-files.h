/*
 * A machine whose tenant has used up all files that its disk has room for is to start again, so that some can be deleted. Mounting its root makes
 * files for a moment, in the overlay's work directory: a directory, and two by which the kernel tries renaming; without them there is no
 * mount. So empty files lie there, which nobody inside sees, and make way for that long. (Project quotas are wider while a machine starts.)
 */
#include <sys/fsuid.h>

enum { spare_files = 3 };

static void name_spare(char name[16], int number) { snprintf(name, 16, "spare.%d", number); }

static int open_work(int disk) {
  int work = openat(disk, "work", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (work < 0) fail("work");
  return work;
}

/* Before the root is mounted. */
static inline void make_way(int disk) {
  char name[16];
  struct statfs facts;
  int work = open_work(disk);
  if (fstatfs(work, &facts) < 0) fail("work");
  for (int number = 0; number < spare_files && facts.f_ffree < spare_files; number++) {
    name_spare(name, number);
    if (unlinkat(work, name, 0) < 0 && errno != ENOENT) fail("work");
  }
  close(work);
}

/* Afterwards, or for the first time. Where ids are mapped, `owner` is what is 0 on disk. What finds no room is missing until a later start. */
static void put_spares(int disk, unsigned owner) {
  char name[16];
  int work = open_work(disk);
  setfsgid(owner);
  setfsuid(owner);
  for (int number = 0; number < spare_files; number++) {
    name_spare(name, number);
    if (mknodat(work, name, S_IFREG | 0600, 0) == 0 || errno == EEXIST) continue;
    if (errno != ENOSPC && errno != EDQUOT) fail(name);
    break;
  }
  setfsuid(0);
  setfsgid(0);
  close(work);
}

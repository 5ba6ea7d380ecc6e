/*
 * Record locks (fcntl F_SETLK) that a process holds, by `/proc/<pid>/task/<tid>/fdinfo`, whose `lock:` lines are the kernel's own
 * (proc(5)). Such a lock belongs to a table of descriptors and goes when any descriptor of its file is closed there, so whoever
 * holds one has a descriptor that shows it; neither a process that sent its descriptors away nor one that ended hides any.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define KCMP_FILES 2

/* The files of one table that were looked at: each shows the same locks by every descriptor, of which there may be a million. */
struct files {
  struct file_id { uint64_t device, inode; } *slots;
  size_t room, used;
};

static size_t place_of(const struct files *files, struct file_id id) {
  size_t at = (id.inode * 0x9e3779b97f4a7c15u ^ id.device * 0xff51afd7ed558ccdu) & (files->room - 1);
  while (files->slots[at].inode && (files->slots[at].inode != id.inode || files->slots[at].device != id.device))
    at = (at + 1) & (files->room - 1);
  return at;
}

static void *zeroed(size_t count, size_t size) {
  void *made = calloc(count, size);
  if (!made) perror("memory"), exit(1);
  return made;
}

/* Whether the file is new. Number 0 is no file's. */
static int is_first(struct files *files, struct file_id id) {
  if (files->used * 2 >= files->room) {
    struct files more = {.room = files->room ? files->room * 2 : 256, .used = files->used};
    more.slots = zeroed(more.room, sizeof *more.slots);
    for (size_t at = 0; at < files->room; at++)
      if (files->slots[at].inode) more.slots[place_of(&more, files->slots[at])] = files->slots[at];
    free(files->slots);
    *files = more;
  }
  size_t at = place_of(files, id);
  if (files->slots[at].inode) return 0;
  files->slots[at] = id;
  files->used++;
  return 1;
}

/* Lines of record locks that are held; those that are waited for begin with an arrow. Stops beyond `most`. */
static size_t locks_in(int directory, const char *name, size_t most) {
  int file = openat(directory, name, O_RDONLY | O_CLOEXEC);
  FILE *text = file < 0 ? NULL : fdopen(file, "r");
  if (!text) {
    if (file >= 0) close(file);
    return 0;
  }
  size_t found = 0;
  char line[256];
  while (found <= most && fgets(line, sizeof line, text))
    if (strncmp(line, "lock:\t", 6) == 0 && strstr(line, ": POSIX ")) found++;
  fclose(text);
  return found;
}

/* `task` is an open `/proc/<pid>/task/<tid>`. A file's attributes are taken as they are known: a server of files may not answer. */
static size_t locks_of_table(int task, size_t most) {
  struct files seen = {0};
  size_t found = 0;
  int open_files = openat(task, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  int facts_of = openat(task, "fdinfo", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *list = open_files < 0 || facts_of < 0 ? NULL : fdopendir(open_files);
  for (struct dirent *entry; list && found <= most && (entry = readdir(list));) {
    struct statx facts = {0};
    if (entry->d_name[0] == '.') continue;
    int known = statx(open_files, entry->d_name, AT_STATX_DONT_SYNC, STATX_INO, &facts) == 0;
    struct file_id id = {(uint64_t)facts.stx_dev_major << 32 | facts.stx_dev_minor, facts.stx_ino};
    /* One that says nothing of itself is counted by every descriptor. */
    if (!known || is_first(&seen, id)) found += locks_in(facts_of, entry->d_name, most);
  }
  if (list) closedir(list);
  else if (open_files >= 0) close(open_files);
  if (facts_of >= 0) close(facts_of);
  free(seen.slots);
  return found;
}

/* Locks of the process, not exact when beyond `most`. A thread may have a table of its own. 0 when it has ended. */
static size_t locks_of(int pid, size_t most) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/task", pid);
  DIR *tasks = opendir(path);
  size_t found = 0;
  for (struct dirent *entry; tasks && found <= most && (entry = readdir(tasks));) {
    int thread = atoi(entry->d_name);
    if (thread <= 0 || (thread != pid && syscall(SYS_kcmp, pid, thread, KCMP_FILES, 0, 0) == 0)) continue;
    int task = openat(dirfd(tasks), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (task < 0) continue;
    found += locks_of_table(task, most - found);
    close(task);
  }
  if (tasks) closedir(tasks);
  return found;
}

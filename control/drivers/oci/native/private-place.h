/*
 * Where the daemon of a machine keeps what it believes: a directory beside the upper layer, on the same disk, so that it counts as the
 * machine's, lasts as long and goes with it. It is mounted nowhere. The daemon has it as an open descriptor, of which its tenants can
 * take hold no more than of its memory.
 */
#define private_name "private"

enum { private_fd = 3 };

/* The directory `path`, below `from`; no part of it is a link. -1 where it is not all directories. */
static int open_below(int from, const char *const path[]) {
  int at = fcntl(from, F_DUPFD_CLOEXEC, 0);
  for (; at >= 0 && *path; path++) {
    int next = openat(at, *path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    close(at);
    at = next;
  }
  return at;
}

/* Renames root's `name` into the private place, if it is of that kind; nobody runs who could change it meanwhile. */
static void take_in(int top, const char *const path[], const char *name, mode_t kind, int place, const char *as) {
  struct stat facts;
  int from = open_below(top, path);
  if (from < 0) return;
  int is_own = fstatat(from, name, &facts, AT_SYMLINK_NOFOLLOW) == 0 && (facts.st_mode & S_IFMT) == kind && facts.st_uid == 0 &&
               (kind == S_IFDIR || facts.st_nlink == 1);
  if (is_own && renameat(from, name, place, as) < 0) fail(name);
  close(from);
}

/* What the daemons of versions before have kept in the tenant's tree: once, when the place is new. */
static void fill(int top, int place) {
  take_in(top, (const char *const[]){"var", "lib", "hutchd", NULL}, "state", S_IFDIR, place, "state");
  take_in(top, (const char *const[]){"tmp", NULL}, "sandbox-api-proxy-state.json", S_IFREG, place, "proxy-state.json");
}

/*
 * In `machine`, whose directory `layer` is the tenant's tree, if it has one. Interrupted, it is done again. A machine of a version before
 * whose disk is full starts without, so that something can be deleted: then the daemon looks where it did before.
 */
static int make_private_place(int machine, const char *layer) {
  if (faccessat(machine, private_name, F_OK, AT_SYMLINK_NOFOLLOW) == 0) return 1;
  if (mkdirat(machine, private_name ".new", 0700) < 0 && errno != EEXIST) {
    if (errno != ENOSPC && errno != EDQUOT) fail(private_name);
    fprintf(stderr, "the daemon has no place of its own: %s\n", strerror(errno));
    return 0;
  }
  int place = openat(machine, private_name ".new", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  int top = layer ? openat(machine, layer, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
  if (place < 0 || (layer && top < 0)) fail(private_name);
  if (layer) {
    fill(top, place);
    close(top);
  }
  close(place);
  if (renameat(machine, private_name ".new", machine, private_name) < 0) fail(private_name);
  return 1;
}

/* As the first descriptor after the standard ones, which a runtime hands on. */
static void hand_over(int place) {
  int made = place < 0 ? -1 : place == private_fd ? fcntl(place, F_SETFD, 0) : dup2(place, private_fd);
  if (made < 0) fail(private_name);
}

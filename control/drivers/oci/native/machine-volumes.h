/*
 * The volumes of a machine: disks besides the one that its root is on, each a file with an ext4 file system in it (disk.h). They end with
 * the machine's mount namespace, like its own disk.
 *
 * A volume is told as the part `volume/<place>`: `rw` or `ro`, the file, and the mount point, one a line. The runtime finds it at
 * <stage>/volumes/<place> and binds it to the mount point. The tenant sees the directory `data` of the file system, so that the top of a
 * new volume is empty. Set-user-ID bits and device nodes in it mean nothing.
 */

static const char volume_prefix[] = "volume/";

static char *next_line(char **rest, const char *what) {
  char *line = strsep(rest, "\n");
  if (line && *line) return line;
  fprintf(stderr, "%s is not told in full\n", what);
  exit(1);
}

/*
 * A tenant may have put a link on the way to the mount point in an earlier life of the machine. The volume must not cover anything else, such
 * as the runtime bundle: what is there of the path has to be directories. The runtime makes the rest.
 */
static void check_mount_point(const char *mount_point) {
  char path[PATH_MAX], *rest = NULL;
  snprintf(path, sizeof path, "%s", mount_point);
  int at = open("root", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (at < 0) fail("root");
  for (char *name = strtok_r(path, "/", &rest); name; name = strtok_r(NULL, "/", &rest)) {
    int next = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (next < 0 && errno == ENOENT) break;
    if (next < 0) {
      fprintf(stderr, "mount point %s of a volume: a file or a link is in the way; ", mount_point);
      fail(name);
    }
    close(at);
    at = next;
  }
  close(at);
}

/* A mount of the volume's `data`, nowhere yet. */
static int open_volume(const char *file) {
  int number, tree = mount_file(file, &number);
  if (mkdirat(tree, "data", 0755) < 0 && errno != EEXIST) fail("data of a volume");
  place_tree(tree, file, "volume", -1);
  int data = clone_tree("volume/data");
  if (syscall(SYS_umount2, "volume", DETACH) < 0 || rmdir("volume") < 0) fail("volume");
  return data;
}

static void show_volume(const struct part *part, int users) {
  char *words = strndup(part->bytes, part->length), *rest = words;
  if (!words) fail(part->name);
  const char *mode = next_line(&rest, part->name), *file = next_line(&rest, part->name), *mount_point = next_line(&rest, part->name);
  check_mount_point(mount_point);
  int tree = open_volume(file);
  struct mount_attr attributes = {.attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV};
  if (strcmp(mode, "rw") != 0) attributes.attr_set |= MOUNT_ATTR_RDONLY;
  if (syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attributes, sizeof attributes) < 0) fail(part->name);
  char place[64];
  snprintf(place, sizeof place, "volumes/%.32s", part->name + sizeof volume_prefix - 1);
  place_tree(tree, file, place, users);
  free(words);
}

/* After the root, below which their mount points are. */
static void show_volumes(struct told told, int users) {
  struct part part;
  while (next_part(&told, &part))
    if (strncmp(part.name, volume_prefix, sizeof volume_prefix - 1) == 0) show_volume(&part, users);
}

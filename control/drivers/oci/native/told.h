/*
 * What a start is told on its standard input, a file in memory: parts, each of them `<name> <bytes>\n` and as many bytes. There is nothing of it on a
 * disk, which may be busy, and of which a secret would have to be removed again.
 */
#include <sys/mman.h>

struct told {
  const char *at, *end;
};

struct part {
  char name[256];
  const char *bytes;
  size_t length;
};

static inline struct told read_told(void) {
  struct stat facts;
  if (fstat(0, &facts) < 0) fail("standard input");
  size_t length = S_ISREG(facts.st_mode) ? (size_t)facts.st_size : 0;
  char *text = malloc(length + 1);
  if (!text || pread(0, text, length, 0) != (ssize_t)length) fail("standard input");
  text[length] = 0;
  return (struct told){text, text + length};
}

/* Whether there is one more, which is stepped over then. */
static int next_part(struct told *told, struct part *part) {
  int head = 0;
  if (told->at == told->end) return 0;
  if (sscanf(told->at, "%255s %zu%n", part->name, &part->length, &head) < 2 || told->at[head] != '\n' ||
      part->length > (size_t)(told->end - told->at - head - 1)) {
    fprintf(stderr, "what it is told cannot be read\n");
    exit(1);
  }
  part->bytes = told->at + head + 1;
  told->at = part->bytes + part->length;
  return 1;
}

static int find_part(struct told told, const char *name, struct part *part) {
  while (next_part(&told, part))
    if (strcmp(part->name, name) == 0) return 1;
  return 0;
}

static void write_part(int file, const struct part *part) {
  if (file < 0 || write(file, part->bytes, part->length) != (ssize_t)part->length) fail(part->name);
}

/*
 * The part as a file that nobody can write to (root of the machine could open its own descriptor anew), and that is gone with whoever has it
 * open. Without one it is at its end: a pipe that nobody writes to, and not the box's /dev/null, as runsc gives the files it is started with to
 * the user it goes on as (nobody), who could have set the modes of that device for everybody.
 */
static inline int open_part(struct told told, const char *name) {
  struct part part;
  char path[40];
  int ends[2];
  if (!find_part(told, name, &part)) {
    if (pipe2(ends, O_CLOEXEC) < 0) fail(name);
    close(ends[1]);
    return ends[0];
  }
  int made = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  write_part(made, &part);
  if (fcntl(made, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0) fail(name);
  snprintf(path, sizeof path, "/proc/self/fd/%d", made);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) fail(name);
  close(made);
  return file;
}

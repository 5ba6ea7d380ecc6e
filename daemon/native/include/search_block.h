/* Finds lines that contain a text: a file is read block by block, and whole lines are searched at once. */
#ifndef HUTCH_SEARCH_BLOCK_H
#define HUTCH_SEARCH_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCK_BYTES (1024 * 1024)
/* Longer lines are searched in pieces of this size. */
#define LINE_LIMIT (8 * 1024 * 1024)
/* Of a line that is told. */
#define TEXT_LIMIT (64 * 1024)
/* A file is read up to here: /proc/kcore reports 128 TiB. */
#define FILE_LIMIT ((uint64_t)1024 * 1024 * 1024)

enum form {
  EXACT,
  FOLDED,  /* ASCII in lower case; capitals count as such */
  VARIANTS /* for each character how many ways there are to write it, and for each its length and its bytes */
};

struct needle {
  char *text;
  size_t length;
  enum form form;
};

/* Numbers from 1; the text is not ended by a NUL. */
struct line {
  uint64_t number, column;
  const char *text;
  size_t length;
};

/* Returns 0 to go on, 1 to end the search, -1 without memory. */
typedef int tell_line(void *context, const struct line *line);

/* Memory that is used for one file after another: a block, and the same in lower case. */
struct space {
  char *bytes, *folded;
  size_t capacity;
};

static inline void free_space(struct space *space) {
  free(space->bytes);
  free(space->folded);
}

/* Loops over bytes that the compiler turns into vectors. */
#define VECTORS __attribute__((optimize("O3")))

VECTORS static uint64_t newlines_in(const char *bytes, size_t length) {
  uint64_t count = 0;
  while (length > 0) {
    /* So few that their number fits into a byte. */
    size_t piece = length < 255 ? length : 255;
    uint8_t some = 0;
    for (size_t index = 0; index < piece; index++) some = (uint8_t)(some + (bytes[index] == '\n'));
    count += some;
    bytes += piece;
    length -= piece;
  }
  return count;
}

VECTORS static void to_lower(char *restrict to, const char *restrict from, size_t length) {
  for (size_t index = 0; index < length; index++) {
    uint8_t byte = (uint8_t)from[index];
    to[index] = (char)(byte | ((uint8_t)(byte - 'A') < 26 ? 0x20 : 0));
  }
}

/* Whether one of the variants of each character stands here, one after another: none of them begins like another. */
static bool has_variants(const char *at, const char *end, const struct needle *needle) {
  const uint8_t *next = (const uint8_t *)needle->text, *last = next + needle->length;
  while (next < last) {
    int ways = *next++, taken = 0;
    for (; ways > 0; ways--) {
      int length = *next++;
      if (!taken && end - at >= length && memcmp(at, next, (size_t)length) == 0) taken = length;
      next += length;
    }
    if (!taken) return false;
    at += taken;
  }
  return true;
}

static const char *find(const char *bytes, size_t length, const struct needle *needle) {
  if (needle->form != VARIANTS) return memmem(bytes, length, needle->text, needle->length);
  for (const char *at = bytes, *end = bytes + length; at < end; at++)
    if (has_variants(at, end, needle)) return at;
  return NULL;
}

/* Room for a block after the first `filled` bytes, which are kept. */
static int make_room(struct space *space, const struct needle *needle, size_t filled) {
  if (space->bytes && space->capacity - filled >= BLOCK_BYTES) return 0;
  size_t capacity = filled + (filled > 2 * BLOCK_BYTES ? filled : 2 * BLOCK_BYTES);
  char *bytes = realloc(space->bytes, capacity);
  if (!bytes) return -1;
  space->bytes = bytes;
  space->capacity = capacity;
  if (needle->form != FOLDED) return 0;
  free(space->folded);
  space->folded = malloc(capacity);
  return space->folded ? 0 : -1;
}

/* How many of the bytes do not begin a UTF-8 character that goes on behind them. */
static size_t whole_characters(const char *bytes, size_t length) {
  for (size_t back = 1; back <= 3 && back <= length; back++) {
    uint8_t byte = (uint8_t)bytes[length - back];
    if ((byte & 0xc0) == 0x80) continue;
    size_t wanted = byte >= 0xf5 || byte < 0xc2 ? 1 : byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    return wanted > back ? length - back : length;
  }
  return length;
}

/* Searches whole lines, of which the first has the number `number`. */
static int search_lines(const struct space *space, size_t length, const struct needle *needle, uint64_t number,
                        tell_line *tell, void *context) {
  const char *bytes = space->bytes, *searched = bytes;
  if (needle->form == FOLDED) {
    to_lower(space->folded, bytes, length);
    searched = space->folded;
  }
  for (size_t counted = 0; counted < length;) {
    const char *found = find(searched + counted, length - counted, needle);
    if (!found) return 0;
    size_t at = (size_t)(found - searched);
    const char *before = memrchr(bytes + counted, '\n', at - counted);
    size_t begin = before ? (size_t)(before - bytes) + 1 : counted;
    number += newlines_in(bytes + counted, begin - counted);
    const char *newline = memchr(bytes + at, '\n', length - at);
    size_t end = newline ? (size_t)(newline - bytes) : length;
    size_t last = end > begin && bytes[end - 1] == '\r' ? end - 1 : end;
    size_t text = last - begin <= TEXT_LIMIT ? last - begin : whole_characters(bytes + begin, TEXT_LIMIT);
    int told = tell(context, &(struct line){number, at - begin + 1, bytes + begin, text});
    if (told) return told;
    number++;
    counted = end + 1;
  }
  return 0;
}

/* Returns -1 without memory, else 0: what cannot be read further has ended. */
static int search_file(int fd, struct space *space, const struct needle *needle, tell_line *tell, void *context) {
  uint64_t number = 1;
  size_t filled = 0;
  for (uint64_t total = 0; total < FILE_LIMIT;) {
    if (make_room(space, needle, filled) < 0) return -1;
    ssize_t count = read(fd, space->bytes + filled, BLOCK_BYTES);
    if (count < 0) return 0;
    total += (uint64_t)count;
    filled += (size_t)count;
    const char *newline = count == 0 || filled > LINE_LIMIT ? NULL : memrchr(space->bytes, '\n', filled);
    size_t cut = newline               ? (size_t)(newline - space->bytes) + 1
                 : count == 0          ? filled
                 : filled > LINE_LIMIT ? whole_characters(space->bytes, filled)
                                       : 0;
    int told = cut > 0 ? search_lines(space, cut, needle, number, tell, context) : 0;
    if (told) return told < 0 ? -1 : 0;
    if (count == 0) return 0;
    number += newlines_in(space->bytes, cut);
    memmove(space->bytes, space->bytes + cut, filled - cut);
    filled -= cut;
  }
  return 0;
}

#endif

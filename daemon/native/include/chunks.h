/*
 * Decodes a body in chunks (RFC 9112, section 7.1) while it is read: the data of a chunk goes from the socket to its place,
 * only what frames it is read apart. What is not as the standard says is left to Node's parser, which refuses it.
 */
#ifndef HUTCH_CHUNKS_H
#define HUTCH_CHUNKS_H

/* A line that ends with CRLF. Returns its length with both, 0 when it has not come whole, -1 when it is none. */
static ssize_t line_in(const unsigned char *bytes, size_t length) {
  const unsigned char *end = memchr(bytes, '\n', length);
  if (!end) return 0;
  return end > bytes && end[-1] == '\r' ? end - bytes + 1 : -1;
}

/* The size of a chunk, whose extensions mean nothing to us; -1 when there is none or it is absurd. */
static int64_t size_in(const unsigned char *line) {
  int64_t size = 0;
  int digits = 0;
  for (; digits < 15; digits++, line++) {
    unsigned char letter = *line | 0x20;
    int digit = *line >= '0' && *line <= '9' ? *line - '0' : letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
    if (digit < 0) break;
    size = size * 16 + digit;
  }
  return digits > 0 && (*line == '\r' || *line == ';') ? size : -1;
}

/* Lines from `at` on up to an empty one: the length of all, 0 when they have not come whole, -1 when they are none. */
static ssize_t trailers_in(const unsigned char *bytes, size_t length) {
  for (size_t at = 0; at < length;) {
    ssize_t line = line_in(bytes + at, length - at);
    if (line <= 0) return line;
    at += (size_t)line;
    if (line == 2) return (ssize_t)at;
  }
  return 0;
}

/* Takes what stands between two chunks, or after the last. Returns 1, 0 when it has not come whole, -1 when it is none. */
static int take_frame(struct transfer *self) {
  struct chunks *chunks = self->chunks;
  const unsigned char *raw = chunks->raw + chunks->raw_at;
  size_t length = chunks->raw_length - chunks->raw_at;
  ssize_t line = line_in(raw, length);
  if (line <= 0) return (int)line;
  if (chunks->needs_crlf) {
    if (line != 2) return -1;
    chunks->needs_crlf = 0;
    chunks->raw_at += 2;
    return 1;
  }
  int64_t size = size_in(raw);
  if (size < 0) return -1;
  if (size == 0) {
    ssize_t trailers = trailers_in(raw + line, length - (size_t)line);
    if (trailers <= 0) return (int)trailers;
    line += trailers;
    self->left = 0;
  }
  chunks->left = size;
  chunks->raw_at += (size_t)line;
  return 1;
}

/* Reads more of what frames the chunks, and of what comes after it. Returns as `recv`; -1 with EBADMSG when there is no room. */
static ssize_t read_raw(struct transfer *self) {
  struct chunks *chunks = self->chunks;
  chunks->raw_length -= chunks->raw_at;
  memmove(chunks->raw, chunks->raw + chunks->raw_at, chunks->raw_length);
  chunks->raw_at = 0;
  errno = EBADMSG;
  if (chunks->raw_length == RAW_BYTES) return -1;
  ssize_t count = receive(self, chunks->raw + chunks->raw_length, RAW_BYTES - chunks->raw_length);
  if (count > 0) chunks->raw_length += (size_t)count;
  return count;
}

/* Data of the current chunk: what was read along with its frame, else from the socket. As `recv`. */
static ssize_t take_data(struct transfer *self, unsigned char *into, size_t room) {
  struct chunks *chunks = self->chunks;
  size_t raw = chunks->raw_length - chunks->raw_at;
  size_t wanted = (int64_t)room < chunks->left ? room : (size_t)chunks->left;
  ssize_t count = (ssize_t)(raw < wanted ? raw : wanted);
  if (raw > 0) memcpy(into, chunks->raw + chunks->raw_at, (size_t)count);
  else count = receive(self, into, wanted);
  if (count <= 0) return count;
  if (raw > 0) chunks->raw_at += (size_t)count;
  chunks->left -= count;
  chunks->needs_crlf = chunks->left == 0;
  return count;
}

/* As `fill`, of which it is the second half. */
static size_t fill_from_chunks(struct transfer *self, unsigned char *block, size_t filled) {
  struct chunks *chunks = self->chunks;
  chunks->more = 0;
  while (self->left > 0 && filled < BLOCK_BYTES) {
    if (chunks->left > 0) {
      ssize_t count = take_data(self, block + filled, BLOCK_BYTES - filled);
      if (count <= 0) return nothing_came(self, count, filled);
      filled += (size_t)count;
      continue;
    }
    int taken = take_frame(self);
    if (taken < 0) return fail_with(self, SOCKET_FAILED, EBADMSG);
    ssize_t count = taken ? 1 : read_raw(self);
    if (count <= 0) return nothing_came(self, count, filled);
  }
  chunks->more = self->left > 0 && chunks->raw_at < chunks->raw_length;
  return filled;
}

#endif

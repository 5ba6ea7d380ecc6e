/*
 * MD5 (RFC 1321) of several streams at once. The speed of one stream is limited by its chain of additions, each of
 * which waits for the one before. The lanes of a vector take one stream each, and all of them together cost about as
 * much as one stream alone.
 */
#ifndef HUTCH_MD5_H
#define HUTCH_MD5_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MD5_BLOCK 64
/* At most so many streams are hashed side by side; 1 is for measuring what the lanes gain. */
#ifndef MD5_LANES
#define MD5_LANES 8
#endif

struct md5 {
  uint32_t state[4];
  uint64_t length;
  unsigned char rest[MD5_BLOCK];
};

static inline void md5_init(struct md5 *md5) {
  *md5 = (struct md5){.state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476}};
}

static inline uint32_t md5_word(const unsigned char *at) {
  uint32_t word;
  memcpy(&word, at, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  word = __builtin_bswap32(word);
#endif
  return word;
}

/* Only `f` depends on the step before; the compiler must keep this order of additions. */
#define MD5_STEP(f, a, b, c, d, k, s, t)                                                                               \
  a += w[k] + t;                                                                                                       \
  MD5_IN_REGISTER(a);                                                                                                  \
  a += f(b, c, d);                                                                                                     \
  a = ((a << s) | (a >> (32 - s))) + b;
#define MD5_F(b, c, d) (d ^ (b & (c ^ d)))
#define MD5_H(b, c, d) (b ^ (c ^ d))
#define MD5_I(b, c, d) (c ^ (b | ~d))
#define MD5_FOUR(f, k0, k1, k2, k3, s0, s1, s2, s3, t0, t1, t2, t3)                                                    \
  MD5_STEP(f, a, b, c, d, k0, s0, t0)                                                                                  \
  MD5_STEP(f, d, a, b, c, k1, s1, t1)                                                                                  \
  MD5_STEP(f, c, d, a, b, k2, s2, t2)                                                                                  \
  MD5_STEP(f, b, c, d, a, k3, s3, t3)

/* `count` blocks of as many streams as V has lanes; LOAD(k) is word k of each stream's block at `offset`. */
#define MD5_ROUNDS(V, LOAD)                                                                                            \
  for (size_t offset = 0; offset < count * MD5_BLOCK; offset += MD5_BLOCK) {                                           \
    V w[16];                                                                                                           \
    V a = s[0], b = s[1], c = s[2], d = s[3];                                                                          \
    for (int k = 0; k < 16; k++) w[k] = LOAD(k);                                                                       \
    MD5_FOUR(MD5_F, 0, 1, 2, 3, 7, 12, 17, 22, 0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee)                         \
    MD5_FOUR(MD5_F, 4, 5, 6, 7, 7, 12, 17, 22, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501)                         \
    MD5_FOUR(MD5_F, 8, 9, 10, 11, 7, 12, 17, 22, 0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be)                       \
    MD5_FOUR(MD5_F, 12, 13, 14, 15, 7, 12, 17, 22, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821)                     \
    MD5_FOUR(MD5_G, 1, 6, 11, 0, 5, 9, 14, 20, 0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa)                         \
    MD5_FOUR(MD5_G, 5, 10, 15, 4, 5, 9, 14, 20, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8)                        \
    MD5_FOUR(MD5_G, 9, 14, 3, 8, 5, 9, 14, 20, 0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed)                         \
    MD5_FOUR(MD5_G, 13, 2, 7, 12, 5, 9, 14, 20, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a)                        \
    MD5_FOUR(MD5_H, 5, 8, 11, 14, 4, 11, 16, 23, 0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c)                       \
    MD5_FOUR(MD5_H, 1, 4, 7, 10, 4, 11, 16, 23, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70)                        \
    MD5_FOUR(MD5_H, 13, 0, 3, 6, 4, 11, 16, 23, 0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05)                        \
    MD5_FOUR(MD5_H, 9, 12, 15, 2, 4, 11, 16, 23, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665)                       \
    MD5_FOUR(MD5_I, 0, 7, 14, 5, 6, 10, 15, 21, 0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039)                        \
    MD5_FOUR(MD5_I, 12, 3, 10, 1, 6, 10, 15, 21, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1)                       \
    MD5_FOUR(MD5_I, 8, 15, 6, 13, 6, 10, 15, 21, 0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1)                       \
    MD5_FOUR(MD5_I, 4, 11, 2, 9, 6, 10, 15, 21, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391)                        \
    s[0] += a, s[1] += b, s[2] += c, s[3] += d;                                                                        \
  }

#define MD5_IN_REGISTER(a) __asm__("" : "+r"(a))
/* The two halves have no bit in common, and only one of them depends on the step before. */
#define MD5_G(b, c, d) ((c & ~d) + (b & d))
static inline void md5_one(uint32_t *s, const unsigned char *from, size_t count) {
#define MD5_LOAD(k) md5_word(from + offset + 4 * k)
  MD5_ROUNDS(uint32_t, MD5_LOAD)
#undef MD5_LOAD
}
#undef MD5_IN_REGISTER
#undef MD5_G
/* A single instruction on processors that have three-operand logic. */
#define MD5_G(b, c, d) ((b & d) | (c & ~d))
#if defined(__x86_64__)
#define MD5_IN_REGISTER(a) __asm__("" : "+v"(a))
#elif defined(__aarch64__)
#define MD5_IN_REGISTER(a) __asm__("" : "+w"(a))
#else
#define MD5_IN_REGISTER(a)
#endif

typedef uint32_t md5_v4 __attribute__((vector_size(16)));
typedef uint32_t md5_v8 __attribute__((vector_size(32)));

/* Blocks of several streams. Lanes without a stream hash the first one again, which costs nothing. */
#define MD5_MANY(name, V, WIDTH, LOAD, ...)                                                                            \
  __VA_ARGS__ static void name(struct md5 *const *streams, const unsigned char *const *data, int n, size_t count) {    \
    V s[4];                                                                                                            \
    const unsigned char *from[WIDTH];                                                                                  \
    for (int i = 0; i < WIDTH; i++) {                                                                                  \
      from[i] = data[i < n ? i : 0];                                                                                   \
      for (int j = 0; j < 4; j++) s[j][i] = streams[i < n ? i : 0]->state[j];                                          \
    }                                                                                                                  \
    MD5_ROUNDS(V, LOAD)                                                                                                \
    for (int i = 0; i < n; i++)                                                                                        \
      for (int j = 0; j < 4; j++) streams[i]->state[j] = s[j][i];                                                      \
  }
#define MD5_AT(i, k) md5_word(from[i] + offset + 4 * (k))
#define MD5_LOAD4(k) ((md5_v4){MD5_AT(0, k), MD5_AT(1, k), MD5_AT(2, k), MD5_AT(3, k)})
#define MD5_LOAD8(k)                                                                                                   \
  ((md5_v8){MD5_AT(0, k), MD5_AT(1, k), MD5_AT(2, k), MD5_AT(3, k), MD5_AT(4, k), MD5_AT(5, k), MD5_AT(6, k),          \
            MD5_AT(7, k)})

MD5_MANY(md5_four, md5_v4, 4, MD5_LOAD4, )
#ifdef __x86_64__
/* AVX-512 rotates in one instruction; used on vectors of 256 bits here. */
MD5_MANY(md5_four_512, md5_v4, 4, MD5_LOAD4, __attribute__((target("avx512f,avx512vl"))))
MD5_MANY(md5_eight_512, md5_v8, 8, MD5_LOAD8, __attribute__((target("avx512f,avx512vl"))))
MD5_MANY(md5_eight_2, md5_v8, 8, MD5_LOAD8, __attribute__((target("avx2"))))
#endif

/* `count` blocks of each of at most MD5_LANES streams. */
static inline void md5_blocks(struct md5 *const *streams, const unsigned char *const *data, int n, size_t count) {
  if (n == 1) return md5_one(streams[0]->state, data[0], count);
#ifdef __x86_64__
  int wide = __builtin_cpu_supports("avx512vl");
  if (n > 4 && wide) return md5_eight_512(streams, data, n, count);
  if (n > 4 && __builtin_cpu_supports("avx2")) return md5_eight_2(streams, data, n, count);
  if (n <= 4 && wide) return md5_four_512(streams, data, n, count);
#endif
  md5_four(streams, data, n < 4 ? n : 4, count);
  if (MD5_LANES > 4 && n > 4) md5_four(streams + 4, data + 4, n - 4, count);
}

/* Hashes `length[i]` more bytes of each of at most MD5_LANES different streams. */
static inline void md5_update(struct md5 *const *streams, const unsigned char *const *data, const size_t *length,
                              int n) {
  const unsigned char *at[MD5_LANES], *lane_at[MD5_LANES];
  size_t left[MD5_LANES];
  struct md5 *lane[MD5_LANES];
  int lane_of[MD5_LANES];
  for (int i = 0; i < n; i++) {
    struct md5 *md5 = streams[i];
    size_t held = md5->length % MD5_BLOCK;
    at[i] = data[i];
    left[i] = length[i];
    md5->length += length[i];
    if (held == 0) continue;
    size_t taken = left[i] < MD5_BLOCK - held ? left[i] : MD5_BLOCK - held;
    memcpy(md5->rest + held, at[i], taken);
    if (held + taken == MD5_BLOCK) md5_one(md5->state, md5->rest, 1);
    at[i] += taken;
    left[i] -= taken;
  }
  for (;;) {
    size_t count = SIZE_MAX;
    int lanes = 0;
    for (int i = 0; i < n; i++) {
      size_t blocks = left[i] / MD5_BLOCK;
      if (blocks == 0) continue;
      lane[lanes] = streams[i];
      lane_at[lanes] = at[i];
      lane_of[lanes++] = i;
      if (blocks < count) count = blocks;
    }
    if (lanes == 0) break;
    md5_blocks(lane, lane_at, lanes, count);
    for (int j = 0; j < lanes; j++) {
      at[lane_of[j]] += count * MD5_BLOCK;
      left[lane_of[j]] -= count * MD5_BLOCK;
    }
  }
  for (int i = 0; i < n; i++)
    if (left[i] > 0) memcpy(streams[i]->rest, at[i], left[i]);
}

/* Writes the 16 bytes of the digest. The stream must not be used afterwards. */
static inline void md5_final(struct md5 *md5, unsigned char *digest) {
  static const unsigned char padding[MD5_BLOCK] = {0x80};
  unsigned char bits[8];
  for (int i = 0; i < 8; i++) bits[i] = (unsigned char)((md5->length * 8) >> (8 * i));
  size_t held = md5->length % MD5_BLOCK;
  const unsigned char *pad = padding, *tail = bits;
  size_t pad_length = held < 56 ? 56 - held : 120 - held, tail_length = sizeof bits;
  md5_update(&md5, &pad, &pad_length, 1);
  md5_update(&md5, &tail, &tail_length, 1);
  for (int i = 0; i < 16; i++) digest[i] = (unsigned char)(md5->state[i / 4] >> (8 * (i % 4)));
}

#endif

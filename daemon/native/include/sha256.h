/* SHA-256 (FIPS 180-4) and HMAC (RFC 2104), for a few hundred bytes: node:crypto takes 8 ms and 2 MB to load. */
#ifndef HUTCH_SHA256_H
#define HUTCH_SHA256_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { SHA256_BLOCK = 64, SHA256_BYTES = 32 };

typedef struct {
  uint32_t state[8];
  uint64_t length;
  unsigned char block[SHA256_BLOCK];
} sha256;

static const uint32_t sha256_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static inline uint32_t sha256_rotate(uint32_t value, int bits) { return (value >> bits) | (value << (32 - bits)); }

static inline void sha256_compress(sha256 *hash) {
  uint32_t words[64], s[8];
  for (int i = 0; i < 16; i++) {
    const unsigned char *at = hash->block + i * 4;
    words[i] = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
  }
  for (int i = 16; i < 64; i++) {
    uint32_t a = words[i - 15], b = words[i - 2];
    words[i] = words[i - 16] + (sha256_rotate(a, 7) ^ sha256_rotate(a, 18) ^ (a >> 3)) + words[i - 7] +
               (sha256_rotate(b, 17) ^ sha256_rotate(b, 19) ^ (b >> 10));
  }
  memcpy(s, hash->state, sizeof s);
  for (int i = 0; i < 64; i++) {
    uint32_t sum1 = sha256_rotate(s[4], 6) ^ sha256_rotate(s[4], 11) ^ sha256_rotate(s[4], 25);
    uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
    uint32_t first = s[7] + sum1 + choice + sha256_constants[i] + words[i];
    uint32_t sum0 = sha256_rotate(s[0], 2) ^ sha256_rotate(s[0], 13) ^ sha256_rotate(s[0], 22);
    uint32_t second = sum0 + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
    memmove(s + 1, s, 7 * sizeof *s);
    s[4] += first;
    s[0] = first + second;
  }
  for (int i = 0; i < 8; i++) hash->state[i] += s[i];
}

static inline void sha256_begin(sha256 *hash) {
  static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  memcpy(hash->state, start, sizeof start);
  hash->length = 0;
}

static inline void sha256_add(sha256 *hash, const unsigned char *bytes, size_t count) {
  for (size_t i = 0; i < count; i++) {
    hash->block[hash->length++ % SHA256_BLOCK] = bytes[i];
    if (hash->length % SHA256_BLOCK == 0) sha256_compress(hash);
  }
}

static inline void sha256_end(sha256 *hash, unsigned char *out) {
  uint64_t bits = hash->length * 8;
  unsigned char length[8];
  for (int i = 0; i < 8; i++) length[i] = (unsigned char)(bits >> (56 - i * 8));
  sha256_add(hash, (const unsigned char *)"\x80", 1);
  while (hash->length % SHA256_BLOCK != SHA256_BLOCK - sizeof length) sha256_add(hash, (const unsigned char *)"", 1);
  sha256_add(hash, length, sizeof length);
  for (int i = 0; i < 8; i++)
    for (int j = 0; j < 4; j++) out[i * 4 + j] = (unsigned char)(hash->state[i] >> (24 - j * 8));
}

/* HMAC of `bytes`; a key longer than a block is hashed first. */
static inline void hmac_sha256(const unsigned char *key, size_t key_count, const unsigned char *bytes, size_t count,
                               unsigned char *out) {
  unsigned char block[SHA256_BLOCK] = {0};
  sha256 hash;
  if (key_count > SHA256_BLOCK) {
    sha256_begin(&hash);
    sha256_add(&hash, key, key_count);
    sha256_end(&hash, block);
  } else memcpy(block, key, key_count);
  for (int i = 0; i < SHA256_BLOCK; i++) block[i] ^= 0x36;
  sha256_begin(&hash);
  sha256_add(&hash, block, sizeof block);
  sha256_add(&hash, bytes, count);
  sha256_end(&hash, out);
  for (int i = 0; i < SHA256_BLOCK; i++) block[i] ^= 0x36 ^ 0x5c;
  sha256_begin(&hash);
  sha256_add(&hash, block, sizeof block);
  sha256_add(&hash, out, SHA256_BYTES);
  sha256_end(&hash, out);
}

#endif

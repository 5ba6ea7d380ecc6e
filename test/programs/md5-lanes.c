/* Hashes up to MD5_LANES streams side by side and each of them alone, with pieces of every kind; says where they differ. */
#include "md5.h"
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS 20
#define MOST 3000

static unsigned char pieces[MD5_LANES][MOST];

int main(void) {
  int differences = 0;
  srand(1);
  for (int count = 1; count <= MD5_LANES; count++) {
    struct md5 together[MD5_LANES], alone[MD5_LANES];
    for (int lane = 0; lane < count; lane++) {
      md5_init(&together[lane]);
      md5_init(&alone[lane]);
    }
    for (int round = 0; round < ROUNDS; round++) {
      struct md5 *streams[MD5_LANES];
      const unsigned char *data[MD5_LANES];
      size_t lengths[MD5_LANES];
      for (int lane = 0; lane < count; lane++) {
        lengths[lane] = (size_t)((round * 131 + lane * 977 + round * lane * 61) % MOST);
        for (size_t at = 0; at < lengths[lane]; at++) pieces[lane][at] = (unsigned char)rand();
        data[lane] = pieces[lane];
        streams[lane] = &together[lane];
        struct md5 *one = &alone[lane];
        md5_update(&one, &data[lane], &lengths[lane], 1);
      }
      md5_update(streams, data, lengths, count);
    }
    for (int lane = 0; lane < count; lane++) {
      unsigned char expected[16], found[16];
      md5_final(&alone[lane], expected);
      md5_final(&together[lane], found);
      if (memcmp(expected, found, sizeof found) == 0) continue;
      printf("stream %d of %d differs\n", lane + 1, count);
      differences++;
    }
  }
  printf("%d differences\n", differences);
  return differences > 0;
}

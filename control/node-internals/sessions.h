/*
 * Which SSL of OpenSSL's belongs to which TLSWrap of Node's. Node shows neither, but it gives away the address of a
 * part of a TLSWrap (`_externalStream`), and OpenSSL tells of each SSL that is made and freed, whose application
 * data is the TLSWrap.
 */
#ifndef HUTCH_SESSIONS_H
#define HUTCH_SESSIONS_H

#include <openssl/ssl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

enum {
  /* How far the part is from the start of a TLSWrap at most. A TLSWrap is larger: only one can be so near. */
  nearest = 256,
  buckets = 4096,
};

struct known {
  SSL *ssl;
  struct known *next, *before;
  struct known **list;
};

/* Other threads make and free theirs, too. */
static pthread_mutex_t known_lock = PTHREAD_MUTEX_INITIALIZER;
static struct known *fresh, *by_owner[buckets];
static int known_index = -1;
/* From the start of a TLSWrap to the part of it that Node gives away; unknown below zero. */
static intptr_t part_at = -1;

static void put(struct known **list, struct known *known) {
  known->list = list;
  known->before = NULL;
  known->next = *list;
  if (known->next) known->next->before = known;
  *list = known;
}

static void take_out(struct known *known) {
  if (known->before) known->before->next = known->next;
  else *known->list = known->next;
  if (known->next) known->next->before = known->before;
}

static void made(void *parent, void *ptr, CRYPTO_EX_DATA *data, int index, long argl, void *argp) {
  (void)ptr, (void)argl, (void)argp;
  struct known *known = calloc(1, sizeof *known);
  /* Without it Node serves the connection as it always does. */
  if (!known) return;
  known->ssl = parent;
  CRYPTO_set_ex_data(data, index, known);
  pthread_mutex_lock(&known_lock);
  put(&fresh, known);
  pthread_mutex_unlock(&known_lock);
}

static void freed(void *parent, void *ptr, CRYPTO_EX_DATA *data, int index, long argl, void *argp) {
  (void)parent, (void)data, (void)index, (void)argl, (void)argp;
  struct known *known = ptr;
  if (!known) return;
  pthread_mutex_lock(&known_lock);
  take_out(known);
  pthread_mutex_unlock(&known_lock);
  free(known);
}

/* Begins to watch. False when OpenSSL does not allow it. */
static bool know_sessions(void) {
  known_index = CRYPTO_get_ex_new_index(CRYPTO_EX_INDEX_SSL, 0, NULL, made, NULL, freed);
  return known_index >= 0;
}

static struct known **list_of(const void *owner) { return &by_owner[((uintptr_t)owner >> 4) % buckets]; }

/* Where `part` is a part of the owner of one that was not looked for yet, the distance is known from then on. */
static void learn(const char *part) {
  for (struct known *known = fresh; known && part_at < 0; known = known->next) {
    const char *owner = SSL_get_app_data(known->ssl);
    if (owner && owner <= part && part - owner < nearest) part_at = part - owner;
  }
}

/* The SSL of the TLSWrap that `part` belongs to, counted once more; NULL where there is none. */
static SSL *session_of(const char *part) {
  SSL *found = NULL;
  pthread_mutex_lock(&known_lock);
  if (part_at < 0) learn(part);
  for (struct known *known = fresh, *next; known; known = next) {
    next = known->next;
    const void *owner = SSL_get_app_data(known->ssl);
    if (!owner) continue;
    take_out(known);
    put(list_of(owner), known);
  }
  const char *owner = part - part_at;
  for (struct known *known = part_at < 0 ? NULL : *list_of(owner); known && !found; known = known->next)
    if (SSL_get_app_data(known->ssl) == owner && SSL_up_ref(known->ssl)) found = known->ssl;
  pthread_mutex_unlock(&known_lock);
  return found;
}

#endif

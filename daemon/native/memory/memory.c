/*
 * The daemon's memory: that of the C library and that of V8. Loading this limits the C library to one arena instead of
 * one per thread.
 */
#define _GNU_SOURCE
#include "arguments.h"
#include "heap-limit.h"
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* trim(): gives the free pages of the heap back to the system. */
static napi_value trim(napi_env env, napi_callback_info info) {
  (void)info;
  return number(env, malloc_trim(0));
}

/*
 * Unmaps the pages of one loaded file that cannot have been written. They stay in the system's page cache, which other
 * daemons share, and each is mapped again when it is used. Segments with relocations are writable at first, so they are
 * left out.
 */
static int let_go_of(struct dl_phdr_info *file, size_t size, void *pages) {
  (void)size;
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  for (int index = 0; index < file->dlpi_phnum; index++)
    if (file->dlpi_phdr[index].p_type == PT_DYNAMIC)
      for (const ElfW(Dyn) *entry = (const void *)(file->dlpi_addr + file->dlpi_phdr[index].p_vaddr); entry->d_tag;
           entry++)
        if (entry->d_tag == DT_TEXTREL) return 0;
  for (int index = 0; index < file->dlpi_phnum; index++) {
    const ElfW(Phdr) *part = &file->dlpi_phdr[index];
    if (part->p_type != PT_LOAD || part->p_flags & PF_W) continue;
    uintptr_t from = (file->dlpi_addr + part->p_vaddr) & ~(page - 1);
    uintptr_t to = (file->dlpi_addr + part->p_vaddr + part->p_filesz) & ~(page - 1);
    if (to > from && !madvise((void *)from, to - from, MADV_DONTNEED)) *(int64_t *)pages += (int64_t)((to - from) / page);
  }
  return 0;
}

/* unmap() → how many pages of programs and libraries may now be unmapped. */
static napi_value unmap(napi_env env, napi_callback_info info) {
  (void)info;
  int64_t pages = 0;
  dl_iterate_phdr(let_go_of, &pages);
  return number(env, pages);
}

/*
 * When the loader loads this first (LD_PRELOAD), there is no other thread yet, and so no other arena. In a sandbox it is
 * always first, and then what is below has its place before the C library's.
 */
static __attribute__((constructor)) void one_arena(void) { mallopt(M_ARENA_MAX, 1); }

/*
 * Whoever has the user and group of a process, all three of each, may set its limits (prlimit): root of a sandbox could take the
 * daemon's memory and descriptors away. Nobody else has two groups. A program that is run keeps none.
 */
static __attribute__((constructor)) void differ_from_tenants(void) {
  /* Without the capability for it there are no tenants either. */
  if (getpid() == 1 && setresgid((gid_t)-1, (gid_t)-1, 65534) < 0) errno = 0;
}

/*
 * Node opens by name what it reads itself: resolv.conf and nsswitch.conf, OpenSSL's configuration, time zones. In a
 * sandbox these are a tenant's, who may also have made them pipes that never end. So only the kernel's files and the
 * bundle's are there; what our own code reads it opens by other calls.
 */
static int is_ours(const char *path) {
  static char bundle[256];
  Dl_info self;
  if (!bundle[0] && dladdr((void *)is_ours, &self) && strlen(self.dli_fname) < sizeof bundle) {
    strcpy(bundle, self.dli_fname);
    char *end = strstr(bundle, "/daemon/native/");
    if (end) end[1] = 0;
  }
  return strncmp(path, "/proc/", 6) == 0 || strncmp(path, "/sys/", 5) == 0 ||
         (bundle[0] && strncmp(path, bundle, strlen(bundle)) == 0);
}

static FILE *open_ours(const char *name, const char *path, const char *mode) {
  FILE *(*next)(const char *, const char *) = (FILE * (*)(const char *, const char *)) dlsym(RTLD_NEXT, name);
  if (next && is_ours(path)) return next(path, mode);
  errno = ENOENT;
  return NULL;
}

#define SHOWN __attribute__((visibility("default")))
SHOWN FILE *fopen(const char *restrict path, const char *restrict mode) { return open_ours("fopen", path, mode); }
SHOWN FILE *fopen64(const char *restrict path, const char *restrict mode) { return open_ours("fopen64", path, mode); }

NAPI_MODULE_INIT() {
  FUNCTION(limit);
  FUNCTION(unmap);
  FUNCTION(trim);
  return exports;
}

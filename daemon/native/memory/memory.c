/*
 * The daemon's memory: that of the C library and that of V8. Loading this limits the C library to one arena instead of
 * one per thread.
 */
#include "arguments.h"
#include "heap-limit.h"
#include <link.h>
#include <malloc.h>
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

/* When the loader loads this first (LD_PRELOAD), there is no other thread yet, and so no other arena. */
static __attribute__((constructor)) void one_arena(void) { mallopt(M_ARENA_MAX, 1); }

NAPI_MODULE_INIT() {
  FUNCTION(limit);
  FUNCTION(unmap);
  FUNCTION(trim);
  return exports;
}

/*
 * The daemon's memory: the C library's share and V8's. Loading this keeps the C library to one arena; the default is one
 * per thread.
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
 * Lets go of the pages of one loaded file that nobody can have written: they are in the system's cache, which other
 * daemons read too, and come back by the piece when they are used. What was relocated lies in segments that may be
 * written, at first.
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

/* Where the loader is told to load this first, there is no other thread yet, and so no other arena. */
static __attribute__((constructor)) void one_arena(void) { mallopt(M_ARENA_MAX, 1); }

NAPI_MODULE_INIT() {
  FUNCTION(limit);
  FUNCTION(unmap);
  FUNCTION(trim);
  return exports;
}

/* SPDX-License-Identifier: MIT */
/*
 * The allocation functions that we define, declared here and not by libc's headers, whose
 * declarations differ from one libc to the next.
 */
#ifndef API_LIBC_H
#define API_LIBC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

void *malloc(size_t size);
void free(void *p);
void *calloc(size_t count, size_t size);
void *realloc(void *p, size_t size);
void *reallocarray(void *p, size_t count, size_t size);
void *memalign(size_t align, size_t size);
void *aligned_alloc(size_t align, size_t size);
int posix_memalign(void **out, size_t align, size_t size);
void *valloc(size_t size);
void *pvalloc(size_t size);
size_t malloc_usable_size(void *p);
void cfree(void *p);
void free_sized(void *p, size_t size);
void free_aligned_sized(void *p, size_t align, size_t size);
void *__libc_malloc(size_t size);
void __libc_free(void *p);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t align, size_t size);
void *__libc_valloc(size_t size);
void *__libc_pvalloc(size_t size);
void __libc_cfree(void *p);
int __posix_memalign(void **out, size_t align, size_t size);

struct caller; /* lib/watch/unwind.h */

/* What realloc(p, 0) does, and how often it was called. */
enum { ZERO_REALLOC_FREES, ZERO_REALLOC_ALLOCATES, ZERO_REALLOC_ABORTS };
extern HIDDEN uint32_t libc_zero_realloc;
extern HIDDEN uint64_t libc_zero_reallocs;
/* Whether an alignment that is no power of two is refused with EINVAL, not rounded up. */
extern HIDDEN bool (*libc_aligned_strictly)(void);
/* Not NULL: called where memory is out in operator new, in the place of an exception. */
extern HIDDEN void (*cxx_new_fails)(size_t size);
/* Where jemalloc would end the program: tells a function of the program's, in jemalloc's words, or
 * ends it with a line of ours. */
typedef void abort_hook(const char *message);
extern HIDDEN abort_hook *libc_abort_hook;
void libc_abort(const char *theirs, const char *ours);
/* jemalloc's option xmalloc: says a sentence and ends the program; NULL: the option is off. */
extern HIDDEN void (*libc_xmalloc)(const char *words);
/* Its sentences, which tell the call. jemalloc's realloc of a block calls itself rallocx. */
#define WORDS_OUT(call)     "<jemalloc>: Error in " call "(): out of memory\n"
#define WORDS_ALIGNED(what) "<jemalloc>: Error allocating aligned memory: " what "\n"
/* Not 0: malloc and its relatives call C++'s new_handler when memory is out, and try again. */
extern HIDDEN int libc_new_mode;
/* Calls C++'s new_handler; false if there is none. */
bool cxx_handler_called(void);

/* For faces that know the caller: free; malloc, and memalign for any alignment, which set errno. */
void libc_free(void *p, const struct caller *caller);
void *libc_malloc(size_t size, const struct caller *caller);
void *libc_aligned(size_t align, size_t size, const struct caller *caller);
/* The same for both, with the sentence for `libc_xmalloc`; `align` is a power of two. */
void *libc_take(size_t align, size_t size, const struct caller *caller, const char *words);
/* What free and the operators jump to when the hot path is not for the block. */
NOINLINE void libc_free_slow(void *p);
/* The same for operators, of a family (enum caller_family), and for those that tell the size
 * (else SIZE_UNKNOWN) or the alignment (else 0). */
NOINLINE void libc_delete_slow(void *p, size_t size, size_t align, unsigned family);

#endif

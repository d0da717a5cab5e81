/* SPDX-License-Identifier: MIT */
/*
 * tcmalloc's own names of the allocation functions. Each jumps to ours, so that its caller is
 * recorded.
 */
#include "lib/api/api.h"

#include "base/compiler.h"
#include "base/print.h"
#include "lib/faces/gperftools/gperftools.h"
#include "lib/faces/jemalloc/jemalloc_alloc.h"
#include "lib/process/process.h"

struct nothrow;
void *_Znwm(size_t size);
void *_Znam(size_t size);
void *_ZnwmRKSt9nothrow_t(size_t size, const struct nothrow *tag);
void *_ZnamRKSt9nothrow_t(size_t size, const struct nothrow *tag);
void *_ZnwmSt11align_val_t(size_t size, size_t align);
void *_ZnamSt11align_val_t(size_t size, size_t align);
void *_ZnwmSt11align_val_tRKSt9nothrow_t(size_t size, size_t align, const struct nothrow *tag);
void *_ZnamSt11align_val_tRKSt9nothrow_t(size_t size, size_t align, const struct nothrow *tag);

#pragma GCC diagnostic ignored "-Wunused-parameter"

#define JUMP(result, name, args, call) \
    EXPORT result name args;           \
    EXPORT result name args            \
    {                                  \
        return call;                   \
    }

JUMP(void *, tc_malloc, (size_t size), malloc(size))
JUMP(void *, tc_malloc_skip_new_handler, (size_t size), malloc(size))
JUMP(void, tc_free, (void *p), free(p))
JUMP(void, tc_free_sized, (void *p, size_t size), free(p))
JUMP(void, tc_free_aligned_sized, (void *p, size_t align, size_t size), free(p))
JUMP(void *, tc_realloc, (void *p, size_t size), realloc(p, size))
JUMP(void *, tc_calloc, (size_t count, size_t size), calloc(count, size))
JUMP(void, tc_cfree, (void *p), free(p))
JUMP(void *, tc_memalign, (size_t align, size_t size), memalign(align, size))
JUMP(int, tc_posix_memalign, (void **out, size_t align, size_t size),
     posix_memalign(out, align, size))
JUMP(void *, tc_valloc, (size_t size), valloc(size))
JUMP(void *, tc_pvalloc, (size_t size), pvalloc(size))
JUMP(size_t, tc_malloc_size, (void *p), malloc_usable_size(p))
JUMP(size_t, malloc_size, (void *p), malloc_usable_size(p))
JUMP(size_t, tc_nallocx, (size_t size, int flags), nallocx(size, flags))
JUMP(int, tc_mallopt, (int option, int value), 1)
JUMP(int, tc_query_new_mode, (void), load_relaxed(&libc_new_mode))
JUMP(int, tc_set_new_mode, (int mode), __atomic_exchange_n(&libc_new_mode, mode, __ATOMIC_RELAXED))

JUMP(void *, tc_new, (size_t size), _Znwm(size))
JUMP(void *, tc_newarray, (size_t size), _Znam(size))
JUMP(void *, tc_new_nothrow, (size_t size, const struct nothrow *tag),
     _ZnwmRKSt9nothrow_t(size, tag))
JUMP(void *, tc_newarray_nothrow, (size_t size, const struct nothrow *tag),
     _ZnamRKSt9nothrow_t(size, tag))
JUMP(void *, tc_new_aligned, (size_t size, size_t align), _ZnwmSt11align_val_t(size, align))
JUMP(void *, tc_newarray_aligned, (size_t size, size_t align), _ZnamSt11align_val_t(size, align))
JUMP(void *, tc_new_aligned_nothrow, (size_t size, size_t align, const struct nothrow *tag),
     _ZnwmSt11align_val_tRKSt9nothrow_t(size, align, tag))
JUMP(void *, tc_newarray_aligned_nothrow, (size_t size, size_t align, const struct nothrow *tag),
     _ZnamSt11align_val_tRKSt9nothrow_t(size, align, tag))
/* What operator delete does that the program has not replaced: blocks of tc_new and of tc_newarray
 * are of families of their own, which debugged and guarded blocks are checked for. */
#define DELETE(name, args, hot, size, align, family)    \
    EXPORT void name args;                              \
    EXPORT void name args                               \
    {                                                   \
        if (unlikely(!hot(load_relaxed(&heap_now), p))) \
            libc_delete_slow(p, size, align, family);   \
    }
#define HOT_SIZED(heap, p) hot_push_sized(heap, p, size)

DELETE(tc_delete, (void *p), hot_push, SIZE_UNKNOWN, 0, FAMILY_NEW)
DELETE(tc_deletearray, (void *p), hot_push, SIZE_UNKNOWN, 0, FAMILY_NEW_ARRAY)
DELETE(tc_delete_nothrow, (void *p, const struct nothrow *tag), hot_push, SIZE_UNKNOWN, 0,
       FAMILY_NEW)
DELETE(tc_deletearray_nothrow, (void *p, const struct nothrow *tag), hot_push, SIZE_UNKNOWN, 0,
       FAMILY_NEW_ARRAY)
DELETE(tc_delete_sized, (void *p, size_t size), HOT_SIZED, size, 0, FAMILY_NEW)
DELETE(tc_deletearray_sized, (void *p, size_t size), HOT_SIZED, size, 0, FAMILY_NEW_ARRAY)
DELETE(tc_delete_aligned, (void *p, size_t align), hot_push, SIZE_UNKNOWN, align, FAMILY_NEW)
DELETE(tc_deletearray_aligned, (void *p, size_t align), hot_push, SIZE_UNKNOWN, align,
       FAMILY_NEW_ARRAY)
DELETE(tc_delete_aligned_nothrow, (void *p, size_t align, const struct nothrow *tag), hot_push,
       SIZE_UNKNOWN, align, FAMILY_NEW)
DELETE(tc_deletearray_aligned_nothrow, (void *p, size_t align, const struct nothrow *tag), hot_push,
       SIZE_UNKNOWN, align, FAMILY_NEW_ARRAY)
DELETE(tc_delete_sized_aligned, (void *p, size_t size, size_t align), HOT_SIZED, size, align,
       FAMILY_NEW)
DELETE(tc_deletearray_sized_aligned, (void *p, size_t size, size_t align), HOT_SIZED, size, align,
       FAMILY_NEW_ARRAY)

void tc_malloc_stats(void);
const char *tc_version(int *major, int *minor, const char **patch);
typedef const char *version_call(int *major, int *minor, const char **patch);

EXPORT void tc_malloc_stats(void)
{
    enum { STANDARD_ERROR = 2 };
    char buffer[GPERFTOOLS_STATS_SIZE];
    struct print out;
    if (!init_done())
        return;
    print_start(&out, buffer, sizeof buffer);
    gperftools_stats(&out, 1);
    print_flush(&out, STANDARD_ERROR); /* an answer, not a message: see base/message.h */
}

/* The release whose behaviour is followed here, or that of gperftools' own library behind ours: the
 * program was built with its header. */
EXPORT const char *tc_version(int *major, int *minor, const char **patch)
{
    version_call *theirs =
        next_has_library("libtcmalloc") ? (version_call *)next_find("tc_version") : NULL;
    if (theirs != NULL)
        return theirs(major, minor, patch);
    if (major != NULL)
        *major = 2;
    if (minor != NULL)
        *minor = 10;
    if (patch != NULL)
        *patch = "";
    return "gperftools 2.10";
}

/* SPDX-License-Identifier: MIT */
/* The calls under test, one thin layer over them, and the positive controls: compiled with
 * -DPLANT=N the layer misbehaves once in PLANT_EVERY calls the way a broken allocator would, and
 * the engine must say so. tests/programs/random_operations_catch_planted_bugs.sh builds each and
 * checks the verdict. */
#ifndef TESTS_STRESS_TARGET_H
#define TESTS_STRESS_TARGET_H

#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "memoir/memoir.h"

/* All of ours is weak: without the library preloaded the engine checks the C library's
 * allocator. */
#pragma weak memoir_stats
#pragma weak memoir_thread_totals
#pragma weak memoir_class_totals
extern void free_sized(void *, size_t) __attribute__((weak));
extern void free_aligned_sized(void *, size_t, size_t) __attribute__((weak));
extern void *_Znwm(size_t) __attribute__((weak));
extern void *_ZnamRKSt9nothrow_t(size_t, const void *) __attribute__((weak));
extern void *_ZnwmSt11align_val_t(size_t, size_t) __attribute__((weak));
extern void _ZdlPv(void *) __attribute__((weak));
extern void _ZdaPvm(void *, size_t) __attribute__((weak));
extern void _ZdlPvSt11align_val_t(void *, size_t) __attribute__((weak));

enum plant {
    PLANT_NOTHING,
    PLANT_OVERLAP,         /* malloc returns a block that begins inside a live one */
    PLANT_DUPLICATE,       /* malloc returns a live block again */
    PLANT_NULL,            /* malloc fails for no reason */
    PLANT_MISALIGNED,      /* memalign forgets the alignment */
    PLANT_DIRTY,           /* calloc leaves a byte */
    PLANT_LOST_BYTE,       /* realloc loses the last byte it had to keep */
    PLANT_SCRIBBLE,        /* a byte of a live block changes */
    PLANT_SHORT,           /* malloc_usable_size is less than was asked for */
    PLANT_LONG,            /* malloc_usable_size counts in the neighbour */
    PLANT_ERRNO,           /* free changes errno */
    PLANT_LEAK,            /* free does nothing */
    PLANT_MISCOUNT,        /* an allocation is missing in the sum */
    PLANT_MISCOUNT_THREAD, /* a free is missing in the thread's account */
    PLANT_MISCOUNT_CLASS,  /* an allocation is counted in another class */
};

#ifndef PLANT
#define PLANT PLANT_NOTHING
#endif
enum { PLANT_EVERY = 2000 };

/* True once in PLANT_EVERY calls when this plant is compiled in. */
static inline bool planted(enum plant plant)
{
    static unsigned calls;
    return PLANT != PLANT_NOTHING && (enum plant)PLANT == plant &&
           __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) % PLANT_EVERY == 0;
}

/* `live` is some live block of the caller's, or NULL: what a broken allocator would hand out
 * again. */
static inline void *target_malloc(size_t size, void *live)
{
    if (live != NULL && planted(PLANT_OVERLAP)) {
        return (char *)live + 16;
    }
    if (live != NULL && planted(PLANT_DUPLICATE)) {
        return live;
    }
    return planted(PLANT_NULL) ? NULL : malloc(size);
}

static inline void *target_calloc(size_t count, size_t size)
{
    unsigned char *block = calloc(count, size);
    if (count * size > 0 && planted(PLANT_DIRTY)) {
        block[count * size - 1] = 1;
    }
    return block;
}

static inline void *target_realloc(void *old, size_t size, size_t keep)
{
    unsigned char *block = realloc(old, size);
    if (keep > 0 && planted(PLANT_LOST_BYTE)) {
        block[keep - 1] ^= 0x10;
    }
    return block;
}

static inline void *target_memalign(size_t alignment, size_t size)
{
    if (alignment > 16 && planted(PLANT_MISALIGNED)) {
        char *block = memalign(alignment, size + 16);
        return block + 16;
    }
    return memalign(alignment, size);
}

static inline size_t target_usable(void *block, size_t size)
{
    size_t usable = malloc_usable_size(block);
    if (size > 0 && planted(PLANT_SHORT)) {
        return size - 1;
    }
    return planted(PLANT_LONG) ? usable + 32 : usable;
}

static inline void target_free(void *block)
{
    if (planted(PLANT_LEAK)) {
        return;
    }
    free(block);
    if (planted(PLANT_ERRNO)) {
        errno = EAGAIN;
    }
}

static inline bool target_stats(struct memoir_stats *stats)
{
    bool known = memoir_stats != NULL && memoir_stats(stats, sizeof *stats);
    if (known && PLANT == PLANT_MISCOUNT) {
        static unsigned asked;
        stats->total.allocs -= ++asked > 1;
    }
    return known;
}

static inline bool target_thread_totals(struct memoir_totals *totals)
{
    bool known = memoir_thread_totals != NULL && memoir_thread_totals(totals);
    if (known && PLANT == PLANT_MISCOUNT_THREAD) {
        totals->frees -= totals->frees % 2;
    }
    return known;
}

static inline bool target_class_totals(size_t size, struct memoir_totals *totals)
{
    bool known = memoir_class_totals != NULL && memoir_class_totals(size, totals);
    if (known && PLANT == PLANT_MISCOUNT_CLASS) {
        totals->allocs -= totals->allocs % 2;
    }
    return known;
}

#endif

/* SPDX-License-Identifier: MIT */
/* Blocks above BLOCK_MAX: each whole units long, at the start of a span of its own. */
#ifndef ALLOC_LARGE_H
#define ALLOC_LARGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/os.h"
#include "lib/window/window.h"

/* A block of at least `size` bytes at a multiple of `align` (a power of two). *zero: reads as zero.
 * The caller writes its live byte. NULL when memory or addresses are out. */
void *large_take(unsigned pool, size_t size, size_t align, bool *zero);
/* Makes the first `size` bytes of any block read as zero, at the least cost: in a large one, pages
 * that are not in memory stay out. */
void large_clear(void *block, size_t size);
/* The live byte must be 0. */
void large_give(struct span *span);
/* Memory is out: blocks that wait for their end under `harden` wait no longer. False: none did. */
bool large_yield(void);
/* Makes the block longer or shorter where it is. */
bool large_resize(struct span *span, size_t size);
/* Moves the contents of a large block to a longer one without copying. `from` is empty then and
 * should be given back. */
enum os_moved large_move(struct span *from, struct span *to);
/* Whether most of what lies there was never written to, as far as a few looks tell. */
bool large_is_sparse(const void *block, size_t bytes);
/* memcpy for contents of any block: where most was never written to, it stays so, and takes no
 * memory in the new place either. */
void large_copy_sparse(void *to, const void *from, size_t bytes);
/* The span's memory is lost: it is never handed out again. */
void large_abandon(struct span *span);

INLINE size_t large_size(const struct span *span)
{
    return (size_t)span->length << UNIT_SHIFT;
}

/* Statistics by size: four sizes for each doubling beyond BLOCK_MAX; each stands for the blocks up
 * to it, down to the one before. */
enum { LARGE_SIZES = 4 * (62 - 15) + 3 };
struct large_count {
    uint64_t allocs, frees;
};
extern HIDDEN struct large_count large_counts[LARGE_SIZES]; /* of the process */

INLINE size_t large_size_at(unsigned index)
{
    _Static_assert(BLOCK_MAX == 1 << 15, "LARGE_SIZES");
    return ((size_t)BLOCK_MAX << (index + 1) / 4) / 4 * (4 + (index + 1) % 4);
}

INLINE unsigned large_size_index(size_t bytes)
{
    if (bytes <= BLOCK_MAX)
        return 0;
    unsigned doubling = 63 - (unsigned)__builtin_clzl(bytes - 1);
    unsigned index = (doubling - 15) * 4 + ((bytes - 1) >> (doubling - 2) & 3);
    return index < LARGE_SIZES ? index : LARGE_SIZES - 1;
}

#endif

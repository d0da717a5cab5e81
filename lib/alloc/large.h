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
/* Makes the block longer or shorter where it is. */
bool large_resize(struct span *span, size_t size);
/* Moves the contents of a large block to a longer one without copying. `from` is empty then and
 * should be given back. */
enum os_moved large_move(struct span *from, struct span *to);
/* The span's memory is lost: it is never handed out again. */
void large_abandon(struct span *span);

INLINE size_t large_size(const struct span *span)
{
    return (size_t)span->length << UNIT_SHIFT;
}

#endif

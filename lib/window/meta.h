/* SPDX-License-Identifier: MIT */
/*
 * Memory for the allocator's own bookkeeping: heaps, stocks, tables of records. Powers of two from
 * 64 bytes; what is given back is kept for the next one of its size and never unmapped, so a
 * pointer here stays readable for ever. Places are also known by a 32-bit number (in 16-byte
 * steps).
 */
#ifndef WINDOW_META_H
#define WINDOW_META_H

#include <stddef.h>
#include <stdint.h>

#include "base/lock.h"
#include "lib/window/arena.h"

enum { META_ID_SHIFT = 4 };

/* Zeroed memory, or NULL. */
void *meta_take(size_t bytes);
/* The same without waiting, for a signal handler: NULL, too, while the thread holds a lock. */
void *meta_take_now(size_t bytes);
/* The same to the byte, for what is never given back. */
void *meta_take_for_ever(size_t bytes);
void meta_give(void *memory, size_t bytes);
uint32_t meta_id(const void *memory);
size_t meta_used(void); /* in bytes: in use, or waiting for reuse */
INLINE void *meta_at(uint32_t id)
{
    return window.meta + ((size_t)id << META_ID_SHIFT);
}

#endif

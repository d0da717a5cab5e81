/* SPDX-License-Identifier: MIT */
/* A block and a small number in one word: its place in a bin's stock (heap.h), or its mark. */
#ifndef ALLOC_SLOT_H
#define ALLOC_SLOT_H

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

enum { PLACE_BITS = 16 }; /* blocks are below 2^48 */

INLINE uint64_t slot_make(const void *block, size_t place)
{
    return ((uint64_t)(uintptr_t)block << PLACE_BITS) + place;
}

INLINE void *slot_block(uint64_t slot)
{
    return (void *)(uintptr_t)(slot >> PLACE_BITS);
}

INLINE size_t slot_place(uint64_t slot)
{
    return (uint16_t)slot;
}

#endif

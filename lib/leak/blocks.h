/* SPDX-License-Identifier: MIT */
/* All live blocks, one by one, and which of them were there at an earlier moment. While other
 * threads run, a block that changes meanwhile may be missed. */
#ifndef LEAK_BLOCKS_H
#define LEAK_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct record; /* lib/window/span.h */

struct found {
    uintptr_t start;
    size_t size;
    uint32_t other; /* its number, if it lies outside of the window (scan.h) */
};

typedef void blocks_visitor(void *context, const struct found *block);
void blocks_each(blocks_visitor *visit, void *context);
/* The same in the opposite order. */
void blocks_each_backwards(blocks_visitor *visit, void *context);
/* Whether a block begins there. The address is in the window. */
bool block_is_live(uintptr_t start);
/* The record of a block that has one; its site is not 0. */
const struct record *block_record(uintptr_t start);
/* The block that an address is in. False: it is in none. */
bool block_at(uintptr_t address, struct found *block);

/* The blocks of a moment: a bit a granule, 1/128 of the heap. NULL if memory is out. */
struct blocks_base;
struct blocks_base *blocks_base_take(void);
void blocks_base_free(struct blocks_base *base);
/* Whether the block was there, as far as its address tells and, if it has a record, its age. Of a
 * block outside of the window only the record tells, and one without a record was there. */
bool blocks_is_old(const struct blocks_base *base, const struct found *block,
                   const struct record *record);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * jemalloc's options junk and zero: what new and freed blocks are filled with, to the end of what
 * malloc_usable_size tells. While one of them is on no call takes the hot path, as with hooks
 * (hooks.h); otherwise they cost nothing. Freed blocks of the modes debug, guard and harden are
 * left as these modes leave them.
 */
#ifndef API_FILLING_H
#define API_FILLING_H

#include <stdbool.h>
#include <stddef.h>

enum { FILLING_NEW = 0xa5, FILLING_FREED = 0x5a };

/* Before the heap starts. `zero` counts before `junk_new`. */
void filling_ask(bool zero, bool junk_new, bool junk_freed);

/* From outside of the allocator, while `hooks_any`: */
/* A new block. `clear`: its caller fills it with zeros, unless *zero, which tells that it reads as
 * zero already. */
void filling_begin(void *block, bool clear, bool *zero);
/* It is longer than `before`, at the same address or at another one. */
void filling_grown(void *block, size_t before);
/* It is about to be freed, if it is a block at all. */
void filling_end(void *p);

#endif

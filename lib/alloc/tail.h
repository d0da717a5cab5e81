/* SPDX-License-Identifier: MIT */
/*
 * With `harden`: the tails of blocks.
 *
 *      | what was asked for | filled | tail |          a block of a class
 *
 * The tail is a word made of a secret, the address and the length of what lies behind the block. It
 * and the bytes before it are compared when the block is freed, and for all live blocks when the
 * program ends. A free block is all zero but for its tail; so a new block that is not like that was
 * written to after its free, or its neighbour was written to at a wrong place.
 */
#ifndef ALLOC_TAIL_H
#define ALLOC_TAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lib/window/window.h"

/* A span of blocks with tails is new. */
void tail_span(const struct span *span);

typedef uint64_t tail_pair __attribute__((vector_size(16), may_alias));

INLINE uint64_t tail_word(const char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

INLINE void tail_word_set(char *at, uint64_t word)
{
    memcpy(at, &word, sizeof word);
}

/* What the tail of a free block holds; of a live one, with the length behind the block. */
INLINE uint64_t tail_of(const void *block)
{
    uint64_t x = ((uint64_t)(uintptr_t)block ^ harden_secret) * UINT64_C(0x9e3779b97f4a7c15);
    return x ^ x >> 32;
}

/* The ends of the program: a free block is not as it was left; the tail of a live one is
 * damaged. */
_Noreturn NOINLINE void tail_dirty(const char *block, size_t usable, const char *call);
_Noreturn NOINLINE void tail_damaged(const char *block, size_t usable, const char *call);
/* For more than 16 bytes: fills up to `end`; and the first byte that is not so, or NULL. */
void tail_fill_set(char *at, const char *end);
const char *tail_fill_find(const char *at, const char *end);

/* Whether a free block is as it was left. Blocks are multiples of 16 bytes. */
INLINE bool tail_clean(const char *block, size_t usable, uint64_t tail)
{
    const tail_pair *at = __builtin_assume_aligned(block, 16);
    const tail_pair *last = (const tail_pair *)(const void *)(block + usable - 16);
    tail_pair any = *last ^ (tail_pair) { 0, tail };
    for (; last - at >= 4; at += 4)
        any |= at[0] | at[1] | at[2] | at[3];
    for (; at < last; at++)
        any |= *at;
    return (any[0] | any[1]) == 0;
}

/* Blocks of a class, `usable` bytes long. A block for `size` bytes begins: ends the program if
 * it is not as a free one is left; writes the tail. */
INLINE void tail_begin(void *start, size_t usable, size_t size)
{
    char *block = start, *end = block + usable - HARDEN_TAIL;
    uint64_t tail = tail_of(block);
    size_t gap = (size_t)(end - block) - size;
    if (unlikely(!tail_clean(block, usable, tail)))
        tail_dirty(block, usable, "malloc");
    if (likely(gap <= 16)) {
        if (gap != 0)
            tail_word_set(block + size, harden_fill); /* the tail comes after it */
        if (gap > 8)
            tail_word_set(end - 8, harden_fill);
    } else {
        tail_fill_set(block + size, end);
    }
    tail_word_set(end, tail ^ (gap + HARDEN_TAIL));
}

/* For how many bytes it was asked. Ends the program if the tail is damaged, which `call` found. */
INLINE size_t tail_size(const void *start, size_t usable, const char *call)
{
    const char *block = start, *end = block + usable - HARDEN_TAIL;
    uint64_t gap = (tail_word(end) ^ tail_of(block)) - HARDEN_TAIL, other = 0;
    if (unlikely(gap > usable - HARDEN_TAIL))
        tail_damaged(block, usable, call);
    if (likely(gap <= 16)) {
        if (gap != 0)
            other = (tail_word(end - gap) ^ harden_fill) << (gap < 8 ? 64 - 8 * gap : 0);
        if (gap > 8)
            other |= tail_word(end - 8) ^ harden_fill;
    } else {
        other = tail_fill_find(end - gap, end) != NULL;
    }
    if (unlikely(other != 0))
        tail_damaged(block, usable, call);
    return usable - HARDEN_TAIL - gap;
}

/* Its end: looks at the tail and wipes it. */
INLINE void tail_end(void *start, size_t usable)
{
    char *block = start;
    tail_size(block, usable, "free");
    if (likely(usable <= 512)) {
        tail_pair *last = (tail_pair *)(void *)(block + usable - 16);
        tail_pair *at = __builtin_assume_aligned(block, 16);
        for (; last - at >= 4; at += 4)
            at[0] = at[1] = at[2] = at[3] = (tail_pair){0};
        for (; at < last; at++)
            *at = (tail_pair){0};
        *last = (tail_pair){0, tail_of(block)};
    } else {
        memset(block, 0, usable - HARDEN_TAIL);
        tail_word_set(block + usable - HARDEN_TAIL, tail_of(block));
    }
}

/* A live block stays for another size, which leaves room for the tail. */
void tail_resize(void *block, size_t usable, size_t size);

/* The same for large blocks; what lies behind the block ends with its last page. */
void tail_large_begin(struct span *span, size_t size);
size_t tail_large_size(const struct span *span, const char *call);

/* Whether the span's blocks have tails: those of owners have none. */
INLINE bool tail_has(const struct span *span)
{
    return span->state == SPAN_BLOCKS && !(span->kinds & KIND_OWNED);
}
/* The size that a live block in the window was asked for, 0 if that is not known. */
size_t tail_asked(const void *p, const char *call);

/* At the end of the program, if no other thread is running: looks at the tails of live blocks, and
 * whether free ones are zero, for 20 ms at most. Not in a forked child: a thread that stayed behind
 * may have been wiping a block, or writing its tail. */
void tail_exit(void);
/* In a forked child. */
void tail_recover(void);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * With `harden`: the tails of blocks.
 *
 *      | what was asked for | filled | tail |          a block of a class
 *
 * The tail is a word made of a secret, the address and the length of what lies behind the block. It
 * and the bytes before it are compared when the block is freed, and for all live blocks when the
 * program ends. A free block is all zero; so a new block that is not was written to after its free,
 * or its neighbour was written to at a wrong place.
 *
 * All of it is done for each malloc and free, by blocks of any size in turn: hence pieces that
 * overlap instead of loops and branches that no processor foresees.
 *
 * A call may never end: a signal handler jumps out of it or calls exit, or its thread is cancelled.
 * So a live block that is begun, wiped or resized has an *open* tail meanwhile, which holds nothing
 * but zeros and filled bytes, and the look at the end passes over it. Fences keep that order; no
 * processor has to know of them, as one thread does all of it.
 */
#ifndef ALLOC_TAIL_H
#define ALLOC_TAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lib/window/window.h"

typedef uint64_t tail_piece __attribute__((vector_size(16), may_alias));
enum { TAIL_PIECE = 16, TAIL_ROW = 4 * TAIL_PIECE };

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

/* What the tail of a live block holds, but for the length behind the block. */
INLINE uint64_t tail_of(const void *block)
{
    uint64_t x = hash_word((uint64_t)(uintptr_t)block ^ harden_secret);
    return x >> 32 | x << 32;
}

/* The ends of the program: a free block is not zero; the tail of a live one is damaged. */
_Noreturn NOINLINE void tail_dirty(const char *block, size_t usable, const char *call);
_Noreturn NOINLINE void tail_damaged(const char *block, size_t usable, const char *call);

INLINE void tail_open(char *block, size_t usable)
{
    tail_word_set(block + usable - HARDEN_TAIL, 0);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

INLINE tail_piece tail_row(const tail_piece *at)
{
    return at[0] | at[1] | at[2] | at[3];
}

/* Whether a block of a class is as a free one is left. */
INLINE bool tail_zero(const char *block, size_t usable)
{
    const tail_piece *at = (const tail_piece *)(const void *)block;
    const tail_piece *last = at + usable / TAIL_PIECE - 1;
    tail_piece any;
    if (likely(usable <= TAIL_ROW)) { /* twice the same where there are fewer than four */
        any = at[0] | at[usable >> 6] | at[usable >> 5] | *last;
    } else {
        any = tail_row(at) | tail_row(last - 3);
        for (at += 4; at < last - 3; at += 4)
            any |= tail_row(at);
    }
    return (any[0] | any[1]) == 0;
}

INLINE void tail_row_wipe(tail_piece *at)
{
    at[0] = at[1] = at[2] = at[3] = (tail_piece){0};
}

/* Makes it so: blocks up to SMALL_MAX, and larger ones. */
INLINE void tail_wipe(char *block, size_t usable)
{
    tail_open(block, usable);
    tail_piece *at = (tail_piece *)(void *)block, *last = at + usable / TAIL_PIECE - 1;
    if (likely(usable <= TAIL_ROW)) {
        at[0] = at[usable >> 6] = at[usable >> 5] = *last = (tail_piece){0};
    } else {
        tail_row_wipe(at);
        tail_row_wipe(last - 3);
        for (at += 4; at < last - 3; at += 4) {
            SETTLE(at); /* or it would become a call, for which registers are saved */
            tail_row_wipe(at);
        }
    }
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}
INLINE void tail_wipe_long(char *block, size_t usable)
{
    tail_open(block, usable);
    memset(block, 0, usable);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* Anywhere: the last piece of what is filled lies where it ends. */
INLINE tail_piece tail_piece_at(const char *at)
{
    tail_piece piece;
    memcpy(&piece, at, sizeof piece);
    return piece;
}

INLINE void tail_piece_set(char *at, tail_piece piece)
{
    memcpy(at, &piece, sizeof piece);
}

/* Where the second, third and fourth of the pieces begin that are filled, if those are more than
 * 16 bytes. */
struct tail_places {
    size_t second, third, last;
};
INLINE struct tail_places tail_places(size_t gap)
{
    size_t last = (gap < TAIL_ROW ? gap : TAIL_ROW) - TAIL_PIECE;
    return (struct tail_places){last < TAIL_PIECE ? last : TAIL_PIECE,
                                last < 2 * TAIL_PIECE ? last : 2 * TAIL_PIECE, last};
}

/* How many bytes before the tail a word covers; up to 16 are covered by two. */
INLINE size_t tail_word_part(size_t gap)
{
    size_t part = gap < sizeof(uint64_t) ? gap : sizeof(uint64_t);
    SETTLE(part); /* no branch: any gap may come next */
    return part;
}

/* Fills what lies between `at` and `end`, where the tail begins: all of it, or 64 bytes. Writes to
 * the tail, too. */
INLINE void tail_fill(char *at, char *end)
{
    size_t gap = (size_t)(end - at);
    if (likely(gap <= TAIL_PIECE)) {
        tail_word_set(at, harden_fill);
        tail_word_set(end - tail_word_part(gap), harden_fill);
        return;
    }
    struct tail_places places = tail_places(gap);
    tail_piece fill = {harden_fill, harden_fill};
    tail_piece_set(at, fill);
    tail_piece_set(at + places.second, fill);
    tail_piece_set(at + places.third, fill);
    tail_piece_set(at + places.last, fill);
}

/* Whether it is still so. */
INLINE bool tail_fill_stands(const char *at, const char *end)
{
    size_t gap = (size_t)(end - at);
    if (likely(gap <= TAIL_PIECE)) {
        size_t part = tail_word_part(gap), half = 32 - 4 * part; /* of the bits of the tail's */
        uint64_t first = tail_word(at), last = tail_word(end - part);
        return ((first ^ harden_fill) | (last ^ harden_fill)) << half << half == 0;
    }
    struct tail_places places = tail_places(gap);
    tail_piece fill = {harden_fill, harden_fill};
    tail_piece other = (tail_piece_at(at) ^ fill) | (tail_piece_at(at + places.second) ^ fill) |
                       (tail_piece_at(at + places.third) ^ fill) |
                       (tail_piece_at(at + places.last) ^ fill);
    return (other[0] | other[1]) == 0;
}

/* Blocks of a class, `usable` bytes long. A block for `size` bytes begins: ends the program if
 * it is not as a free one is left; writes the tail. */
INLINE void tail_begin(void *start, size_t usable, size_t size)
{
    char *block = start, *end = block + usable - HARDEN_TAIL;
    if (unlikely(!tail_zero(block, usable)))
        tail_dirty(block, usable, "malloc");
    tail_fill(block + size, end);
    tail_word_set(end, tail_of(block) ^ (usable - size));
}

/* For how many bytes it was asked. Ends the program if the tail is damaged, which `call` found. */
INLINE size_t tail_size(const void *start, size_t usable, const char *call)
{
    const char *block = start, *end = block + usable - HARDEN_TAIL;
    uint64_t gap = (tail_word(end) ^ tail_of(block)) - HARDEN_TAIL;
    if (unlikely(gap > usable - HARDEN_TAIL || !tail_fill_stands(end - gap, end)))
        tail_damaged(block, usable, call);
    return usable - HARDEN_TAIL - gap;
}

/* Its end: looks at the tail and wipes it. */
INLINE void tail_end(void *start, size_t usable)
{
    tail_size(start, usable, "free");
    if (likely(usable <= SMALL_MAX))
        tail_wipe(start, usable);
    else
        tail_wipe_long(start, usable);
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
/* The size that a live block in the window was asked for, maybe 0; false: it is not known. */
bool tail_asked(const void *p, const char *call, size_t *size);

/* At the end of the program, if no other thread is running: looks at the tails of live blocks, and
 * whether free ones are zero, for 20 ms at most. */
void tail_exit(void);
/* A call on the slow path never ended, so that free blocks may be half wiped: nothing is looked at.
 * Also in a forked child, for threads that stayed behind. */
void tail_doubt(void);

#endif

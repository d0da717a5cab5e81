/* SPDX-License-Identifier: MIT */
/* See lib/alloc/cut.h. */
#include "lib/alloc/cut.h"

#include <string.h>

enum { REACHED_STEP = SPAN_BLOCKS_MAX / 64 }; /* `span.reached` is counted in this many blocks */

static void take_low(struct span *span, size_t size, void **end, unsigned count);
static void take_random(struct span *span, size_t size, void **end, unsigned count);

size_t cut_units(const struct size_class *class, uint32_t spans)
{
    size_t units = (size_t) class->units_min << (spans < 4 ? spans : 4);
    return units < class->units_max ? units : class->units_max;
}

void cut_begin(struct span *span, size_t units, unsigned blocks, const void *records,
               uint32_t owner)
{
    span->zero = false;
    span->reached = 0;
    span->record = records == NULL ? 0 : meta_id(records);
    span->blocks = span->free = (uint16_t)blocks;
    for (unsigned i = 0; i < COUNT_OF(span->bits); i++) {
        unsigned rest = blocks > i * 64 ? blocks - i * 64 : 0;
        span->bits[i] = rest >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << rest) - 1;
    }
    if (owner != 0) /* in the place of the last bits, which such a span has no blocks for */
        store_relaxed(&span->owner, owner);
    span_set_units(span, true);
    memset(window.kinds + span->first, span->mark, units);
    /* Written before they are read, or the kernel would map its page of zeros first. */
    store_relaxed(live_at(span_start(span)), 0);
    store_relaxed(live_at(span_block(span, blocks - 1, mark_class(span->mark))), 0);
}

/* The state goes first: a child of a fork in between must not find a span whose table of records is
 * that of another span. No home: a later free of one of its blocks is then a double free. */
void cut_end(struct span *span)
{
    store_relaxed(&span->state, SPAN_NONE);
    span->home = 0;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (span->kinds & KIND_RECORDED)
        meta_give(meta_at(span->record), span->blocks * sizeof(struct record));
    pages_give(span);
}

void cut_take(struct span *span, void **end, unsigned count)
{
    unsigned class = mark_class(span->mark);
    span->free = (uint16_t)(span->free - count);
    if (unlikely(harden_on))
        take_random(span, class_size(class), end, count);
    else
        take_low(span, class_size(class), end, count);
    unsigned last = harden_on ? span->blocks - 1u : span_index(span, end[-(int)count], class);
    unsigned reached = last / REACHED_STEP;
    if (reached > span->reached)
        span->reached = (uint8_t)(reached & (SPAN_BLOCKS_MAX / REACHED_STEP - 1));
}

/* Takes `count` blocks of one span, lowest first, into end[-1] and downwards. */
static void take_low(struct span *span, size_t size, void **end, unsigned count)
{
    void **stop = end - count;
    char *base = span_start(span);
    for (uint64_t *word = span->bits; end > stop; word++, base += 64 * size) {
        uint64_t bits = *word;
        if (bits == ~UINT64_C(0) && end - stop >= 64) {
            for (unsigned i = 0; i < 64; i++)
                *--end = base + i * size;
            bits = 0;
        }
        for (; bits != 0 && end > stop; bits &= bits - 1)
            *--end = base + (unsigned)__builtin_ctzll(bits) * size;
        *word = bits;
    }
}

/* The same with `harden`: from a random one on. Bins shuffle them (`heap_refill`); taken
 * from all over the span would cost twice the cache misses. */
static void take_random(struct span *span, size_t size, void **end, unsigned count)
{
    static uint64_t random; /* all threads write it: what gets lost makes it harder to guess */
    uint64_t state = load_relaxed(&random);
    state = state == 0 ? harden_seed() : state;
    unsigned index = harden_random(&state, span->blocks), word = index / 64;
    store_relaxed(&random, state);
    uint64_t mask = ~UINT64_C(0) << (index % 64);
    for (void **stop = end - count; end > stop;) { /* ends: at least `count` bits are set */
        uint64_t bits = span->bits[word] & mask;
        for (; bits != 0 && end > stop; bits &= bits - 1) {
            unsigned bit = (unsigned)__builtin_ctzll(bits);
            span->bits[word] &= ~(UINT64_C(1) << bit);
            *--end = span_start(span) + (word * 64 + bit) * size;
        }
        mask = ~UINT64_C(0);
        word = (word + 1) % COUNT_OF(span->bits);
    }
}

unsigned cut_fresh(const struct span *span)
{
    unsigned reached = (span->reached + 1u) * REACHED_STEP;
    return reached < span->blocks ? span->blocks - reached : 0;
}

/* SPDX-License-Identifier: MIT */
/* See lib/alloc/empty.h. */
#include "lib/alloc/empty.h"

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/os.h"
#include "lib/window/window.h"

enum {
    BLOCKS = 1 << 20, /* addresses: 16 MiB, of which half live at most, so that one is found soon */
    BITS = 64,        /* of a word */
    WORDS = BLOCKS / BITS,
};

static uintptr_t region;
static uint64_t *live;       /* a bit for each block */
static uint32_t next, count; /* the word to look at next; live blocks */

static bool region_make(void);

void *empty_take(void)
{
    if (load_acquire(&region) == 0 && !region_make())
        return NULL;
    if (load_relaxed(&count) >= BLOCKS / 2)
        return NULL;
    for (unsigned i = 0; i < WORDS; i++) {
        uint32_t word = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED) % WORDS;
        uint64_t bits = load_relaxed(&live[word]);
        while (bits != UINT64_MAX) {
            unsigned bit = (unsigned)__builtin_ctzll(~bits);
            if (!__atomic_compare_exchange_n(&live[word], &bits, bits | UINT64_C(1) << bit, false,
                                             __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
                continue;
            __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
            return (void *)(region + ((uintptr_t)word * BITS + bit) * GRANULE);
        }
    }
    return NULL;
}

/* Two threads may come here first: one of them is too late and gives its memory back. */
static bool region_make(void)
{
    uint64_t *bits = os_map(WORDS * sizeof *live), *none = NULL;
    void *addresses = os_reserve((size_t)BLOCKS * GRANULE);
    bool ok = bits != NULL && addresses != NULL;
    if (ok && __atomic_compare_exchange_n(&live, &none, bits, false, __ATOMIC_ACQ_REL,
                                          __ATOMIC_ACQUIRE)) {
        store_release(&region, (uintptr_t)addresses);
        return true;
    }
    if (bits != NULL)
        os_unmap(bits, WORDS * sizeof *live);
    if (addresses != NULL)
        os_unmap(addresses, (size_t)BLOCKS * GRANULE);
    return ok && load_acquire(&region) != 0;
}

bool empty_owns(const void *p)
{
    uintptr_t start = load_acquire(&region);
    return start != 0 && (uintptr_t)p - start < (size_t)BLOCKS * GRANULE;
}

static uint64_t *word_of(const void *p, uint64_t *bit)
{
    size_t index = ((uintptr_t)p - region) / GRANULE;
    *bit = UINT64_C(1) << index % BITS;
    return &live[index / BITS];
}

bool empty_lives(const void *p)
{
    uint64_t bit;
    return empty_owns(p) && (uintptr_t)p % GRANULE == 0 &&
           (load_relaxed(word_of(p, &bit)) & bit) != 0;
}

bool empty_give(void *p)
{
    uint64_t bit, *word = word_of(p, &bit);
    if ((uintptr_t)p % GRANULE != 0 || !(__atomic_fetch_and(word, ~bit, __ATOMIC_ACQ_REL) & bit))
        return false;
    __atomic_fetch_sub(&count, 1, __ATOMIC_RELAXED);
    return true;
}

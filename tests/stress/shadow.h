/* SPDX-License-Identifier: MIT */
/* What the random-operation engine believes: which 16-byte granules of the address space belong to
 * a live block (one bit each, so that an overlap is found when a block appears, not when its
 * contents break), what a block must contain, and how many allocations and frees there were.
 *
 *      regions[address >> 30] -> bits of one GiB, mapped at its first use
 *
 * A block is claimed after the allocator returned it and released before it is freed, so with
 * threads the map holds a subset of what is live at any moment: no false alarm. Nothing here calls
 * malloc. */
#ifndef TESTS_STRESS_SHADOW_H
#define TESTS_STRESS_SHADOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum {
    REGION_SHIFT = 30,
    GRANULE_SHIFT = 4,
    ADDRESS_BITS = 48,
    REGIONS = 1 << (ADDRESS_BITS - REGION_SHIFT),
    REGION_WORDS = 1 << (REGION_SHIFT - GRANULE_SHIFT - 6),
    FILL_WHOLE_MAX = 4096, /* larger blocks carry contents at both ends and at some pages between */
    FILL_EDGE = 512,
    FILL_STEPS = 32,
};

/* The generator of all randomness here (splitmix64). */
static uint64_t mix(uint64_t *state)
{
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static uint64_t *_Atomic regions[REGIONS];

static uint64_t *region_of(uintptr_t address)
{
    uint64_t *_Atomic *place = &regions[address >> REGION_SHIFT];
    uint64_t *words = *place;
    if (words != NULL) {
        return words;
    }
    size_t bytes = REGION_WORDS * sizeof(uint64_t);
    words = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                 -1, 0);
    if (words == MAP_FAILED) {
        return NULL;
    }
    uint64_t *none = NULL;
    if (!__atomic_compare_exchange_n((uint64_t **)place, &none, words, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE)) {
        munmap(words, bytes);
        words = none;
    }
    return words;
}

/* Sets (or clears) the bits of a block. False if one of them was set (clear) already. */
static bool granules_flip(const void *block, size_t size, bool claim)
{
    uintptr_t granule = (uintptr_t)block >> GRANULE_SHIFT;
    uintptr_t end = (((uintptr_t)block + (size ? size : 1) - 1) >> GRANULE_SHIFT) + 1;
    bool as_expected = true;
    while (granule < end) {
        uint64_t *words = region_of(granule << GRANULE_SHIFT);
        if (words == NULL) {
            return true;
        }
        unsigned first = granule & 63;
        uintptr_t count = end - granule < 64 - first ? end - granule : 64 - first;
        uint64_t bits = (count == 64 ? UINT64_MAX : ((uint64_t)1 << count) - 1) << first;
        uint64_t *word = &words[granule >> 6 & (REGION_WORDS - 1)];
        if (claim) {
            as_expected &= (__atomic_fetch_or(word, bits, __ATOMIC_RELAXED) & bits) == 0;
        } else {
            as_expected &= (__atomic_fetch_and(word, ~bits, __ATOMIC_RELAXED) & bits) == bits;
        }
        granule += count;
    }
    return as_expected;
}

/* Whether the first granule of a block is part of a live one. */
static inline bool granule_taken(const void *block)
{
    uint64_t *words = region_of((uintptr_t)block);
    uintptr_t granule = (uintptr_t)block >> GRANULE_SHIFT;
    if (words == NULL) {
        return false;
    }
    uint64_t word = __atomic_load_n(&words[granule >> 6 & (REGION_WORDS - 1)], __ATOMIC_RELAXED);
    return word >> (granule & 63) & 1;
}

static inline uint64_t fill_word(uint64_t seed, size_t offset)
{
    return (seed + offset) * 0x9E3779B97F4A7C15u ^ seed << 29;
}

/* One run of contents, whole words and the odd bytes at its end. With `check` it compares up to
 * `kept` and returns the offset of the first difference, otherwise it writes. */
static size_t fill_run(unsigned char *block, size_t from, size_t to, uint64_t seed, bool check,
                       size_t kept)
{
    for (size_t at = from; at < to; at += sizeof(uint64_t)) {
        uint64_t word = fill_word(seed, at);
        size_t length = to - at < sizeof word ? to - at : sizeof word;
        if (!check) {
            memcpy(block + at, &word, length);
            continue;
        }
        if (at >= kept) {
            break;
        }
        length = kept - at < length ? kept - at : length;
        if (memcmp(block + at, &word, length) != 0) {
            return at;
        }
    }
    return SIZE_MAX;
}

/* The contents of a block of `size` bytes: small blocks wholly; large ones at both ends and at up
 * to FILL_STEPS pages in between. SIZE_MAX or the offset of the first byte below `kept` that
 * differs. */
static size_t fill_walk(unsigned char *block, size_t size, uint64_t seed, bool check, size_t kept)
{
    if (size <= FILL_WHOLE_MAX) {
        return fill_run(block, 0, size, seed, check, kept);
    }
    size_t differs = fill_run(block, 0, FILL_EDGE, seed, check, kept);
    size_t step = (size / FILL_STEPS + 4095) & ~(size_t)4095;
    for (size_t at = step; at + FILL_EDGE + 8 < size && differs == SIZE_MAX; at += step) {
        differs = fill_run(block, at, at + 8, seed, check, kept);
    }
    if (differs == SIZE_MAX) {
        differs = fill_run(block, size - FILL_EDGE, size, seed, check, kept);
    }
    return differs;
}

#endif

/* SPDX-License-Identifier: MIT */
/* See lib/window/seal.h. The bits lie in sheets of their own, each for 1 GiB of the window. */
#include "lib/window/seal.h"

#include "base/compiler.h"
#include "base/os.h"
#include "lib/window/sizes.h"

enum {
    BITS = 64,
    WORDS = 4096, /* of each kind in a sheet, which is 64 KiB */
    SHEET_UNITS = WORDS * BITS,
    SHEETS = (8 << 10) + 1, /* for the widest window (arena.c), and the unit behind it */
};

struct word {
    uint64_t sealed, edges; /* a bit a unit */
};

BULK static struct word *sheets[SHEETS];
static uint64_t edges; /* two for each range: at its first unit, and behind its last */

/* Two threads that flip an edge may count it in the other order: for a moment one too few. */
uint64_t seal_ranges(void)
{
    int64_t now = (int64_t)load_relaxed(&edges);
    return now < 0 ? 0 : (uint64_t)now / 2;
}

static bool sheet_prepare(uint64_t number)
{
    struct word *none = NULL;
    if (number >= SHEETS)
        return false;
    if (load_acquire(&sheets[number]) != NULL)
        return true;
    struct word *sheet = os_map(WORDS * sizeof *sheet);
    if (sheet != NULL && !__atomic_compare_exchange_n(&sheets[number], &none, sheet, false,
                                                      __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        os_unmap(sheet, WORDS * sizeof *sheet);
    return sheet != NULL;
}

bool seal_prepare(uint32_t first, uint32_t units)
{
    uint64_t last = (uint64_t)first + units; /* the unit behind them has an edge, too */
    for (uint64_t number = first / SHEET_UNITS; number <= last / SHEET_UNITS; number++)
        if (!sheet_prepare(number))
            return false;
    return true;
}

/* NULL where none was ever sealed. */
static struct word *word_at(uint64_t number)
{
    struct word *sheet = load_acquire(&sheets[number / WORDS]);
    return sheet == NULL ? NULL : &sheet[number % WORDS];
}

/* The bits of one word that belong to units from `first` to `end`. */
static uint64_t bits_of(uint64_t word, uint64_t first, uint64_t end)
{
    uint64_t start = word * BITS, bits = ~UINT64_C(0);
    if (first > start)
        bits &= ~UINT64_C(0) << (first - start);
    if (end < start + BITS)
        bits &= ~(~UINT64_C(0) << (end - start));
    return bits;
}

static void flip_edges(struct word *at, uint64_t bits)
{
    uint64_t before = __atomic_fetch_xor(&at->edges, bits, __ATOMIC_RELAXED);
    int gone = __builtin_popcountll(before & bits), come = __builtin_popcountll(~before & bits);
    __atomic_fetch_add(&edges, (uint64_t)(come - gone), __ATOMIC_RELAXED);
}

void seal_note(uint32_t first, uint32_t units, bool sealed)
{
    uint64_t end = (uint64_t)first + units, carry = 0;
    for (uint64_t word = first / BITS; word <= end / BITS; word++) {
        struct word *at = word_at(word);
        if (at == NULL) /* nothing to open; nor a carry: `seal_prepare` reaches the unit behind */
            continue;
        uint64_t bits = bits_of(word, first, end);
        uint64_t before = sealed ? __atomic_fetch_or(&at->sealed, bits, __ATOMIC_RELAXED)
                                 : __atomic_fetch_and(&at->sealed, ~bits, __ATOMIC_RELAXED);
        uint64_t changed = bits & (sealed ? ~before : before);
        uint64_t flips = changed ^ (changed << 1 | carry); /* before and behind each of them */
        if (flips != 0)
            flip_edges(at, flips);
        carry = changed >> (BITS - 1);
    }
}

bool seal_any(uint32_t first, uint32_t units)
{
    uint64_t end = (uint64_t)first + units;
    for (uint64_t word = first / BITS; word * BITS < end; word++) {
        const struct word *at = word_at(word);
        if (at != NULL && (load_relaxed(&at->sealed) & bits_of(word, first, end)) != 0)
            return true;
    }
    return false;
}

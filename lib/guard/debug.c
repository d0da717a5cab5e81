/* SPDX-License-Identifier: MIT */
/*
 * See lib/guard/debug.h. In memory the words are exclusive-or'ed with the byte that fills the rest,
 * and eight such bytes stand on both sides of them: what is next to the program's block
 * is the same for all blocks, and not zero. Which of the copies is right is told by
 * the checksum, which the address is part of.
 */
#include "lib/guard/debug.h"

#include <string.h>

#include "base/os.h"

enum {
    WORDS = sizeof(struct debug_words) / sizeof(uint64_t),
    EDGE = (DEBUG_WORDS - sizeof(struct debug_words)) / 2,
    SEARCH_MAX = 64 << 10, /* how far the copy behind a block is looked for */
};
_Static_assert(sizeof(struct debug_words) == 32, "no bytes between them");
_Static_assert(EDGE == 8 && DEBUG_WORDS % GRANULE == 0, "blocks stay aligned");

static size_t front_of(size_t align);
static void words_write(char *at, const struct debug_words *words);
static void words_read(const char *at, struct debug_words *words);
static uint64_t sum_of(const struct debug_words *words, const char *p);
static bool words_fit(const struct debug_words *words, const char *p, struct debug_place place);
static enum debug_verdict check_other_copies(struct debug_place place, const char *p,
                                             struct debug_words *words, const char **damage);
static bool words_behind(struct debug_place place, const char *p, struct debug_words *words);
static bool same_words(const char *a, const char *b);
static const char *damage_before(struct debug_place place, const char *p,
                                 const struct debug_words *words);
static const char *damage_behind(struct debug_place place, const char *p,
                                 const struct debug_words *words);
static const char *first_other(const char *at, const char *end, uint8_t byte);

size_t debug_room(size_t size, size_t align)
{
    return front_of(align) + size + DEBUG_WORDS;
}

/* Room for one copy of the words, or for two; a multiple of the alignment. */
static size_t front_of(size_t align)
{
    enum { TWO = 128 };
    return align <= GRANULE ? DEBUG_WORDS : align < TWO ? TWO : align;
}

char *debug_begin(struct debug_place place, size_t size, size_t align, unsigned family,
                  const struct cell_event *born)
{
    size_t front = front_of(align);
    char *p = place.start + front, *end = p + size + DEBUG_WORDS;
    struct debug_words words = {.size = size,
                                .stack = born->stack,
                                .thread = born->thread,
                                .time_ms = (uint32_t)born->time_ms,
                                .front = (uint32_t)(front / GRANULE) & 0xffffff,
                                .family = family & 0xff};
    words.sum = sum_of(&words, p);
    words_write(place.start, &words);
    if (front > DEBUG_WORDS) {
        memset(place.start + DEBUG_WORDS, DEBUG_AROUND, front - 2 * (size_t)DEBUG_WORDS);
        words_write(p - DEBUG_WORDS, &words);
    }
    words_write(p + size, &words);
    memset(end, DEBUG_AROUND, (size_t)(place.start + place.room - end));
    return p;
}

/* The bytes at both ends are the same in all of them, and few are 0: a text that is too long by its
 * last byte, or a number that is, changes something. */
static void words_write(char *at, const struct debug_words *words)
{
    uint64_t parts[WORDS], around = DEBUG_AROUND * UINT64_C(0x0101010101010101);
    memcpy(parts, words, sizeof parts);
    memcpy(at, &around, EDGE);
    for (unsigned i = 0; i < WORDS; i++) {
        uint64_t word = parts[i] ^ around;
        memcpy(at + EDGE + i * sizeof word, &word, sizeof word);
    }
    memcpy(at + DEBUG_WORDS - EDGE, &around, EDGE);
}

static void words_read(const char *at, struct debug_words *words)
{
    uint64_t parts[WORDS];
    memcpy(parts, at + EDGE, sizeof parts);
    for (unsigned i = 0; i < WORDS; i++)
        parts[i] ^= DEBUG_AROUND * UINT64_C(0x0101010101010101);
    memcpy(words, parts, sizeof parts);
}

/* Never 0. */
static uint64_t sum_of(const struct debug_words *words, const char *p)
{
    static const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t parts[WORDS], sum = (uintptr_t)p * odd;
    memcpy(parts, words, sizeof parts);
    for (unsigned i = 1; i < WORDS; i++) {
        sum = (sum ^ parts[i]) * odd;
        sum ^= sum >> 29;
    }
    return sum | 1;
}

static bool words_fit(const struct debug_words *words, const char *p, struct debug_place place)
{
    size_t front = (size_t)(p - place.start);
    return words->sum == sum_of(words, p) && (size_t)words->front * GRANULE == front &&
           words->size <= place.room - front - DEBUG_WORDS;
}

enum debug_verdict debug_check(struct debug_place place, const char *p, struct debug_words *words,
                               const char **damage)
{
    const char *copy = p - DEBUG_WORDS;
    memset(words, 0, sizeof *words);
    if (p - place.start < DEBUG_WORDS || p + DEBUG_WORDS > place.start + place.room ||
        (uintptr_t)p % GRANULE != 0)
        return DEBUG_NO_BLOCK;
    words_read(copy, words);
    if (unlikely(!words_fit(words, p, place)))
        return check_other_copies(place, p, words, damage);
    *damage = damage_behind(place, p, words);
    if (likely(*damage == NULL))
        *damage = damage_before(place, p, words);
    return *damage == NULL ? DEBUG_FINE : DEBUG_STOMPED;
}

/* The words next to the block are damaged: another copy tells about it. */
static enum debug_verdict check_other_copies(struct debug_place place, const char *p,
                                             struct debug_words *words, const char **damage)
{
    words_read(place.start, words);
    if (!words_fit(words, p, place) && !words_behind(place, p, words) &&
        p - place.start != DEBUG_WORDS)
        return DEBUG_NO_BLOCK;
    *damage = p - 1;
    return DEBUG_STOMPED;
}

/* The copy behind the block, wherever that ends. */
static bool words_behind(struct debug_place place, const char *p, struct debug_words *words)
{
    const char *last = place.start + place.room - DEBUG_WORDS;
    for (const char *at = p; at <= last && at - p < SEARCH_MAX; at++) {
        words_read(at, words);
        if (words->size == (size_t)(at - p) && words_fit(words, p, place))
            return true;
    }
    memset(words, 0, sizeof *words);
    return false;
}

/* The first byte of a copy that is not as it was. */
static const char *damage_in(const char *copy, const struct debug_words *words)
{
    char wanted[DEBUG_WORDS];
    words_write(wanted, words);
    if (likely(same_words(copy, wanted)))
        return NULL;
    unsigned i = 0;
    while (copy[i] == wanted[i])
        i++;
    return copy + i;
}

static bool same_words(const char *a, const char *b)
{
    uint64_t x[DEBUG_WORDS / sizeof(uint64_t)], y[COUNT_OF(x)], other = 0;
    memcpy(x, a, sizeof x);
    memcpy(y, b, sizeof y);
    for (unsigned i = 0; i < COUNT_OF(x); i++)
        other |= x[i] ^ y[i];
    return other == 0;
}

static const char *damage_before(struct debug_place place, const char *p,
                                 const struct debug_words *words)
{
    const char *damage = damage_in(place.start, words);
    if (p - place.start == DEBUG_WORDS) /* there is one copy */
        return damage;
    if (damage == NULL)
        damage = damage_in(p - DEBUG_WORDS, words);
    return damage != NULL ? damage
                          : first_other(place.start + DEBUG_WORDS, p - DEBUG_WORDS, DEBUG_AROUND);
}

static const char *damage_behind(struct debug_place place, const char *p,
                                 const struct debug_words *words)
{
    const char *copy = p + words->size;
    const char *damage = damage_in(copy, words);
    return damage != NULL ? damage
                          : first_other(copy + DEBUG_WORDS, place.start + place.room, DEBUG_AROUND);
}

/* Rows of four pieces, then words, of which the last one may begin in the one before it. */
static const char *first_other(const char *at, const char *end, uint8_t byte)
{
    typedef uint64_t piece __attribute__((vector_size(16)));
    const uint64_t all = byte * UINT64_C(0x0101010101010101);
    const piece both = {all, all};
    uint64_t word = all;
    bool whole = end - at >= (ptrdiff_t)sizeof word;
    for (piece row[4]; end - at >= (ptrdiff_t)sizeof row; at += sizeof row) {
        memcpy(row, at, sizeof row);
        piece other = (row[0] ^ both) | (row[1] ^ both) | (row[2] ^ both) | (row[3] ^ both);
        if ((other[0] | other[1]) != 0)
            break;
    }
    for (; end - at >= (ptrdiff_t)sizeof word; at += sizeof word) {
        memcpy(&word, at, sizeof word);
        if (word != all)
            break;
    }
    if (whole && word == all) {
        memcpy(&word, end - sizeof word, sizeof word);
        if (word == all)
            return NULL;
    }
    while (at < end && (uint8_t)*at == byte)
        at++;
    return at < end ? at : NULL;
}

char *debug_block_of(struct debug_place place)
{
    struct debug_words first;
    words_read(place.start, &first);
    size_t front = (size_t)first.front * GRANULE;
    if (front >= DEBUG_WORDS && front + DEBUG_WORDS <= place.room &&
        first.sum == sum_of(&first, place.start + front))
        return place.start + front;
    return place.start + DEBUG_WORDS;
}

const char *debug_written(struct debug_place place)
{
    return first_other(place.start, place.start + place.room, DEBUG_FREED);
}

struct cell debug_cell(const char *p, const struct debug_words *words)
{
    uint64_t now_ms = os_now_ms();
    struct cell cell = {.start = (uintptr_t)p, .size = words->size, .state = CELL_LIVE};
    cell.family = (uint8_t)words->family;
    if (words->sum == 0)
        return cell;
    cell.born = (struct cell_event){now_ms - (uint32_t)((uint32_t)now_ms - words->time_ms),
                                    words->stack, words->thread};
    return cell;
}

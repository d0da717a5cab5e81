/* SPDX-License-Identifier: MIT */
/*
 * See lib/leak/scan.h. From words to blocks, and from blocks to their words. What the states mean
 * in each phase is in verdicts.c, which goes over the blocks when the roots have been followed.
 */
#include "lib/leak/scan.h"

#include <string.h>

#include "base/confine.h"
#include "base/os.h"
#include "lib/alloc/alloc.h"
#include "lib/leak/chains.h"
#include "lib/leak/looks.h"
#include "lib/leak/states.h"

enum {
    PART_WORDS = 256,             /* of a block looked at before what they lead to is */
    FLIGHT = 24,                  /* words whose loads are begun before the first is waited for */
    PAGES_FROM = 1 << 20,         /* bytes of blocks that may have pages without content */
    ALONE = 1 << 10,              /* blocks followed with no other waiting: a long list */
    COUNT_BYTES = sizeof(size_t), /* `new[]` keeps the number of elements before the first */
};

_Static_assert(SCAN_WORDS >= PART_WORDS + FLIGHT, "room for a part's words behind those in flight");

static void part_scan(struct scan *scan, struct scan_range part);
static void waiting_scan(struct scan *scan, unsigned flying);
static void go_on(struct scan *scan, const struct found *block);
static void wait_for(struct scan *scan, const struct found *block);

bool scan_begin(struct scan *scan, const struct scan_rules *rules, struct scan_result *result)
{
    *scan = (struct scan){.rules = *rules, .result = result};
    scan->window_bytes = load_acquire(&window.granules) * GRANULE;
    scan->untagged = UINTPTR_MAX >> rules->tags_high;
    scan->now = confine_ticks();
    if (rules->others != NULL)
        scan->others_count = rules->others->count();
    if (!states_take(scan)) {
        scan_end(scan);
        return false;
    }
    if (rules->others != NULL && rules->step == 0) /* one word after the other */
        scan->rules.step = sizeof(uintptr_t);
    if (scan->rules.step == 0)
        scan->chains = chains_begin();
    result->complete = true;
    return true;
}

void scan_root(struct scan *scan, uintptr_t start, uintptr_t end)
{
    start = (start + sizeof(uintptr_t) - 1) & ~(uintptr_t)(sizeof(uintptr_t) - 1);
    end &= ~(uintptr_t)(sizeof(uintptr_t) - 1);
    while (start < end) {
        size_t words = (end - start) / sizeof(uintptr_t);
        size_t bytes = (words < PART_WORDS ? words : PART_WORDS) * sizeof(uintptr_t);
        part_scan(scan, (struct scan_range){start, start + bytes});
        waiting_scan(scan, 0);
        scan->result->root_bytes += bytes;
        start += bytes;
    }
}

void scan_root_word(struct scan *scan, uintptr_t word)
{
    part_scan(scan, (struct scan_range){(uintptr_t)&word, (uintptr_t)(&word + 1)});
    waiting_scan(scan, 0);
}

void scan_from(struct scan *scan, const struct found *block)
{
    go_on(scan, block);
    waiting_scan(scan, 0);
}

void scan_words_of(struct scan *scan, const struct found *block)
{
    wait_for(scan, block);
    waiting_scan(scan, FLIGHT - 1);
}

void scan_drain(struct scan *scan)
{
    waiting_scan(scan, 0);
}

void scan_end(struct scan *scan)
{
    chains_end(scan->chains);
    if (scan->states != NULL)
        os_unmap(scan->states, scan->states_bytes);
    if (scan->others != NULL)
        os_unmap(scan->others, scan->others_count);
    if (scan->large != NULL)
        os_unmap(scan->large, scan->large_bytes);
    if (scan->waiting != NULL)
        os_unmap(scan->waiting, scan->waiting_max * sizeof *scan->waiting);
    *scan = (struct scan){0};
}

/* ---- blocks outside of the window ---- */

static bool is_among_others(const struct scan *scan, uintptr_t word)
{
    const struct scan_others *others = scan->rules.others;
    return others != NULL && word >= others->memory.start && word < others->memory.end;
}

static bool other_find(const struct scan *scan, uintptr_t word, struct found *block)
{
    const struct record *record;
    uint32_t number = scan->rules.others->find(word);
    return number != 0 && number < scan->others_count &&
           scan->rules.others->at(number, block, &record);
}

/* ---- from a word to a block ---- */

static bool find_inside(const struct scan *scan, uintptr_t word, struct found *block)
{
    uint32_t unit = unit_of((const void *)word), id = scan->large[unit];
    if (id != 0) {
        const struct span *span = span_at(id);
        *block = (struct found){(uintptr_t)span_start(span), large_size(span), 0};
        return block_is_live(block->start);
    }
    const struct span *span = span_at(window.units[unit]);
    if (span->state != SPAN_BLOCKS || unit - span->first >= span->units)
        return false;
    unsigned class = mark_class(span->mark), index = span_index(span, (const void *)word, class);
    if (index >= span->blocks)
        return false;
    *block = (struct found){(uintptr_t)span_block(span, index, class), class_size(class), 0};
    return block_is_live(block->start);
}

/* Cost: two loads for a pointer to a block's start. `word` is in the window, or among others. */
static bool find(const struct scan *scan, uintptr_t word, struct found *block)
{
    const void *p = (const void *)word;
    if (unlikely(is_among_others(scan, word)))
        return other_find(scan, word, block);
    uint32_t unit = unit_of(p);
    unsigned kind = window.kinds[unit];
    uint8_t sign = *live_in(window.live[kind], p);
    if (word % GRANULE == 0 && (sign == live_sign(p) || live_is_cold(sign, p))) {
        size_t size = kind == MARK_LARGE ? large_size(span_at(scan->large[unit]))
                                         : class_size(mark_class(kind));
        *block = (struct found){word, size, 0};
        return true;
    }
    return find_inside(scan, word, block);
}

/* ---- pointers into blocks ---- */

/* A word of a block; 0 where its page may not be read in place. */
static uintptr_t word_at(const struct scan_rules *rules, uintptr_t at)
{
    const struct touched *touched = rules->in_place ? rules->touched : NULL;
    if (unlikely(touched != NULL) && touched->file >= 0 &&
        touched_present(touched, (const void *)at, sizeof at) == 0)
        return 0;
    return *(const uintptr_t *)at;
}

static bool is_count(const struct scan_rules *rules, uintptr_t at, size_t room)
{
    uintptr_t count = word_at(rules, at);
    return count > 0 && count <= room;
}

/* `new[]` keeps the number of elements in the word before the first one, which comes as late as
 * the elements must be aligned. */
static bool is_first_element(const struct scan_rules *rules, uintptr_t word, size_t offset,
                             size_t room)
{
    size_t size_min = offset > 2 * COUNT_BYTES ? offset : 1;
    return (offset & (offset - 1)) == 0 && word % offset == 0 &&
           is_count(rules, word - COUNT_BYTES, room / size_min);
}

/* Whether a pointer into a block, or to its start, is one that the program can get it back from. */
static bool inside_counts(const struct scan_rules *rules, uintptr_t word, const struct found *block)
{
    size_t offset = word - block->start, room = block->size - offset;
    if (offset >> rules->tags_low == 0)
        return true;
    switch (rules->inside) {
    case SCAN_INSIDE_ANY:
        return true;
    case SCAN_INSIDE_OFFSET:
        return offset <= rules->offset_max;
    case SCAN_INSIDE_KNOWN:
        break;
    }
    if (offset % sizeof(uintptr_t) != 0)
        return false;
    if (is_first_element(rules, word, offset, room))
        return true;
    if (offset == 2 * COUNT_BYTES &&
        is_count(rules, block->start, room)) /* libc's list of TLS blocks */
        return true;
    return room >= sizeof(uintptr_t) && looks_is_constant(&rules->constants, word_at(rules, word));
}

/* ---- following ---- */

void scan_wait_for(struct scan *scan, uintptr_t start, uintptr_t end)
{
    if (scan->waiting_count == scan->waiting_max) {
        scan->result->complete = false;
        return;
    }
    scan->waiting[scan->waiting_count++] = (struct scan_range){start, end};
}

static void wait_for_part(void *scan, uintptr_t start, uintptr_t end)
{
    scan_wait_for(scan, start, end);
}

static void wait_for(struct scan *scan, const struct found *block)
{
    uintptr_t end = block->start + block->size;
    if (unlikely(block->size >= PAGES_FROM) && scan->rules.touched != NULL)
        touched_each(scan->rules.touched, block->start, end, TOUCHED_PRIVATE, wait_for_part, scan);
    else if (unlikely(scan->rules.in_place) && block->size >= UNIT && scan->rules.touched != NULL)
        touched_each(scan->rules.touched, block->start, end, TOUCHED_ALL, wait_for_part, scan);
    else
        wait_for_part(scan, block->start, end);
}

/* At the words of a block, or at the end of the chain that begins there. */
static void go_on(struct scan *scan, const struct found *block)
{
    if (!scan->lost || block->other != 0 ||
        !chains_lead(scan, block->start, scan->phase == PHASE_OWN))
        wait_for(scan, block);
}

/* Whether nothing is to be done about a GUESSED block: it is reachable, or a chain goes on. */
static bool is_settled(struct scan *scan, const struct found *block, uintptr_t word)
{
    return scan->settled || (!scan->weak && word == block->start && chains_reach(scan, word));
}

static void follow(struct scan *scan, uintptr_t word)
{
    struct found block;
    if (!find(scan, word, &block))
        return;
    unsigned before = state_of(scan, &block), after = before;
    switch (scan->phase) {
    case PHASE_REACH:
        if (before == REACHED || (before == GUESSED && is_settled(scan, &block, word)))
            return;
        after = !scan->weak && inside_counts(&scan->rules, word, &block) ? REACHED : POSSIBLE;
        break;
    case PHASE_POSSIBLE:
        after = before == UNSEEN ? POSSIBLE : before;
        break;
    case PHASE_COUNT:
        if (before != REACHED && scan->here - block.start >= block.size)
            state_set(scan, &block, before == UNSEEN ? ONCE : MANY);
        return;
    case PHASE_LEAD:
        after = before == UNSEEN ? LED : before;
        break;
    case PHASE_OWN:
        scan->leader_cycle |= block.start == scan->leader;
        if (before == REACHED)
            return;
        after = REACHED;
        scan_own(scan, &block, scan->here, scan->leader_row);
        break;
    }
    if (after == before)
        return;
    scan->any_possible |= after == POSSIBLE;
    scan->any_doubted |= before == GUESSED && after == POSSIBLE;
    state_set(scan, &block, after);
    if (scan->phase != PHASE_REACH || after == REACHED)
        go_on(scan, &block);
}

/* Words at any address that is a multiple of the step. */
static void part_scan_steps(struct scan *scan, struct scan_range part)
{
    for (uintptr_t at = part.start; at + sizeof(uintptr_t) <= part.end; at += scan->rules.step) {
        uintptr_t word;
        memcpy(&word, (const void *)at, sizeof word);
        word &= scan->untagged;
        scan->here = at;
        if (unlikely(word - window.base < scan->window_bytes || is_among_others(scan, word)))
            follow(scan, word);
    }
}

/* At most PART_WORDS words. What they lead to, its sign and its state are far apart: the loads of
 * all three are begun here, and waited for when other words have had their turn. */
static void part_scan(struct scan *scan, struct scan_range part)
{
    if (unlikely(scan->rules.step != 0)) {
        part_scan_steps(scan, part);
        return;
    }
    for (const uintptr_t *at = (const uintptr_t *)part.start; at < (const uintptr_t *)part.end;
         at++) {
        uintptr_t word = *at & scan->untagged;
        if (likely(word - window.base >= scan->window_bytes))
            continue;
        if (scan->phase != PHASE_COUNT)
            __builtin_prefetch((const void *)word);
        state_expect(scan, word);
        scan->places[scan->words_end % SCAN_WORDS] = (uintptr_t)at;
        scan->words[scan->words_end++ % SCAN_WORDS] = word;
    }
}

/* The last part that waits, or its beginning. */
static struct scan_range waiting_take(struct scan *scan)
{
    struct scan_range *last = &scan->waiting[scan->waiting_count - 1], part = *last;
    size_t max = PART_WORDS * sizeof(uintptr_t);
    if (part.end - part.start > max) {
        part.end = part.start + max;
        last->start = part.end; /* the rest, after what this part leads to */
    } else {
        scan->waiting_count--;
    }
    return part;
}

/* Until no part waits any more, and no more words than `flying`. Words are followed in the order in
 * which they were found, and not before FLIGHT of them are on their way, as long as there are parts
 * to find more in. */
static void waiting_scan(struct scan *scan, unsigned flying)
{
    for (;;) {
        unsigned flight = scan->words_end - scan->words_start;
        if (flight < FLIGHT && scan->waiting_count > 0) {
            struct scan_range part = waiting_take(scan);
            if (part.start - window.base < scan->window_bytes)
                scan->chains_here = part.start;
            part_scan(scan, part);
        } else if (flight > flying) {
            scan->alone = flight == 1 ? scan->alone + 1 : 0;
            if (unlikely(scan->alone >= ALONE) && scan->chains != NULL &&
                scan->settled == scan->lost && scan->chains_here != 0)
                chains_step(scan, scan->chains_here);
            scan->here = scan->places[scan->words_start % SCAN_WORDS];
            follow(scan, scan->words[scan->words_start++ % SCAN_WORDS]);
        } else if (likely(!chains_busy(scan->chains))) {
            return;
        } else {
            chains_step(scan, scan->chains_here);
        }
    }
}

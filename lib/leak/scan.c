/* SPDX-License-Identifier: MIT */
/*
 * See lib/leak/scan.h. The phases, each of which only changes states that the one before has left:
 *
 *     PHASE_REACH     from the roots; blocks that only pointers into them lead to become POSSIBLE
 *     PHASE_POSSIBLE  from those, by any pointer
 *     PHASE_LEAD      from each block that is still UNSEEN, which becomes a *leader*: what it leads
 *                     to becomes LED, but for leaders of before
 *     PHASE_OWN       from each leader, the last one first: what it leads to is its own, earlier
 *                     leaders included, and indirectly lost; the leader is definitely lost
 *
 * A leader never leads to a later one, or that would not have become a leader. So in the last phase
 * nothing that is still to come leads to the leader that has its turn, and of a cycle one block is
 * definitely lost, whatever the order.
 */
#include "lib/leak/scan.h"

#include <string.h>

#include "base/os.h"
#include "lib/alloc/alloc.h"

enum { PHASE_REACH, PHASE_POSSIBLE, PHASE_LEAD, PHASE_OWN };
/* From PHASE_LEAD on no block is POSSIBLE any more: all that are counted already are REACHED. */
enum { UNSEEN, REACHED, POSSIBLE, LED, LEADER = POSSIBLE };
enum {
    STATE_BITS = 2,
    STATES_IN_WORD = 64 / STATE_BITS,
    PART_WORDS = 256,             /* of a block looked at before what they lead to is */
    WAITING_MAX = 1 << 30,        /* entries: address space only, touched as far as needed */
    WAITING_LEAST = 1 << 16,      /* where there is little address space */
    PAGES_FROM = 1 << 20,         /* bytes of blocks that may have pages without content */
    COUNT_BYTES = sizeof(size_t), /* `new[]` keeps the number of elements before the first */
};

static bool memory_take(struct scan *scan);
static void note_large(struct scan *scan);
static void part_scan(struct scan *scan, struct scan_range part);
static void waiting_scan(struct scan *scan);
static blocks_visitor visit_kept, visit_old, visit_possible, visit_reached, visit_lost,
    visit_leader;
static void visit_other(struct scan *scan, uint32_t number, blocks_visitor *visit);
static void all_each(struct scan *scan, blocks_visitor *visit);
static void count_owned(struct scan *scan, const struct found *block);

bool scan_begin(struct scan *scan, const struct scan_rules *rules, struct scan_result *result)
{
    *scan = (struct scan){.rules = *rules, .result = result};
    scan->window_bytes = load_acquire(&window.granules) * GRANULE;
    if (rules->others != NULL)
        scan->others_count = rules->others->count();
    if (!memory_take(scan)) {
        scan_end(scan);
        return false;
    }
    if (rules->others != NULL && rules->step == 0) /* one word after the other */
        scan->rules.step = sizeof(uintptr_t);
    note_large(scan);
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
        waiting_scan(scan);
        scan->result->root_bytes += bytes;
        start += bytes;
    }
}

void scan_root_word(struct scan *scan, uintptr_t word)
{
    part_scan(scan, (struct scan_range){(uintptr_t)&word, (uintptr_t)(&word + 1)});
    waiting_scan(scan);
}

void scan_finish(struct scan *scan)
{
    if (scan->rules.kept != NULL)
        all_each(scan, visit_kept);
    if (scan->rules.base != NULL)
        all_each(scan, visit_old);
    scan->phase = PHASE_POSSIBLE;
    if (scan->any_possible)
        all_each(scan, visit_possible);
    all_each(scan, visit_reached);
    if (!scan->any_unseen)
        return;
    scan->phase = PHASE_LEAD;
    all_each(scan, visit_lost);
    scan->phase = PHASE_OWN;
    for (uint32_t number = scan->others_count; number-- > 1;)
        visit_other(scan, number, visit_leader);
    blocks_each_backwards(visit_leader, scan);
}

void scan_end(struct scan *scan)
{
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

static bool memory_take(struct scan *scan)
{
    scan->states_bytes = scan->window_bytes / GRANULE / STATES_IN_WORD * sizeof(uint64_t) + UNIT;
    scan->large_bytes = scan->window_bytes / UNIT * sizeof(uint32_t) + UNIT;
    scan->states = os_map(scan->states_bytes);
    scan->large = os_map(scan->large_bytes);
    if (scan->others_count > 0 && (scan->others = os_map(scan->others_count)) == NULL)
        return false;
    /* No more entries than blocks, and a heap has at most a block for each granule. */
    scan->waiting_max = scan->window_bytes / GRANULE + WAITING_LEAST;
    if (scan->waiting_max > WAITING_MAX)
        scan->waiting_max = WAITING_MAX;
    while (scan->waiting_max >= WAITING_LEAST && scan->waiting == NULL) {
        scan->waiting = os_map(scan->waiting_max * sizeof *scan->waiting);
        if (scan->waiting == NULL)
            scan->waiting_max /= 4;
    }
    return scan->states != NULL && scan->large != NULL && scan->waiting != NULL;
}

/* `window.units` tells the span at the first and the last unit of a large block only. */
static void note_large(struct scan *scan)
{
    for (uint32_t id = 1; id < span_count(); id++) {
        const struct span *span = span_at(id);
        if (span->state == SPAN_LARGE)
            for (uint32_t i = 0; i < span->length; i++)
                scan->large[span->first + i] = id;
    }
}

/* ---- states ---- */

static uint64_t *state_word(const struct scan *scan, uintptr_t block, unsigned *shift)
{
    size_t granule = (block - window.base) >> GRANULE_SHIFT;
    *shift = (unsigned)(granule % STATES_IN_WORD) * STATE_BITS;
    return &scan->states[granule / STATES_IN_WORD];
}

static unsigned state_of(const struct scan *scan, const struct found *block)
{
    unsigned shift;
    if (unlikely(block->other != 0))
        return scan->others[block->other];
    const uint64_t *word = state_word(scan, block->start, &shift);
    return *word >> shift & ((1u << STATE_BITS) - 1);
}

static void state_set(const struct scan *scan, const struct found *block, unsigned state)
{
    unsigned shift;
    if (unlikely(block->other != 0)) {
        scan->others[block->other] = (uint8_t)state;
        return;
    }
    uint64_t *word = state_word(scan, block->start, &shift);
    *word &= ~((((uint64_t)1 << STATE_BITS) - 1) << shift);
    *word |= (uint64_t)state << shift;
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

static void visit_other(struct scan *scan, uint32_t number, blocks_visitor *visit)
{
    struct found block;
    const struct record *record;
    if (scan->rules.others->at(number, &block, &record))
        visit(scan, &block);
}

static void all_each(struct scan *scan, blocks_visitor *visit)
{
    blocks_each(visit, scan);
    for (uint32_t number = 1; number < scan->others_count; number++)
        visit_other(scan, number, visit);
}

static const struct record *record_of(const struct scan *scan, const struct found *block)
{
    struct found same;
    const struct record *record = NULL;
    if (block->other == 0)
        return block_record(block->start);
    scan->rules.others->at(block->other, &same, &record);
    return record;
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

static bool is_constant(const struct scan_rules *rules, uintptr_t address)
{
    unsigned low = 0, high = rules->constants_count;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (address >= rules->constants[middle].end)
            low = middle + 1;
        else
            high = middle;
    }
    return low < rules->constants_count && address >= rules->constants[low].start;
}

static bool is_count(uintptr_t at, size_t room)
{
    uintptr_t count = *(const uintptr_t *)at;
    return count > 0 && count <= room;
}

/* Whether a pointer into a block is one that the program can get the block back from. */
static bool inside_counts(const struct scan_rules *rules, uintptr_t word, const struct found *block)
{
    size_t offset = word - block->start, room = block->size - offset;
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
    if ((offset == COUNT_BYTES || offset == 2 * COUNT_BYTES) && is_count(word - COUNT_BYTES, room))
        return true;
    if (offset == 2 * COUNT_BYTES && is_count(block->start, room)) /* libc's list of TLS blocks */
        return true;
    return room >= sizeof(uintptr_t) && is_constant(rules, *(const uintptr_t *)word);
}

/* ---- following ---- */

static void wait_for_part(void *context, uintptr_t start, uintptr_t end)
{
    struct scan *scan = context;
    if (scan->waiting_count == scan->waiting_max) {
        scan->result->complete = false;
        return;
    }
    scan->waiting[scan->waiting_count++] = (struct scan_range){start, end};
}

static void wait_for(struct scan *scan, const struct found *block)
{
    uintptr_t end = block->start + block->size;
    if (unlikely(block->size >= PAGES_FROM) && scan->rules.touched != NULL)
        touched_each(scan->rules.touched, block->start, end, TOUCHED_PRIVATE, wait_for_part, scan);
    else
        wait_for_part(scan, block->start, end);
}

static void follow(struct scan *scan, uintptr_t word)
{
    struct found block;
    if (!find(scan, word, &block))
        return;
    unsigned before = state_of(scan, &block), after = before;
    switch (scan->phase) {
    case PHASE_REACH:
        if (before == REACHED)
            return;
        after = !scan->weak && (word == block.start || inside_counts(&scan->rules, word, &block))
                    ? REACHED
                    : POSSIBLE;
        break;
    case PHASE_POSSIBLE:
        after = before == UNSEEN ? POSSIBLE : before;
        break;
    case PHASE_LEAD:
        after = before == UNSEEN ? LED : before;
        break;
    case PHASE_OWN:
        scan->leader_cycle |= block.start == scan->leader;
        if (before == REACHED)
            return;
        after = REACHED;
        count_owned(scan, &block);
        break;
    }
    if (after == before)
        return;
    scan->any_possible |= after == POSSIBLE;
    state_set(scan, &block, after);
    if (scan->phase != PHASE_REACH || after == REACHED)
        wait_for(scan, &block);
}

/* Words at any address that is a multiple of the step. */
static void part_scan_steps(struct scan *scan, struct scan_range part)
{
    for (uintptr_t at = part.start; at + sizeof(uintptr_t) <= part.end; at += scan->rules.step) {
        uintptr_t word;
        memcpy(&word, (const void *)at, sizeof word);
        if (unlikely(word - window.base < scan->window_bytes || is_among_others(scan, word)))
            follow(scan, word);
    }
}

/* At most PART_WORDS words. The tables are far apart: all loads of one kind are begun before the
 * first of the next kind waits for them. */
static void part_scan(struct scan *scan, struct scan_range part)
{
    uintptr_t words[PART_WORDS];
    unsigned count = 0;
    if (unlikely(scan->rules.step != 0)) {
        part_scan_steps(scan, part);
        return;
    }
    for (const uintptr_t *at = (const uintptr_t *)part.start; at < (const uintptr_t *)part.end;
         at++) {
        if (likely(*at - window.base >= scan->window_bytes))
            continue;
        __builtin_prefetch(&window.kinds[unit_of((const void *)*at)]);
        __builtin_prefetch((const void *)*at);
        words[count++] = *at;
    }
    for (unsigned i = 0; i < count; i++) {
        const void *p = (const void *)words[i];
        unsigned shift;
        __builtin_prefetch(live_in(window.live[window.kinds[unit_of(p)]], p));
        __builtin_prefetch(state_word(scan, words[i] & ~(uintptr_t)(GRANULE - 1), &shift));
    }
    for (unsigned i = 0; i < count; i++)
        follow(scan, words[i]);
}

static void waiting_scan(struct scan *scan)
{
    while (scan->waiting_count > 0) {
        struct scan_range *last = &scan->waiting[scan->waiting_count - 1], part = *last;
        size_t most = PART_WORDS * sizeof(uintptr_t);
        if (part.end - part.start > most) {
            part.end = part.start + most;
            last->start = part.end; /* the rest, after what this part leads to */
        } else {
            scan->waiting_count--;
        }
        part_scan(scan, part);
    }
}

/* ---- verdicts ---- */

static void from_here(struct scan *scan, const struct found *block)
{
    wait_for(scan, block);
    waiting_scan(scan);
}

static void visit_kept(void *context, const struct found *block)
{
    struct scan *scan = context;
    const struct record *record = state_of(scan, block) == REACHED ? NULL : record_of(scan, block);
    if (record != NULL && scan->rules.kept(record))
        scan_root_word(scan, block->start);
}

/* It counts as reached, but what it alone leads to does not. */
static void visit_old(void *context, const struct found *block)
{
    struct scan *scan = context;
    if (state_of(scan, block) != REACHED &&
        blocks_is_old(scan->rules.base, block, record_of(scan, block)))
        state_set(scan, block, REACHED);
}

static void visit_possible(void *context, const struct found *block)
{
    struct scan *scan = context;
    if (state_of(scan, block) == POSSIBLE)
        from_here(scan, block);
}

static void visit_lost(void *context, const struct found *block)
{
    struct scan *scan = context;
    if (state_of(scan, block) != UNSEEN)
        return;
    state_set(scan, block, LEADER);
    from_here(scan, block);
}

static void sum_add(struct scan_sum *sum, size_t bytes)
{
    sum->blocks++;
    sum->bytes += bytes;
}

static size_t requested_of(const struct record *record, const struct found *block)
{
    if (record == NULL || block->other != 0)
        return block->size;
    const struct span *span = span_of((const void *)block->start);
    if (span->state == SPAN_LARGE)
        return ((const struct large_record *)record)->requested;
    return block->size - record->slack;
}

static struct scan_row *row_of(struct scan *scan, const struct found *block,
                               const struct record *record)
{
    uint32_t site = record == NULL ? 0 : record->site;
    uint64_t key = site == 0 ? block->size : (uint64_t)site << 32;
    size_t at = (key * UINT64_C(0x9e3779b97f4a7c15)) >> 50; /* SCAN_ROWS is 2 to the 14 */
    for (unsigned looked = 0; looked < SCAN_ROWS - 1; looked++, at++) {
        struct scan_row *row = &scan->result->rows[at % (SCAN_ROWS - 1)];
        if (!row->used) {
            *row = (struct scan_row){.site = site, .used = true, .size = block->size};
            return row;
        }
        if (row->site == site && (site != 0 || row->size == block->size))
            return row;
    }
    struct scan_row *rest = &scan->result->rows[SCAN_ROWS - 1];
    rest->used = true;
    return rest;
}

/* The row that an unreachable block is counted in. */
static struct scan_row *row_add(struct scan *scan, const struct found *block)
{
    const struct record *record = record_of(scan, block);
    struct scan_row *row = row_of(scan, block, record);
    size_t requested = requested_of(record, block);
    struct scan_result *result = scan->result;
    if (result->lost_count < SCAN_LOST_MAX)
        result->lost[result->lost_count] =
            (struct scan_lost){block->start, requested, record == NULL ? 0 : record->site};
    result->lost_count++;
    row->requested_bytes += requested;
    if (row->example == 0 || block->size > row->size) {
        row->example = block->start;
        row->example_word = 0;
        if (block->size >= sizeof row->example_word)
            memcpy(&row->example_word, (const void *)block->start, sizeof row->example_word);
        row->size = block->size;
    }
    return row;
}

static void visit_reached(void *context, const struct found *block)
{
    struct scan *scan = context;
    struct scan_result *result = scan->result;
    switch (state_of(scan, block)) {
    case REACHED:
        sum_add(&result->reachable, block->size);
        break;
    case POSSIBLE:
        sum_add(&result->possible, block->size);
        sum_add(&row_add(scan, block)->possible, block->size);
        state_set(scan, block, REACHED);
        break;
    default:
        scan->any_unseen = true;
    }
}

static void count_owned(struct scan *scan, const struct found *block)
{
    sum_add(&scan->result->indirect, block->size);
    sum_add(&row_add(scan, block)->indirect, block->size);
    sum_add(&scan->leader_row->owned, block->size);
}

static void visit_leader(void *context, const struct found *block)
{
    struct scan *scan = context;
    if (state_of(scan, block) != LEADER)
        return;
    state_set(scan, block, REACHED);
    sum_add(&scan->result->definite, block->size);
    scan->leader = block->start;
    scan->leader_row = row_add(scan, block);
    scan->leader_cycle = false;
    sum_add(&scan->leader_row->definite, block->size);
    scan->leader_row->definite_requested += requested_of(record_of(scan, block), block);
    from_here(scan, block);
    scan->leader_row->cycles += scan->leader_cycle;
}

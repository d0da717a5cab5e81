/* SPDX-License-Identifier: MIT */
/*
 * What the scan says about each block, at its end (lib/leak/scan.h). The phases, each of which
 * only changes states that the one before has left:
 *
 *     PHASE_REACH     from the roots; blocks that only pointers into them lead to become POSSIBLE
 *     PHASE_POSSIBLE  from those, by any pointer
 *     PHASE_COUNT     the words of all blocks that are still UNSEEN: what they point to is ONCE or
 *                     MANY
 *     PHASE_OWN       from each block that is still UNSEEN, a *leader*: what it leads to is its
 *                     own, and indirectly lost; the leader is definitely lost
 *
 * Then cycles are left that no lost block leads to, and what they lead to. They are UNSEEN again:
 *
 *     PHASE_LEAD      from each that is still UNSEEN, which becomes a leader: what it leads to
 *                     becomes LED, but for leaders of before
 *     PHASE_OWN       as above, the last leader first, earlier ones included
 *
 * A leader never leads to a later one, or that would not have become a leader. So no leader that is
 * still to come leads to the one that has its turn, and of a cycle one block is definitely lost.
 */
#include "lib/leak/ages.h"
#include "lib/leak/chains.h"
#include "lib/leak/looks.h"
#include "lib/leak/rows.h"
#include "lib/leak/scan.h"
#include "lib/leak/states.h"

static void lost_find(struct scan *scan);
static void all_each(struct scan *scan, blocks_visitor *visit);
static void all_each_backwards(struct scan *scan, blocks_visitor *visit);
static void visit_other(struct scan *scan, uint32_t number, blocks_visitor *visit);
static blocks_visitor visit_kept, visit_old, visit_possible, visit_reached, visit_age,
    visit_pointing, visit_head, visit_left, visit_lost, visit_leader;
static void leader_own(struct scan *scan, const struct found *block);
static struct scan_row *row_add(struct scan *scan, const struct found *block);
static const struct record *record_of(const struct scan *scan, const struct found *block);
static void sum_add(struct scan_sum *sum, size_t bytes);

void scan_finish(struct scan *scan)
{
    if (scan->chains != NULL)
        chains_settle(scan);
    scan->settled = true;
    if (scan->rules.kept != NULL)
        all_each(scan, visit_kept);
    if (scan->rules.base != NULL)
        all_each(scan, visit_old);
    scan->phase = PHASE_POSSIBLE;
    if (scan->any_possible)
        all_each(scan, visit_possible);
    if (scan->rules.ages)
        ages_begin(&scan->result->ages);
    all_each(scan, visit_reached);
    if (scan->rules.ages)
        all_each(scan, visit_age);
    if (scan->any_unseen)
        lost_find(scan);
    looks_find(scan->result, &scan->rules.constants);
}

static void lost_find(struct scan *scan)
{
    const struct scan_sum *definite = &scan->result->definite, *indirect = &scan->result->indirect;
    scan->phase = PHASE_COUNT;
    all_each(scan, visit_pointing);
    scan_drain(scan);
    scan->phase = PHASE_OWN;
    chains_lost(scan);
    all_each_backwards(scan, visit_head);
    chains_stop(scan);
    if (definite->blocks + indirect->blocks == scan->lost_blocks)
        return;
    all_each(scan, visit_left);
    scan->phase = PHASE_LEAD;
    all_each(scan, visit_lost);
    scan->phase = PHASE_OWN;
    all_each_backwards(scan, visit_leader);
}

static void all_each(struct scan *scan, blocks_visitor *visit)
{
    blocks_each(visit, scan);
    for (uint32_t number = 1; number < scan->others_count; number++)
        visit_other(scan, number, visit);
}

static void all_each_backwards(struct scan *scan, blocks_visitor *visit)
{
    for (uint32_t number = scan->others_count; number-- > 1;)
        visit_other(scan, number, visit);
    blocks_each_backwards(visit, scan);
}

static void visit_other(struct scan *scan, uint32_t number, blocks_visitor *visit)
{
    struct found block;
    const struct record *record;
    if (scan->rules.others->at(number, &block, &record))
        visit(scan, &block);
}

static void visit_kept(void *context, const struct found *block)
{
    struct scan *scan = context;
    unsigned state = state_of(scan, block);
    const struct record *record =
        state == REACHED || state == GUESSED ? NULL : record_of(scan, block);
    if (record != NULL && scan->rules.kept(record))
        scan_root_word(scan, block->start);
}

/* It counts as reached, but what it alone leads to does not. */
static void visit_old(void *context, const struct found *block)
{
    struct scan *scan = context;
    unsigned state = state_of(scan, block);
    if (state != REACHED && state != GUESSED &&
        blocks_is_old(scan->rules.base, block, record_of(scan, block)))
        state_set(scan, block, REACHED);
}

static void visit_possible(void *context, const struct found *block)
{
    if (state_of(context, block) == POSSIBLE)
        scan_from(context, block);
}

static void visit_reached(void *context, const struct found *block)
{
    struct scan *scan = context;
    struct scan_result *result = scan->result;
    switch (state_of(scan, block)) {
    case GUESSED:
        state_set(scan, block, REACHED);
        /* fall through */
    case REACHED:
        sum_add(&result->reachable, block->size);
        if (result->ages.known)
            ages_first(&result->ages, block, record_of(scan, block));
        break;
    case POSSIBLE:
        sum_add(&result->possible, block->size);
        sum_add(&row_add(scan, block)->possible, block->size);
        if (!result->ages.known) /* else the next pass must tell it from reachable ones */
            state_set(scan, block, REACHED);
        break;
    default:
        scan->any_unseen = true;
    }
}

static void visit_age(void *context, const struct found *block)
{
    struct scan *scan = context;
    unsigned state = state_of(scan, block);
    const struct record *record = state == REACHED ? record_of(scan, block) : NULL;
    if (state == POSSIBLE)
        state_set(scan, block, REACHED); /* it is counted */
    if (record != NULL)
        ages_second(&scan->result->ages, record,
                    block->other != 0 || scan->rules.written == NULL ||
                        written_to(scan->rules.written, block->start, block->size));
}

static void visit_pointing(void *context, const struct found *block)
{
    struct scan *scan = context;
    if (state_of(scan, block) == REACHED)
        return;
    scan->lost_blocks++;
    scan_words_of(scan, block);
}

/* No lost block points to it. */
static void visit_head(void *context, const struct found *block)
{
    if (state_of(context, block) == UNSEEN)
        leader_own(context, block);
}

static void visit_left(void *context, const struct found *block)
{
    if (state_of(context, block) != REACHED)
        state_set(context, block, UNSEEN);
}

static void visit_lost(void *context, const struct found *block)
{
    if (state_of(context, block) != UNSEEN)
        return;
    state_set(context, block, LEADER);
    scan_from(context, block);
}

static void visit_leader(void *context, const struct found *block)
{
    if (state_of(context, block) == LEADER)
        leader_own(context, block);
}

static void leader_own(struct scan *scan, const struct found *block)
{
    state_set(scan, block, REACHED);
    sum_add(&scan->result->definite, block->size);
    scan->leader = block->start;
    scan->leader_row = row_add(scan, block);
    scan->leader_cycle = false;
    sum_add(&scan->leader_row->definite, block->size);
    scan->leader_row->definite_requested += rows_requested(record_of(scan, block), block);
    scan_from(scan, block);
    scan->leader_row->cycles += scan->leader_cycle;
}

void scan_own(struct scan *scan, const struct found *block, uintptr_t from, struct scan_row *owner)
{
    struct scan_row *row = row_add(scan, block);
    struct found pointing;
    sum_add(&scan->result->indirect, block->size);
    sum_add(&row->indirect, block->size);
    if (row->from == 0 && block_at(from, &pointing))
        rows_note_from(scan->result, row, &pointing, record_of(scan, &pointing));
    if (owner != NULL)
        sum_add(&owner->owned, block->size);
}

static struct scan_row *row_add(struct scan *scan, const struct found *block)
{
    return rows_add(scan->result, block, record_of(scan, block), scan->now);
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

static void sum_add(struct scan_sum *sum, size_t bytes)
{
    sum->blocks++;
    sum->bytes += bytes;
}

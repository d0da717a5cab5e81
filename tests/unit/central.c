/* SPDX-License-Identifier: MIT */
/*
 * The centres: batches taken and given by several threads never share a block, counters are
 * exact, a block that is home already is noticed, spans that are all free go back to the pages,
 * lists rebuilt from states are the same as before, and blocks come home although the lock is
 * taken.
 */
#include "lib/alloc/central.h"

#include "tests/unit/unit.h"

enum { THREADS = 4, BATCH = 32, HELD = 1000 };

/* Marks a block as taken; aborts if somebody else has it. */
static void own(void *block, unsigned mark, uint64_t seed)
{
    assert(block != NULL && (uintptr_t)block % GRANULE == 0);
    assert(window.kinds[unit_of(block)] == mark);
    assert(__atomic_exchange_n(live_at(block), live_sign(block), __ATOMIC_RELAXED) == 0);
    unit_fill(block, class_size(mark_class(mark)), seed);
}

static void disown(void *block, unsigned mark, uint64_t seed)
{
    assert(unit_filled(block, class_size(mark_class(mark)), seed));
    assert(mark_of(block) == mark);
    assert(__atomic_exchange_n(live_at(block), 0, __ATOMIC_RELAXED) == live_sign(block));
}

static bool is_block_mark(unsigned mark)
{
    return mark != MARK_FREE && mark != MARK_LARGE && mark != MARK_WATCHED;
}

static void batches_are_filled_downwards_lowest_first(void)
{
    void *slots[100];
    unsigned mark = class_of(64), got = central_take(0, mark, slots, 100);
    assert(got > 50 && got <= 100);
    for (unsigned i = 100 - got; i < 99; i++)
        assert((char *)slots[i] == (char *)slots[i + 1] + 64 ||
               span_of(slots[i]) != span_of(slots[i + 1]));
    assert(central_peek(0, mark)->out == got);
    central_give(slots + 100 - got, got);
    assert(central_peek(0, mark)->out == 0);
}

/* Threads hold blocks of all marks and pools and give them back in mixed batches. */
static void *churn(void *argument)
{
    static void *helds[THREADS][HELD];
    uint64_t self = (uintptr_t)argument, random = self + 1;
    void **held = helds[self], *slots[BATCH];
    unsigned count = 0;
    for (unsigned i = 0; i < unit_times(20000); i++) {
        unsigned wanted = 1 + (unsigned)(unit_random(&random) % BATCH);
        if (count + wanted < HELD && unit_random(&random) % 16 != 0) {
            unsigned mark = 1 + (unsigned)(unit_random(&random) % (MARK_COUNT - 1));
            unsigned pool = unit_random(&random) % 8 == 0 ? 3 : 0;
            if (!is_block_mark(mark))
                continue;
            unsigned got = central_take(pool, mark, slots, wanted);
            assert(got > 0 && got <= wanted);
            for (unsigned k = wanted - got; k < wanted; k++) {
                assert(span_of(slots[k])->mark == mark && span_of(slots[k])->home >> 8 == pool &&
                       span_of(slots[k])->pool == pages_node(pool));
                own(slots[k], mark, self);
                held[count++] = slots[k];
            }
            continue;
        }
        unsigned some = (unsigned)(unit_random(&random) % (count + 1));
        for (unsigned k = count - some; k < count; k++)
            disown(held[k], span_of(held[k])->mark, self);
        count -= some;
        central_give(held + count, some);
    }
    for (unsigned k = 0; k < count; k++)
        disown(held[k], span_of(held[k])->mark, self);
    central_give(held, count);
    return NULL;
}

static void threads_never_share_a_block(void)
{
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        assert(pthread_create(&threads[i], NULL, churn, (void *)i) == 0);
    for (size_t i = 0; i < THREADS; i++)
        assert(pthread_join(threads[i], NULL) == 0);
}

/* Sums over spans in use, by list. */
static void counters_are_sums_of_spans(size_t out_wanted)
{
    static const unsigned pools[] = {0, 3};
    size_t out = 0;
    assert(unit_faults() == 0);
    for (unsigned p = 0; p < 2; p++)
        for (unsigned list = 1; list < CENTRAL_COUNT; list++) {
            const struct central *central = central_peek(pools[p], list);
            size_t spans = 0, here = 0, with_free = 0, listed = 0;
            for (uint32_t id = 1; id < span_count(); id++) {
                const struct span *span = span_at(id);
                if (span->state != SPAN_BLOCKS || span->home != (pools[p] << 8 | list))
                    continue;
                unsigned bits = 0;
                for (unsigned i = 0; i < SPAN_BLOCKS_MAX / 64; i++)
                    bits += (unsigned)__builtin_popcountll(span->bits[i]);
                assert(bits == span->free && bits <= span->blocks);
                spans++;
                here += bits;
                with_free += bits > 0;
            }
            for (unsigned head = 0; head < CENTRAL_HEADS; head++)
                for (uint32_t id = central->heads[head]; id != 0; id = span_at(id)->next) {
                    assert(span_at(id)->taker % CENTRAL_HEADS == head);
                    listed++;
                }
            assert(central->spans == spans && central->here == here && listed == with_free);
            out += central->out;
        }
    assert(out == out_wanted);
}

static void free_spans_go_back(void)
{
    /* What stays is one short span a list at most. */
    unsigned kept[2][CENTRAL_COUNT][CENTRAL_HEADS] = {0};
    for (uint32_t id = 1; id < span_count(); id++) {
        const struct span *span = span_at(id);
        if (span->state != SPAN_BLOCKS)
            continue;
        const struct size_class *c = &size_classes[mark_class(span->mark)];
        assert(span->units == c->units_min && 2 * c->size <= UNIT);
        assert(kept[span->home >> 8 != 0][span->home & 255][span->taker % CENTRAL_HEADS]++ == 0);
    }
}

static void recovery_rebuilds_the_same_lists(void)
{
    static void *held[MARK_COUNT][40];
    unsigned gots[MARK_COUNT] = {0};
    size_t out = 0;
    struct central before[CENTRAL_COUNT];
    for (unsigned mark = 1; mark < MARK_COUNT; mark++)
        if (is_block_mark(mark)) {
            gots[mark] = central_take(0, mark, held[mark], 40);
            for (unsigned i = 40 - gots[mark]; i < 40; i++)
                own(held[mark][i], mark, mark);
            out += gots[mark];
        }
    void *watched = central_take_one(0, CENTRAL_WATCHED + 5);
    own(watched, 5, 1);
    out++;
    memcpy(before, central_peek(0, 0), sizeof before);
    central_recover();
    counters_are_sums_of_spans(out);
    for (unsigned list = 0; list < CENTRAL_COUNT; list++) {
        const struct central *after = central_peek(0, list);
        assert(after->spans == before[list].spans && after->out == before[list].out);
        assert(after->here == before[list].here && after->direct == before[list].direct);
    }
    threads_never_share_a_block(); /* those that are held are not handed out again */
    disown(watched, 5, 1);
    central_give(&watched, 1);
    for (unsigned mark = 1; mark < MARK_COUNT; mark++) {
        for (unsigned i = 40 - gots[mark]; i < 40; i++)
            disown(held[mark][i], mark, mark);
        central_give(held[mark] + 40 - gots[mark], gots[mark]);
    }
    counters_are_sums_of_spans(0);
}

static void watched_blocks_have_records_of_their_own(void)
{
    enum { BLOCKS = 300 };
    static void *blocks[BLOCKS];
    unsigned class = class_of(100);
    uint64_t direct = central_peek(0, CENTRAL_WATCHED + class)->direct;
    for (unsigned i = 0; i < BLOCKS; i++) {
        blocks[i] = central_take_one(0, CENTRAL_WATCHED + class);
        struct span *span = span_of(blocks[i]);
        assert(span->kinds == KIND_RECORDED && mark_class(span->mark) == class);
        struct record *record = central_record(span, blocks[i]);
        assert(record->site == 0);
        record->site = i + 1;
    }
    assert(central_peek(0, CENTRAL_WATCHED + class)->direct == direct + BLOCKS);
    for (unsigned i = 0; i < BLOCKS; i++) {
        struct record *record = central_record(span_of(blocks[i]), blocks[i]);
        assert(record->site == i + 1);
        record->site = 0;
    }
    central_give(blocks, BLOCKS);
    assert(central_peek(0, CENTRAL_WATCHED + class)->spans == 0);
}

static void give_twice(void)
{
    void *blocks[10];
    unsigned got = central_take(0, class_of(96), blocks, 10);
    central_give(blocks + 10 - got, got - 1);
    central_give(blocks + 10 - got, 1);
}

static void give_twice_in_a_batch(void)
{
    void *blocks[10];
    unsigned got = central_take(0, class_of(4096), blocks, 10);
    blocks[8] = blocks[9];
    central_give(blocks + 10 - got, got);
}

static void give_once(void)
{
    void *blocks[10];
    unsigned got = central_take(0, class_of(96), blocks, 10);
    central_give(blocks + 10 - got, got);
}

static void blocks_that_are_home_already_are_noticed(void)
{
    char text[200];
    unit_aborts(give_twice, "double free");
    unit_aborts(give_twice, "(block of 96 bytes)");
    unit_aborts(give_twice_in_a_batch, "double free");
    assert(unit_child(give_once, text, sizeof text) == 0);
}

struct batch {
    void **slots;
    unsigned count;
};

static void *give_batch(void *argument)
{
    const struct batch *batch = argument;
    central_give(batch->slots, batch->count);
    return NULL;
}

/* A thread that brings blocks home does not wait for one that has the lock, here the main one. */
static void blocks_come_home_while_the_lock_is_taken(void)
{
    enum { MANY = 200 };
    void *slots[MANY], *other[1];
    unsigned mark = class_of(48), got = central_take(0, mark, slots, MANY);
    const struct central *central = central_peek(0, mark);
    struct batch batch = {slots + MANY - got, got};
    assert(got > MANY / 2 && central_take(0, class_of(512), other, 1) == 1);
    batch.slots[got / 2] = other[0]; /* of another list, in the middle */
    void *kept = slots[MANY - 1];
    batch.count--;
    assert(central_hold(span_of(kept)));
    size_t out = central->out;
    pthread_t thread;
    assert(pthread_create(&thread, NULL, give_batch, &batch) == 0);
    assert(pthread_join(thread, NULL) == 0);
    assert(central->out == out && central->parcels != 0);
    assert(central_peek(0, class_of(512))->parcels == 0);
    central_release(span_of(kept));
    assert(central->parcels == 0 && central->out == out - (got - 2));
}

int main(void)
{
    unit_start();
    batches_are_filled_downwards_lowest_first();
    threads_never_share_a_block();
    counters_are_sums_of_spans(0);
    free_spans_go_back();
    recovery_rebuilds_the_same_lists();
    watched_blocks_have_records_of_their_own();
    blocks_come_home_while_the_lock_is_taken();
    blocks_that_are_home_already_are_noticed();
    return 0;
}

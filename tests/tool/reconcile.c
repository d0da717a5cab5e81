/* SPDX-License-Identifier: MIT */
/*
 * Rows of a sample are scaled to exact counters: in 2,000 random mixes of classes, weights and
 * counters the rows and what none of them stands for add up to the counter, to the byte; a row is
 * never less than what was seen, unless the counter is; and without classes that were sampled, all
 * is left over.
 */
#include "tool/profile/reconcile.h"

#include "tests/unit/unit.h"

enum { MIXES = 2000, ROWS_MOST = 40, CLASSES = 5 };

static uint64_t state = 88172645463325252u;

static uint64_t random_below(uint64_t bound)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % bound;
}

static const uint64_t sizes[CLASSES] = {16, 112, 1024, 32768, 0};

struct mix {
    struct capture_row rows[ROWS_MOST];
    unsigned classes[ROWS_MOST], count;
    uint64_t blocks[CLASSES], bytes[CLASSES]; /* exact, of all metrics */
};

static struct capture_sum sum_of(uint64_t blocks, uint64_t size)
{
    return (struct capture_sum){blocks, blocks * (size - size / 8), blocks * size};
}

static void mix_make(struct mix *mix)
{
    *mix = (struct mix){.count = (unsigned)random_below(ROWS_MOST + 1)};
    for (unsigned i = 0; i < mix->count; i++) {
        struct capture_row *row = &mix->rows[i];
        unsigned class = mix->classes[i] = (unsigned)random_below(CLASSES - 1) + (i % 3 == 0);
        uint64_t size = sizes[class] > 0 ? sizes[class] : 40960 + 4096 * random_below(500);
        row->size = sizes[class];
        row->weight = random_below(4) == 0 ? 1 : 1 + (double)random_below(100000) / 97;
        uint64_t blocks = 1 + random_below(20);
        row->live = row->peak = sum_of(blocks, size);
        row->allocated = sum_of(2 * blocks, size); /* so many were freed, too */
        mix->blocks[class] += row->live.objects;
        mix->bytes[class] += row->live.usable;
    }
    for (unsigned i = 0; i < CLASSES; i++) {
        uint64_t more = random_below(3) == 0 ? 0 : random_below(1000000);
        mix->blocks[i] = random_below(8) == 0 ? mix->blocks[i] / 2 : mix->blocks[i] + more;
        mix->bytes[i] = sizes[i] > 0           ? mix->blocks[i] * sizes[i]
                        : random_below(8) == 0 ? mix->bytes[i] / 2
                                               : mix->bytes[i] + 70000 * more;
    }
}

static void mix_check(const struct mix *mix, bool covered)
{
    static struct reconcile it;
    reconcile_start(&it);
    for (unsigned i = 0; i < CLASSES; i++) {
        struct capture_count count = {mix->blocks[i], mix->bytes[i]};
        struct capture_count twice = {2 * count.blocks, 2 * count.bytes};
        reconcile_class(&it, &(struct capture_class){sizes[i], twice, count, count});
    }
    for (unsigned i = 0; i < mix->count; i++)
        reconcile_row(&it, reconcile_find(&it, mix->rows[i].size), &mix->rows[i]);
    assert(it.count == CLASSES);
    reconcile_factors(&it, covered);
    for (unsigned metric = 0; metric < RECONCILE_METRICS; metric++) {
        uint64_t blocks[CLASSES] = {0}, bytes[CLASSES] = {0};
        bool less[CLASSES] = {0};
        for (unsigned i = 0; i < mix->count; i++) {
            struct capture_sum seen = mix->rows[i].live, value;
            unsigned class = mix->classes[i];
            value = reconcile_value(&it, class, metric, seen, mix->rows[i].weight);
            blocks[class] += value.objects;
            bytes[class] += value.usable;
            less[class] |= value.objects < seen.objects;
            assert(value.requested <= value.usable + 1);
        }
        for (unsigned i = 0; i < CLASSES; i++) {
            struct capture_sum rest = reconcile_rest(&it, i, metric);
            const struct reconcile_sum *sum = &it.classes[i].sums[metric][RECONCILE_BLOCKS];
            assert(blocks[i] + rest.objects == mix->blocks[i]);
            assert(bytes[i] + rest.usable == mix->bytes[i]);
            assert(!less[i] || (double)mix->blocks[i] < sum->seen);
            if (covered && sum->estimate > sum->seen)
                assert(rest.objects == 0);
        }
    }
}

int main(void)
{
    static struct mix mix;
    for (unsigned i = 0; i < MIXES; i++) {
        mix_make(&mix);
        mix_check(&mix, true);
        mix_check(&mix, false);
    }
    return 0;
}

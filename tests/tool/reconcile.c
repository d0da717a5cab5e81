/* SPDX-License-Identifier: MIT */
/*
 * Rows of a sample are scaled to exact counters: in 4,000 random mixes of classes, weights and
 * counters the rows and what none of them stands for add up to the counters, to the byte; and of
 * each row, and of the rest, no more is live, or was live at the peak, than was allocated. A row is
 * never less than what was seen, unless a counter is; without classes that were sampled, all is
 * left over. A row of one recorded block stands for more than that block, unless the counters leave
 * nothing else.
 */
#include "tool/profile/capture/reconcile.h"
#include "tool/profile/capture/capture.h"

#include "base/compiler.h"
#include "tests/unit/unit.h"

enum { MIXES = 4000, ROWS_MAX = 40, CLASSES = 5 };

static uint64_t state = 88172645463325252u;

static uint64_t random_below(uint64_t bound)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % bound;
}

static const uint64_t sizes[CLASSES] = {16, 112, 1024, 32768, 0};

struct row {
    struct reconcile_sums seen;
    unsigned class;
    double weight;
};

struct mix {
    struct row rows[ROWS_MAX];
    unsigned count;
    struct capture_class classes[CLASSES];
    bool older[CLASSES]; /* the counters are less than what was seen */
};

static struct capture_sum sum_of(uint64_t blocks, uint64_t size)
{
    return (struct capture_sum){blocks, blocks * (size - size / 8), blocks * size};
}

static void count_add(struct capture_count *to, const struct capture_sum *more)
{
    to->blocks += more->objects;
    to->bytes += more->usable;
}

static struct row row_make(unsigned class)
{
    uint64_t size = sizes[class] > 0 ? sizes[class] : 40960 + 4096 * random_below(500);
    uint64_t all = 1 + random_below(40), kind = random_below(4);
    /* All four cells: sites that keep, that free everything, that grow and that shrink. */
    uint64_t live = kind == 0 ? 0 : kind == 1 ? all : random_below(all + 1);
    uint64_t peak = kind == 2 ? live : random_below(3) == 0 ? all : random_below(all + 1);
    return (struct row){
        .seen = {sum_of(all, size), sum_of(live, size), sum_of(peak, size)},
        .class = class,
        .weight = random_below(4) == 0 ? 1 : 1 + (double)random_below(100000) / 97,
    };
}

static uint64_t more_blocks(uint64_t seen)
{
    return random_below(3) == 0 ? 0 : random_below(4) == 0 ? random_below(1000000) : seen;
}

/* Counters that a program may have had: what was seen and more of each kind of block, or fewer. */
static void class_count(struct capture_class *class, bool *older)
{
    uint64_t both = more_blocks(class->live.blocks), live = more_blocks(class->live.blocks);
    uint64_t peak = more_blocks(class->peak.blocks), none = more_blocks(class->allocated.blocks);
    uint64_t each = class->size > 0 ? class->size : 70001;
    struct capture_count *const counts[] = {&class->allocated, &class->live, &class->peak};
    const uint64_t more[] = {both + live + peak + none, both + live, both + peak};
    *older = random_below(8) == 0;
    for (unsigned i = 0; i < COUNT_OF(counts); i++) {
        counts[i]->blocks = *older ? counts[i]->blocks / 2 : counts[i]->blocks + more[i];
        counts[i]->bytes = *older ? counts[i]->bytes / 2 : counts[i]->bytes + more[i] * each;
        if (class->size > 0)
            counts[i]->bytes = counts[i]->blocks * class->size;
    }
}

static void mix_make(struct mix *mix)
{
    *mix = (struct mix){.count = (unsigned)random_below(ROWS_MAX + 1)};
    for (unsigned i = 0; i < CLASSES; i++)
        mix->classes[i].size = sizes[i];
    for (unsigned i = 0; i < mix->count; i++) {
        struct row *row = &mix->rows[i];
        *row = row_make((unsigned)random_below(CLASSES - 1) + (i % 3 == 0));
        count_add(&mix->classes[row->class].allocated, &row->seen.allocated);
        count_add(&mix->classes[row->class].live, &row->seen.live);
        count_add(&mix->classes[row->class].peak, &row->seen.peak);
    }
    for (unsigned i = 0; i < CLASSES; i++)
        class_count(&mix->classes[i], &mix->older[i]);
}

static void sums_check(const struct reconcile_sums *sums)
{
    const struct capture_sum *all = &sums->allocated, *live = &sums->live, *peak = &sums->peak;
    assert(live->objects <= all->objects && peak->objects <= all->objects);
    assert(live->usable <= all->usable && peak->usable <= all->usable);
    assert(live->requested <= all->requested && peak->requested <= all->requested);
}

static void sums_add(struct capture_count to[3], const struct reconcile_sums *more)
{
    count_add(&to[0], &more->allocated);
    count_add(&to[1], &more->live);
    count_add(&to[2], &more->peak);
}

static void mix_check(const struct mix *mix, bool covered)
{
    static struct reconcile it;
    struct capture_count sums[CLASSES][3] = {0};
    bool weighted[CLASSES] = {0};
    reconcile_start(&it);
    for (unsigned i = 0; i < CLASSES; i++)
        reconcile_class(&it, &mix->classes[i]);
    for (unsigned i = 0; i < mix->count; i++) {
        const struct row *row = &mix->rows[i];
        reconcile_add(&it, reconcile_find(&it, sizes[row->class]), &row->seen, row->weight);
    }
    assert(it.count == CLASSES);
    reconcile_solve(&it, covered);
    for (unsigned i = 0; i < mix->count; i++) {
        const struct row *row = &mix->rows[i];
        struct reconcile_sums value = reconcile_give(&it, row->class, &row->seen, row->weight);
        sums_check(&value);
        sums_add(sums[row->class], &value);
        assert(value.live.requested <= value.live.usable + 1);
        weighted[row->class] |= row->weight > 1 && row->seen.live.objects > 0;
        if (mix->older[row->class])
            continue;
        assert(value.allocated.objects >= row->seen.allocated.objects);
        assert(value.live.objects >= row->seen.live.objects);
        assert(value.peak.objects >= row->seen.peak.objects);
    }
    for (unsigned i = 0; i < CLASSES; i++) {
        const struct capture_class *class = &mix->classes[i];
        struct reconcile_sums rest = reconcile_rest(&it, i);
        sums_check(&rest);
        sums_add(sums[i], &rest);
        assert(memcmp(&sums[i][0], &class->allocated, sizeof class->allocated) == 0);
        assert(memcmp(&sums[i][1], &class->live, sizeof class->live) == 0);
        assert(memcmp(&sums[i][2], &class->peak, sizeof class->peak) == 0);
        if (covered && weighted[i])
            assert(rest.live.objects == 0);
    }
}

/* One site keeps what it has until the end of the peak, another churns: the peak is the first
 * one's, and so it must have allocated that much. */
static void peak_counts_as_allocated(void)
{
    static struct reconcile it;
    struct reconcile_sums keeps = {sum_of(3, 16), sum_of(0, 16), sum_of(3, 16)};
    struct reconcile_sums churns = {sum_of(1000, 16), sum_of(0, 16), sum_of(0, 16)};
    reconcile_start(&it);
    reconcile_class(&it, &(struct capture_class){16, {100000, 1600000}, {0, 0}, {330, 5280}});
    reconcile_add(&it, 0, &keeps, 100);
    reconcile_add(&it, 0, &churns, 100);
    reconcile_solve(&it, true);
    keeps = reconcile_give(&it, 0, &keeps, 100);
    churns = reconcile_give(&it, 0, &churns, 100);
    assert(keeps.peak.objects == 330 && keeps.allocated.objects == 330);
    assert(churns.peak.objects == 0 && churns.allocated.objects == 100000 - 330);
}

/* No block that was live at the peak was recorded: the site that churns was not there. */
static void peak_without_a_sample_is_left_over(void)
{
    static struct reconcile it;
    struct reconcile_sums churns = {sum_of(1000, 16), sum_of(0, 16), sum_of(0, 16)};
    reconcile_start(&it);
    reconcile_class(&it, &(struct capture_class){16, {100000, 1600000}, {0, 0}, {20, 320}});
    reconcile_add(&it, 0, &churns, 100);
    reconcile_solve(&it, true);
    churns = reconcile_give(&it, 0, &churns, 100);
    struct reconcile_sums rest = reconcile_rest(&it, 0);
    assert(churns.peak.objects == 0 && churns.allocated.objects == 100000 - 20);
    assert(rest.peak.objects == 20 && rest.allocated.objects == 20 && rest.live.objects == 0);
}

/* One block of `late` was recorded, of some thousand that it made. That chance recorded no block of
 * the peak that was freed does not make that one block all that there are. */
static void one_sample_is_no_certainty(void)
{
    static struct reconcile it;
    struct reconcile_sums keeps = {sum_of(5, 256), sum_of(5, 256), sum_of(5, 256)};
    struct reconcile_sums churns = {sum_of(5, 256), sum_of(0, 256), sum_of(0, 256)};
    struct reconcile_sums late = {sum_of(1, 256), sum_of(1, 256), sum_of(0, 256)};
    reconcile_start(&it);
    reconcile_class(&it,
                    &(struct capture_class){
                        256, {22000, 22000 * 256}, {11000, 11000 * 256}, {11500, 11500 * 256}});
    reconcile_add(&it, 0, &keeps, 2000);
    reconcile_add(&it, 0, &churns, 2000);
    reconcile_add(&it, 0, &late, 2000);
    reconcile_solve(&it, true);
    assert(reconcile_weights(&it, 0, &late, 2000).allocated > 200);
    late = reconcile_give(&it, 0, &late, 2000);
    assert(late.allocated.objects > 200 && late.live.objects == late.allocated.objects);
}

/* The same where no block of the peak was recorded, and more were live then than were freed. */
static void one_sample_without_a_peak(void)
{
    static struct reconcile it;
    struct reconcile_sums keeps = {sum_of(3, 256), sum_of(3, 256), sum_of(0, 256)};
    struct reconcile_sums churns = {sum_of(1, 256), sum_of(0, 256), sum_of(0, 256)};
    reconcile_start(&it);
    reconcile_class(&it, &(struct capture_class){
                             256, {8000, 8000 * 256}, {6000, 6000 * 256}, {5000, 5000 * 256}});
    reconcile_add(&it, 0, &keeps, 2000);
    reconcile_add(&it, 0, &churns, 2000);
    reconcile_solve(&it, true);
    keeps = reconcile_give(&it, 0, &keeps, 2000);
    churns = reconcile_give(&it, 0, &churns, 2000);
    assert(keeps.live.objects == 6000 && churns.live.objects == 0);
    assert(churns.allocated.objects > 200);
}

int main(void)
{
    static struct mix mix;
    peak_counts_as_allocated();
    one_sample_is_no_certainty();
    one_sample_without_a_peak();
    peak_without_a_sample_is_left_over();
    for (unsigned i = 0; i < MIXES; i++) {
        mix_make(&mix);
        mix_check(&mix, true);
        mix_check(&mix, false);
    }
    return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * See lib/heap/pins.h. One walk over all spans: sums by class, blocks of exact recordings at once,
 * samples into a list. The list is then sorted by class and place: the neighbours of a sample there
 * tell whether the span that it would lie in is likely to have blocks of other stacks.
 */
#include "lib/heap/pins.h"

#include <string.h>

#include "base/compiler.h"
#include "base/os.h"
#include "lib/heap/places.h"
#include "lib/heap/sampler.h"
#include "lib/heap/sites.h"
#include "lib/heap/track.h"

enum {
    SAMPLES_MAX = 1 << 16, /* of more samples, one in two, three, ... is looked at */
    MATES = 8,             /* neighbours on either side that are compared */
    REACHED_STEP = SPAN_BLOCKS_MAX / 64,
};

struct pins_sum {
    struct {
        uint32_t seen;
        float large; /* bytes of large blocks */
        double blocks, bytes, alone;
    } fills[PINS_FILLS];
};

struct sample {
    uint32_t site, stack;
    uint32_t unit; /* where it would lie */
    uint16_t class;
    uint16_t slots;
    float live; /* blocks that live in that span now; below 0: the place is not known */
    float bytes;
};

struct taking {
    struct pins *pins;
    struct sample *samples;
    uint32_t count, stride, passed;
};

static void span_add(struct taking *taking, struct span *span);
static void samples_sort(struct sample *samples, uint32_t count);
static void samples_add(struct taking *taking);

bool pins_take(struct pins *pins)
{
    struct track_seen seen;
    struct taking taking = {.pins = pins};
    *pins = (struct pins){.sites = table_count(&sites_table)};
    track_seen(&seen);
    taking.stride = (uint32_t)(seen.live / SAMPLES_MAX) + 1;
    pins->sums = os_map((size_t)(pins->sites + 1) * sizeof *pins->sums);
    taking.samples = os_map(SAMPLES_MAX * sizeof *taking.samples);
    if (pins->sums != NULL && taking.samples != NULL) {
        uint32_t ids = span_count();
        for (uint32_t id = 1; id < ids; id++)
            span_add(&taking, span_at(id));
        samples_sort(taking.samples, taking.count);
        samples_add(&taking);
    } else {
        pins_free(pins);
    }
    if (taking.samples != NULL)
        os_unmap(taking.samples, SAMPLES_MAX * sizeof *taking.samples);
    return pins->sums != NULL;
}

void pins_free(struct pins *pins)
{
    if (pins->sums != NULL)
        os_unmap(pins->sums, (size_t)(pins->sites + 1) * sizeof *pins->sums);
    pins->sums = NULL;
}

static void row_make(struct pins_row *row, const struct site *site)
{
    unsigned class = site_class(site);
    *row = (struct pins_row){
        .stack = site_stack(site),
        .thread = site_thread(site),
        .class = class < CLASS_COUNT ? class : CLASS_COUNT,
        .size = class < CLASS_COUNT ? class_size(class) : 0,
        .rate = sampler_rate_of(site_rate(site)),
    };
}

void pins_each(const struct pins *pins, void (*row)(void *context, const struct pins_row *row),
               void *context)
{
    for (uint32_t id = 1; id < pins->sites; id++)
        for (unsigned fill = 0; fill < PINS_FILLS; fill++) {
            const struct pins_sum *sum = &pins->sums[id];
            struct pins_row made;
            if (sum->fills[fill].seen == 0)
                continue;
            row_make(&made, site_at(id));
            made.fill = fill;
            made.seen = sum->fills[fill].seen;
            made.blocks = sum->fills[fill].blocks;
            made.bytes = sum->fills[fill].bytes;
            made.alone = sum->fills[fill].alone;
            if (made.class == CLASS_COUNT)
                made.size = (uint64_t)((double)sum->fills[fill].large / (double)made.seen);
            row(context, &made);
        }
}

/* ---- spans ----------------------------------------------------------------------------- */

static unsigned fill_of(double live, double slots)
{
    unsigned fill = PINS_FILLS - 1;
    while (fill > 0 && live * (1 << (PINS_FILLS - fill)) <= slots)
        fill--;
    return fill;
}

/* Pages beyond the farthest block that was ever taken have never been touched in this span. */
static uint64_t span_memory(const struct span *span, unsigned class)
{
    size_t whole = (size_t)span->units << UNIT_SHIFT;
    size_t reached = (span->reached + 1u) * REACHED_STEP * class_size(class);
    reached = (reached + UNIT - 1) & ~((size_t)UNIT - 1);
    return span->full || span->kinds & KIND_OWNED || reached > whole ? whole : reached;
}

static unsigned span_live(const struct span *span, unsigned class)
{
    unsigned live = 0;
    for (unsigned i = 0; i < span->blocks; i++)
        live += mark_of(span_block(span, i, class)) != MARK_FREE;
    return live;
}

/* The site of a record that this era counts; 0: none. */
static uint32_t counted_site(const struct taking *taking, const struct record *record)
{
    uint32_t word = record == NULL ? 0 : load_relaxed(&record->site);
    if (word == 0 || site_era(word) != load_relaxed(&sites_era))
        return 0;
    return site_id(word) < taking->pins->sites ? site_id(word) : 0;
}

static void sum_add(struct taking *taking, uint32_t site, unsigned fill, double weight,
                    double bytes, double alone)
{
    struct pins_sum *sum = &taking->pins->sums[site];
    sum->fills[fill].seen++;
    sum->fills[fill].blocks += weight;
    sum->fills[fill].bytes += weight * bytes;
    sum->fills[fill].alone += weight * alone;
}

static void large_add(struct taking *taking, struct span *span)
{
    uint32_t id = load_acquire(&span->record);
    bool recorded = load_acquire(&span->kinds) & KIND_RECORDED && id != 0;
    if (!recorded || load_acquire(&span->state) != SPAN_LARGE || load_relaxed(&span->record) != id)
        return; /* it changes just now */
    uint32_t site = counted_site(taking, meta_at(id));
    if (site == 0)
        return;
    int64_t rate = sampler_rate_of(site_rate(site_at(site)));
    double size = (double)large_size(span), whole = (double)((size_t)span->units << UNIT_SHIFT);
    double weight = rate == SAMPLER_EXACT ? 1 : 1 / sampler_picked(size, rate);
    sum_add(taking, site, PINS_FILLS - 1, weight, whole, whole);
    taking->pins->sums[site].fills[PINS_FILLS - 1].large += (float)size;
}

/* What is left of the span that the block would lie in. */
static void sample_place(struct taking *taking, struct sample *sample, const void *block,
                         const struct record *record)
{
    const struct size_class *c = &size_classes[sample->class];
    if (!places_find(block, record, &sample->unit)) {
        taking->pins->unplaced++;
        sample->live = -1;
        return;
    }
    taking->pins->placed++;
    const struct span *span = span_at(load_relaxed(&window.units[sample->unit]));
    if (load_acquire(&span->state) == SPAN_BLOCKS && span->kinds == 0 &&
        sample->unit - span->first < span->units && mark_class(span->mark) == sample->class) {
        sample->slots = span->blocks;
        sample->live = (float)span_live(span, sample->class);
        sample->bytes = (float)span_memory(span, sample->class);
        return;
    }
    /* That span ended with the last of its blocks: this one alone would have kept it. Where another
     * one of the class is in its place, its blocks would lie beside this one. */
    sample->slots = (uint16_t)sizes_blocks(c, c->units_max);
    sample->live = 0;
    sample->bytes = (float)((size_t)c->units_max << UNIT_SHIFT);
}

static void sample_take(struct taking *taking, uint32_t site, unsigned class, const void *block,
                        const struct record *record)
{
    if (taking->passed++ % taking->stride != 0 || taking->count == SAMPLES_MAX)
        return;
    struct sample *sample = &taking->samples[taking->count++];
    *sample = (struct sample){
        .site = site, .stack = site_stack(site_at(site)), .class = (uint16_t) class};
    sample_place(taking, sample, block, record);
}

/* The blocks of a span with records: `live` of them. */
static void recorded_add(struct taking *taking, struct span *span, unsigned class, unsigned live)
{
    double bytes = (double)span_memory(span, class);
    uint32_t sites[SPAN_BLOCKS_MAX], stack = STACK_NONE;
    unsigned count = 0;
    bool alone = true;
    for (unsigned i = 0; i < span->blocks; i++) {
        const void *block = span_block(span, i, class);
        const struct record *record =
            mark_of(block) == MARK_FREE ? NULL : central_record(span, block);
        uint32_t site = counted_site(taking, record);
        if (record != NULL && site == 0)
            alone = false;
        if (site == 0)
            continue;
        if (site_rate(site_at(site)) != SAMPLER_EXACT_NUMBER) {
            alone = false;
            sample_take(taking, site, class, block, record);
            continue;
        }
        alone &= count == 0 || stack == site_stack(site_at(site));
        stack = site_stack(site_at(site));
        sites[count++] = site;
    }
    for (unsigned i = 0; i < count; i++)
        sum_add(taking, sites[i], fill_of(live, span->blocks), 1, bytes / live,
                alone ? bytes / live : 0);
}

/* Records are read while no thread can end the span. */
static void span_add(struct taking *taking, struct span *span)
{
    uint8_t state = load_acquire(&span->state);
    if (state == SPAN_LARGE)
        large_add(taking, span);
    if (state != SPAN_BLOCKS || span->blocks > SPAN_BLOCKS_MAX)
        return;
    unsigned class = mark_class(span->mark), out = span->blocks - span->free;
    struct pins_class *sums = &taking->pins->classes[class];
    uint64_t bytes = span_memory(span, class);
    sums->spans++;
    sums->bytes += bytes;
    sums->slots += span->blocks;
    sums->out += out;
    sums->by_fill[fill_of(out, span->blocks)] += bytes;
    if (!(load_relaxed(&span->kinds) & KIND_RECORDED))
        return;
    bool owned = load_relaxed(&span->home) == HOME_OWNED;
    if (owned ? !owner_hold(span) : !central_hold(span))
        return;
    unsigned live = span_live(span, class);
    if (live > 0 && span->kinds & KIND_RECORDED && mark_class(span->mark) == class)
        recorded_add(taking, span, class, live);
    if (owned)
        owner_release(span);
    else
        central_release(span);
}

/* ---- samples --------------------------------------------------------------------------- */

static bool is_before(const struct sample *a, const struct sample *b)
{
    return a->class != b->class ? a->class < b->class : a->unit < b->unit;
}

/* A heap sort: in place, and never slow. */
static void sift(struct sample *samples, uint32_t from, uint32_t count)
{
    for (uint32_t at = from, child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && is_before(&samples[child], &samples[child + 1]))
            child++;
        if (!is_before(&samples[at], &samples[child]))
            return;
        struct sample other = samples[at];
        samples[at] = samples[child];
        samples[child] = other;
    }
}

static void samples_sort(struct sample *samples, uint32_t count)
{
    for (uint32_t i = count / 2; i-- > 0;)
        sift(samples, i, count);
    for (uint32_t end = count; end-- > 1;) {
        struct sample first = samples[0];
        samples[0] = samples[end];
        samples[end] = first;
        sift(samples, 0, end);
    }
}

/* Whether all samples near this one have its stack. */
static bool is_unmixed(const struct taking *taking, uint32_t number)
{
    const struct sample *sample = &taking->samples[number];
    uint32_t from = number > MATES ? number - MATES : 0;
    for (uint32_t i = from; i < taking->count && i <= number + MATES; i++) {
        const struct sample *other = &taking->samples[i];
        if (other->class == sample->class && other->stack != sample->stack)
            return false;
    }
    return true;
}

/*
 * The block's share of its span. If the block lay there, another one, which may be live or not,
 * would not: with `live` of `slots` blocks, 1 + live - 1 live there then, or 1 + live. A span with
 * several live blocks counts as one of this stack alone only where no other stack was sampled near.
 */
static void sample_add(struct taking *taking, const struct sample *sample, bool unmixed)
{
    double slots = sample->slots, live = (double)sample->live, bytes = (double)sample->bytes;
    double chance = live / slots; /* that the other one is live */
    double apart = (1 - chance) / (live + 1), together = live >= 1 ? chance / live : 0;
    double alone = unmixed ? apart + together : 0;
    if (!unmixed && live < 1)
        alone = apart;
    else if (!unmixed && live < 2)
        alone = together;
    size_t size = class_size(sample->class);
    int64_t rate = sampler_rate_of(site_rate(site_at(sample->site)));
    double weight = (double)taking->stride / sampler_picked((double)size, rate);
    sum_add(taking, sample->site, fill_of(live + 1 - chance, slots), weight,
            bytes * (apart + together), bytes * alone);
}

static void samples_add(struct taking *taking)
{
    for (uint32_t i = 0; i < taking->count; i++) {
        struct sample sample = taking->samples[i];
        const struct pins_class *sums = &taking->pins->classes[sample.class];
        if (sample.live < 0 && sums->spans > 0) { /* as in the mean span of the class */
            sample.slots = (uint16_t)(sums->slots / sums->spans);
            sample.bytes = (float)sums->bytes / (float)sums->spans;
            sample.live = (float)sums->out / (float)sums->spans;
            sample.live = sample.live > 1 ? sample.live - 1 : 0;
        }
        if (sample.slots > 0)
            sample_add(taking, &sample, is_unmixed(taking, i));
    }
}

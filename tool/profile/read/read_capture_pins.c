/* SPDX-License-Identifier: MIT */
/*
 * See tool/profile/read/read_capture_pins.h. Estimates of a size are scaled twice: so that the
 * blocks of all sites are the live blocks that the allocator counts, and so that their memory is
 * the memory of its spans. Rows of exact recordings are left as they are.
 */
#include "tool/profile/read/read_capture_pins.h"

#include <math.h>
#include <stdlib.h>

#include "base/file/capture_format.h"
#include "tool/profile/read/read_capture.h"

enum { SPARSE_FILLS = 5 }; /* of PROFILE_FILLS: up to a quarter full */

void pin_rows_free(struct pin_rows *pins)
{
    free(pins->rows.items);
    free(pins->classes.items);
}

/* A damaged file may tell any number: sums end at 2^62. */
static void add(int64_t *sum, uint64_t more)
{
    const uint64_t max = (uint64_t)1 << 62;
    *sum = more < max - (uint64_t)*sum ? *sum + (int64_t)more : (int64_t)max;
}

static void take_class(struct pin_rows *pins, struct profile *profile, struct capture_part *part)
{
    struct pin_class *class = profile_list_add(profile, &pins->classes, sizeof *class);
    struct profile_pins *sums = &profile->pins;
    if (!class)
        return;
    class->size = capture_next(part);
    capture_next(part); /* spans */
    uint64_t bytes = capture_next(part), live, live_bytes;
    class->bytes = (double)bytes;
    capture_next(part); /* blocks that they are cut into */
    capture_next(part); /* those that are not free there */
    class->live = (double)(live = capture_next(part));
    if (__builtin_mul_overflow(live, class->size < 65536 ? class->size : 0, &live_bytes))
        live_bytes = UINT64_MAX;
    add(&sums->spans_space, bytes);
    add(&sums->live_space, live_bytes);
    for (unsigned i = 0; i < PROFILE_FILLS; i++)
        add(&sums->by_fill[i], capture_next(part));
}

static void take_row(struct pin_rows *pins, struct profile *profile, struct capture_part *part,
                     uint64_t *stack)
{
    struct pin_row row;
    *stack += (uint64_t)format_unfold(capture_next(part));
    row.stack = (uint32_t)(*stack < part->nodes ? *stack : 0);
    row.thread = (uint32_t)capture_next(part) - 1;
    row.size = capture_next(part);
    row.fill = (unsigned)(capture_next(part) % PROFILE_FILLS);
    row.seen = (double)capture_next(part);
    row.blocks = (double)capture_next(part);
    row.held = (double)capture_next(part);
    row.bytes = (double)capture_next(part);
    row.alone = (double)capture_next(part);
    struct pin_row *kept =
        row.seen > 0 ? profile_list_add(profile, &pins->rows, sizeof *kept) : NULL;
    if (kept)
        *kept = row;
}

void pin_rows_part(struct pin_rows *pins, struct profile *profile, const struct capture_part *whole)
{
    struct capture_part part = *whole;
    uint64_t stack = 0;
    while (part.at < part.end && !profile->failed)
        switch (part.type) {
        case RECORD_PIN_CLASSES:
            take_class(pins, profile, &part);
            break;
        case RECORD_PIN_ROWS:
            take_row(pins, profile, &part, &stack);
            break;
        default:
            profile->pins.known = true;
            profile->pins.took_us = (int64_t)capture_next(&part);
            profile->pins.placed = (int64_t)capture_next(&part);
            profile->pins.unplaced = (int64_t)capture_next(&part);
            profile->pins.dirty_space = (int64_t)capture_next(&part);
            part.at = part.end;
        }
}

static bool is_estimate(const struct pin_row *row)
{
    return row->blocks > row->seen;
}

static void row_scale(struct pin_row *row, double factor)
{
    row->blocks *= factor;
    row->held *= factor;
    row->bytes *= factor;
    row->alone *= factor;
}

/* The live blocks of a size that no record stands for are those of its sites. */
static void blocks_fit(const struct pin_rows *pins, const struct pin_class *class)
{
    double seen = 0, unseen = 0;
    for (size_t i = 0; i < pins->rows.count; i++) {
        const struct pin_row *row = (struct pin_row *)pins->rows.items + i;
        if (row->size == class->size) {
            seen += row->seen;
            unseen += row->blocks - row->seen;
        }
    }
    double factor = unseen > 0 && class->live > seen ? (class->live - seen) / unseen : 0;
    for (size_t i = 0; i < pins->rows.count; i++) {
        struct pin_row *row = (struct pin_row *)pins->rows.items + i;
        if (row->size == class->size && is_estimate(row))
            row_scale(row, (row->seen + factor * (row->blocks - row->seen)) / row->blocks);
    }
}

static void bytes_fit(const struct pin_rows *pins, const struct pin_class *class)
{
    double known = 0, estimate = 0;
    for (size_t i = 0; i < pins->rows.count; i++) {
        const struct pin_row *row = (struct pin_row *)pins->rows.items + i;
        if (row->size == class->size)
            *(is_estimate(row) ? &estimate : &known) += row->bytes;
    }
    if (estimate <= 0 || class->bytes <= known)
        return;
    double factor = (class->bytes - known) / estimate;
    for (size_t i = 0; i < pins->rows.count; i++) {
        struct pin_row *row = (struct pin_row *)pins->rows.items + i;
        if (row->size != class->size || !is_estimate(row))
            continue;
        row->bytes = fmax(row->bytes * factor, row->held);
        row->alone = fmin(row->alone * factor, row->bytes);
    }
}

bool pin_rows_end(struct pin_rows *pins, struct profile *profile)
{
    static const struct {
        const char *name, *unit;
    } columns[PIN_COLUMNS] = {
        {TYPE_PINNED_OBJECTS, "count"}, {TYPE_PINNED_HELD, "bytes"},  {TYPE_PINNED_SPACE, "bytes"},
        {TYPE_PINNED_SPARSE, "bytes"},  {TYPE_PINNED_ALONE, "bytes"},
    };
    if (!profile->pins.known || profile->failed)
        return false;
    for (size_t i = 0; profile->counted && i < pins->classes.count; i++) {
        const struct pin_class *class = (struct pin_class *)pins->classes.items + i;
        blocks_fit(pins, class);
        bytes_fit(pins, class);
    }
    double known = 0;
    for (size_t i = 0; i < pins->rows.count; i++) {
        const struct pin_row *row = (struct pin_row *)pins->rows.items + i;
        known += row->size > 0 ? row->bytes : 0;
    }
    double rest = (double)profile->pins.spans_space - known;
    profile->pins.unknown_space = rest > 0 ? (int64_t)rest : 0;
    for (unsigned i = 0; i < PIN_COLUMNS; i++)
        pins->columns[i] = profile_type(profile, columns[i].name, columns[i].unit);
    return !profile->failed;
}

void pin_rows_add(const struct pin_rows *pins, struct profile *profile, const struct pin_row *row,
                  uint32_t stack, uint32_t label_set)
{
    const double values[PIN_COLUMNS] = {
        row->blocks, row->held, row->bytes, row->fill < SPARSE_FILLS ? row->bytes : 0, row->alone,
    };
    size_t sample = profile_sample(profile, stack, label_set);
    struct profile_samples *samples = &profile->samples;
    if (profile->failed)
        return;
    for (unsigned i = 0; i < PIN_COLUMNS; i++)
        samples->values[pins->columns[i]][sample] = capture_value((uint64_t)(values[i] + 0.5));
    if (samples->weights)
        samples->weights[sample] = (float)(row->blocks / row->seen);
    if (samples->scales)
        samples->scales[sample] = (struct profile_scale){1, 1, 0, 0};
}

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
    *class = (struct pin_class){.size = capture_next(part)};
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

static int compare_sizes(const void *left, const void *right)
{
    uint64_t a = ((const struct pin_class *)left)->size;
    uint64_t b = ((const struct pin_class *)right)->size;
    return (a > b) - (a < b);
}

/* NULL: nothing was counted for the row's size. The classes are in order. */
static struct pin_class *class_of(const struct pin_rows *pins, const struct pin_row *row)
{
    struct pin_class key = {.size = row->size};
    return pins->classes.count == 0
               ? NULL
               : bsearch(&key, pins->classes.items, pins->classes.count, sizeof key, compare_sizes);
}

/* The live blocks of a size that no record stands for are those of its sites. */
static void blocks_fit(const struct pin_rows *pins)
{
    struct pin_row *rows = pins->rows.items;
    for (size_t i = 0; i < pins->rows.count; i++) {
        struct pin_class *class = class_of(pins, &rows[i]);
        if (class == NULL)
            continue;
        class->seen += rows[i].seen;
        class->unseen += rows[i].blocks - rows[i].seen;
    }
    for (size_t i = 0; i < pins->rows.count; i++) {
        const struct pin_class *class = class_of(pins, &rows[i]);
        if (class == NULL || !is_estimate(&rows[i]))
            continue;
        double seen = class->seen, unseen = class->unseen;
        double factor = unseen > 0 && class->live > seen ? (class->live - seen) / unseen : 0;
        row_scale(&rows[i],
                  (rows[i].seen + factor * (rows[i].blocks - rows[i].seen)) / rows[i].blocks);
    }
}

static void bytes_fit(const struct pin_rows *pins)
{
    struct pin_row *rows = pins->rows.items;
    for (size_t i = 0; i < pins->rows.count; i++) {
        struct pin_class *class = class_of(pins, &rows[i]);
        if (class != NULL)
            *(is_estimate(&rows[i]) ? &class->estimate : &class->known) += rows[i].bytes;
    }
    for (size_t i = 0; i < pins->rows.count; i++) {
        const struct pin_class *class = class_of(pins, &rows[i]);
        if (class == NULL || !is_estimate(&rows[i]) || class->estimate <= 0 ||
            class->bytes <= class->known)
            continue;
        double factor = (class->bytes - class->known) / class->estimate;
        rows[i].bytes = fmax(rows[i].bytes * factor, rows[i].held);
        rows[i].alone = fmin(rows[i].alone * factor, rows[i].bytes);
    }
}

bool pin_rows_end(struct pin_rows *pins, struct profile *profile)
{
    static const struct {
        const char *name;
        enum value_unit unit;
    } columns[PIN_COLUMNS] = {
        {TYPE_PINNED_OBJECTS, UNIT_COUNT}, {TYPE_PINNED_HELD, UNIT_BYTES},
        {TYPE_PINNED_SPACE, UNIT_BYTES},   {TYPE_PINNED_SPARSE, UNIT_BYTES},
        {TYPE_PINNED_ALONE, UNIT_BYTES},
    };
    if (!profile->pins.known || profile->failed)
        return false;
    if (profile->counted && pins->classes.count > 0) {
        qsort(pins->classes.items, pins->classes.count, sizeof(struct pin_class), compare_sizes);
        blocks_fit(pins);
        bytes_fit(pins);
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

/* SPDX-License-Identifier: MIT */
/*
 * See lib/window/sizes.h. Fills the tables once, at the start: the sizes of the classes, the class
 * of each size, and how long a span of each class is, so that little is left over at its end.
 */
#include "lib/window/sizes.h"

enum {
    SPAN_SMALL_UNITS = 8,   /* spans of small blocks: up to 32 KiB */
    SPAN_MIDDLE_UNITS = 16, /* of middle ones: up to 64 KiB */
    SPAN_PAGED_UNITS = 32,  /* of larger ones: up to 128 KiB */
    STEP_UNITS = 4,         /* a line of the coarse table of live blocks (arena.h) */
    STEP_FROM = 256,        /* bytes: blocks that have their bytes there, */
    STEP_BELOW = 16 << 10,  /* and several in a line of them */
    TAIL_BYTES = 512,       /* of a span of such blocks: none begins there (arena.h) */
};

struct size_class size_classes[CLASS_COUNT];
uint8_t size_small_class[SMALL_GRANULES + 1];
uint8_t size_coarse_class[COARSE_COUNT];
struct size_bounds size_bounds[MARK_COUNT];
uint16_t size_usable[MARK_COUNT];

static uint16_t asked_units[CLASS_COUNT]; /* 0: as is best */

static size_t size_of_class(unsigned class);

unsigned sizes_blocks(const struct size_class *c, size_t units)
{
    size_t bytes = units * UNIT, max = bytes / c->size;
    size_t begin = c->step == 1 ? max : (bytes - TAIL_BYTES - 1) / c->size + 1;
    max = begin < max ? begin : max;
    return (unsigned)(max < c->blocks_max ? max : c->blocks_max);
}

/* The length that wastes least at its end; of equals the longest. */
static unsigned units_for(const struct size_class *c)
{
    size_t size = c->size, best_waste = 0;
    unsigned longest = size <= SMALL_MAX    ? SPAN_SMALL_UNITS
                       : size <= MIDDLE_MAX ? SPAN_MIDDLE_UNITS
                                            : SPAN_PAGED_UNITS;
    unsigned best = 0;
    for (unsigned units = c->units_min; units <= longest; units += c->step) {
        size_t bytes = (size_t)units * UNIT, blocks = sizes_blocks(c, units);
        if (blocks > SPAN_BLOCKS_MAX)
            break;
        size_t waste = (bytes - blocks * size) * 1024 / bytes; /* in 1/1024 */
        if (best == 0 || waste <= best_waste) {
            best = units;
            best_waste = waste;
        }
    }
    return best;
}

/* table[i]: the class for i * step bytes. */
static void table_fill(uint8_t *table, size_t count, size_t step)
{
    for (size_t i = 1, class = 1; i < count; i++) {
        while (size_classes[class].size < i * step)
            class ++;
        table[i] = (uint8_t) class;
    }
}

static void bounds_fill(void)
{
    for (unsigned mark = 0; mark < MARK_COUNT; mark++) {
        bool classless = mark == MARK_FREE || mark == MARK_LARGE || mark == MARK_WATCHED;
        unsigned class = classless ? 0 : mark_class(mark);
        size_t min = sizes_min(class);
        size_bounds[mark].min = min;
        size_bounds[mark].more = classless ? SIZE_MAX : class_size(class) - min;
        size_usable[mark] = (uint16_t)(classless ? 0 : class_size(class));
    }
}

void sizes_close_bounds(void)
{
    for (unsigned mark = 0; mark < MARK_COUNT; mark++)
        size_bounds[mark] = (struct size_bounds){SIZE_MAX, 0};
}

size_t sizes_min(unsigned class)
{
    return class <= 1 ? 0 : class_size(class - 1) + 1;
}

/* As near as can be: a span has one block at least, and SPAN_BLOCKS_MAX at most. Where its length
 * must be a multiple of something, what is too much is never touched. */
static void span_as_asked(struct size_class *c, size_t units)
{
    size_t max = (size_t)SPAN_BLOCKS_MAX * c->size / UNIT, min = units_of(c->size);
    units = units > max && max >= min ? max : units < min ? min : units;
    c->units_min = c->units_max = (uint16_t)((units + c->step - 1) / c->step * c->step);
    c->blocks_max = (uint16_t)(units * UNIT / c->size);
}

void sizes_ask(size_t from, size_t to, size_t units)
{
    units = units < UINT16_MAX / 2 ? units : UINT16_MAX / 2;
    for (unsigned class = 1; class < CLASS_COUNT; class ++)
        if (size_of_class(class) >= from && size_of_class(class) <= to)
            asked_units[class] = (uint16_t)units;
}

static size_t size_of_class(unsigned class)
{
    if (class <= CLASS_FINE_LAST)
        return (size_t) class * GRANULE;
    if (class <= CLASS_SMALL_LAST) {
        unsigned step = class - CLASS_FINE_LAST - 1;
        size_t base = (size_t)FINE_MAX << (step / 8);
        return base + base / 8 * (step % 8 + 1);
    }
    if (class <= CLASS_MIDDLE_LAST) {
        unsigned step = class - CLASS_SMALL_LAST - 1;
        size_t base = (size_t)SMALL_MAX << (step / 4);
        return base + base / 4 * (step % 4 + 1);
    }
    if (class <= CLASS_PAGED_LAST)
        return MIDDLE_MAX + (size_t)(class - CLASS_MIDDLE_LAST) * PAGED_STEP;
    return PAGED_MAX + (size_t)(class - CLASS_PAGED_LAST) * UNIT;
}

size_t sizes_span(const struct size_class *c)
{
    size_t bytes = (size_t)c->units_min << UNIT_SHIFT;
    size_t used = (size_t)units_of(c->blocks_max * (size_t)c->size) << UNIT_SHIFT;
    return c->blocks_max <= SPAN_BLOCKS_MAX && used < bytes ? used : bytes;
}

void sizes_init(void)
{
    for (unsigned class = 1; class < CLASS_COUNT; class ++) {
        struct size_class *c = &size_classes[class];
        c->size = (uint32_t)size_of_class(class);
        uint64_t granules = c->size / GRANULE;
        c->inverse = (uint32_t)(((UINT64_C(1) << 31) + granules - 1) / granules);
        c->step = c->size < STEP_FROM || c->size >= STEP_BELOW ? 1 : STEP_UNITS;
        c->units_min = (uint16_t)((units_of(c->size) + c->step - 1) / c->step * c->step);
        c->blocks_max = SPAN_BLOCKS_MAX + 1;
        c->units_max = (uint16_t)units_for(c);
        if (unlikely(asked_units[class] != 0))
            span_as_asked(c, asked_units[class]);
    }
    table_fill(size_small_class, COUNT_OF(size_small_class), GRANULE);
    table_fill(size_coarse_class, COUNT_OF(size_coarse_class), (size_t)1 << COARSE_SHIFT);
    bounds_fill();
}

/* Blocks lie at multiples of their size from a unit's start. */
size_t sizes_room(size_t size, size_t align)
{
    size = size == 0 ? 1 : size;
    if (likely(align <= GRANULE))
        return size;
    size_t rounded = (size + align - 1) & ~(align - 1);
    if (align > UNIT || rounded < size || rounded > BLOCK_MAX)
        return BLOCK_MAX + 1;
    unsigned class = class_of(rounded);
    while (class < CLASS_COUNT && class_size(class) % align != 0)
        class ++;
    return class < CLASS_COUNT ? class_size(class) : BLOCK_MAX + 1;
}

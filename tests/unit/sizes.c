/* SPDX-License-Identifier: MIT */
/*
 * Sizes and classes: each size gets the smallest class that holds it, the classes are those that
 * sizes.h promises, spans are neither too long nor cut into too many blocks, and division by
 * multiplying is exact for every byte of a span. The checkers count faults; at the end they must
 * find planted ones.
 */
#include "tests/unit/unit.h"

#include "lib/alloc/central.h"
#include "lib/window/sizes.h"
#include "lib/window/span.h"

static unsigned sizes_without_the_smallest_class_that_fits(void)
{
    unsigned faults = 0;
    for (size_t size = 1; size <= BLOCK_MAX; size++) {
        unsigned class = class_of(size);
        faults += class == 0 || class >= CLASS_COUNT || class_size(class) < size ||
                  class_size(class - 1) >= size;
    }
    return faults;
}

static unsigned classes_other_than_promised(void)
{
    unsigned faults = 0, class = 1;
    size_t size = 0;
    while (size < BLOCK_MAX) {
        size_t step = GRANULE;
        if (size >= 8192)
            step = 4096;
        else if (size >= 4096) /* eight a doubling */
            step = 512;
        else if (size >= 1024) /* four a doubling */
            step = ((size_t)1 << (63 - __builtin_clzll(size))) / 4;
        else if (size >= 256) /* eight a doubling */
            step = ((size_t)1 << (63 - __builtin_clzll(size))) / 8;
        size += step;
        faults += class >= CLASS_COUNT || class_size(class) != size || class_of(size) != class;
        faults += size < BLOCK_MAX && class_of(size + 1) != class + 1;
        class ++;
    }
    return faults + (class != CLASS_COUNT);
}

static unsigned spans_of_a_wrong_length(void)
{
    unsigned faults = 0;
    for (unsigned class = 1; class < CLASS_COUNT; class ++) {
        const struct size_class *c = &size_classes[class];
        size_t min = c->units_min, max = c->units_max, blocks = sizes_blocks(c, max);
        faults += min * UNIT < c->size || (min - c->step) * UNIT >= c->size || max < min;
        faults += min % c->step != 0 || max % c->step != 0;
        faults += blocks > SPAN_BLOCKS_MAX || blocks * c->size > max * UNIT;
        faults += max > 8 && c->size <= SMALL_MAX;
        faults += max > (c->size <= MIDDLE_MAX ? 16 : 32);
        /* A 32nd may be lost at the end. */
        faults += (max * UNIT - blocks * c->size) * 32 > max * UNIT;
    }
    return faults;
}

/* Whatever begins right behind a span of a class, the bytes that tell which blocks live are in
 * another line than those of the span. `back` moves the tables. */
static unsigned spans_that_share_a_line(uintptr_t back)
{
    unsigned faults = 0;
    for (unsigned class = TINY_CLASSES + 1; class < CLASS_COUNT; class ++) {
        const struct size_class *c = &size_classes[class];
        uintptr_t table = (UINT64_C(1) << 40) + (c->size < 256 ? 6 : 8);
        for (size_t units = c->units_min; units <= c->units_max; units += c->step)
            for (uintptr_t at = 0; at < 16; at += c->step) {
                char *start = (char *)((UINT64_C(1) << 45) + at * UNIT);
                char *last = start + (sizes_blocks(c, units) - 1) * (size_t)c->size;
                uintptr_t byte = (uintptr_t)live_in(table, last) + back;
                uintptr_t next = (uintptr_t)live_in(table, start + units * UNIT) + back;
                faults += byte / LIVE_LINE >= next / LIVE_LINE;
            }
    }
    return faults;
}

/* Only addresses are computed: nothing needs to be mapped there. */
static unsigned bytes_with_a_wrong_index(uint32_t first)
{
    struct span span = {.first = first};
    unsigned faults = 0;
    window.base = UINT64_C(1) << 45;
    for (unsigned class = 1; class < CLASS_COUNT; class ++) {
        size_t size = class_size(class), bytes = (size_t)size_classes[class].units_max * UNIT;
        const char *start = span_start(&span);
        for (size_t at = 0; at < bytes; at++)
            faults += span_index(&span, start + at, class) != at / size;
        for (unsigned i = 0; i < bytes / size; i++)
            faults += span_block(&span, i, class) != start + i * size;
    }
    return faults;
}

static unsigned colours_of(unsigned class)
{
    return class <= TINY_CLASSES ? COLOURS : class <= CLASS_SMALL_LAST ? 2 : 1;
}

static void marks_are_distinct_and_know_their_class(void)
{
    bool seen[256] = {false};
    _Static_assert(MARK_COUNT <= 256, "a mark is a byte");
    _Static_assert(CENTRAL_COUNT <= 256, "a list of a pool is a byte");
    for (unsigned class = 1; class < CLASS_COUNT; class ++)
        for (unsigned colour = 0; colour < colours_of(class); colour++) {
            unsigned mark = mark_make(class, colour);
            assert(mark != MARK_FREE && mark != MARK_LARGE && mark != MARK_WATCHED);
            assert(mark < MARK_COUNT && !seen[mark]);
            assert(mark_class(mark) == class);
            seen[mark] = true;
        }
    for (unsigned class = TINY_CLASSES + 1; class < CLASS_COUNT; class ++)
        for (unsigned colour = 0; colour < COLOURS; colour++)
            assert(mark_make(class, colour) == mark_make(class, colour % colours_of(class)));
    for (unsigned mark = 1; mark < MARK_COUNT; mark++)
        assert(seen[mark] || mark == MARK_LARGE || mark == MARK_WATCHED);
}

static void units_round_up(void)
{
    assert(units_of(0) == 0 && units_of(1) == 1 && units_of(UNIT) == 1 && units_of(UNIT + 1) == 2);
    assert(units_of((size_t)1 << 40) == (size_t)1 << 28);
}

static void planted_faults_are_found(void)
{
    size_small_class[7]++;
    assert(sizes_without_the_smallest_class_that_fits() > 0);
    size_small_class[7]--;
    size_classes[40].size += GRANULE;
    assert(classes_other_than_promised() > 0);
    size_classes[40].size -= GRANULE;
    size_classes[3].units_max *= 2;
    assert(spans_of_a_wrong_length() > 0);
    size_classes[3].units_max /= 2;
    assert(spans_that_share_a_line(LIVE_BACK) > 0);
    size_classes[9].inverse--; /* rounded down instead of up */
    assert(bytes_with_a_wrong_index(1) > 0);
    size_classes[9].inverse++;
}

int main(void)
{
    sizes_init();
    assert(sizes_without_the_smallest_class_that_fits() == 0);
    assert(classes_other_than_promised() == 0);
    assert(spans_of_a_wrong_length() == 0);
    assert(spans_that_share_a_line(0) == 0);
    assert(bytes_with_a_wrong_index(1) == 0);
    assert(bytes_with_a_wrong_index(UINT32_C(0x7fffff00)) == 0);
    marks_are_distinct_and_know_their_class();
    units_round_up();
    planted_faults_are_found();
    return 0;
}

/* SPDX-License-Identifier: MIT */
/* Large blocks: aligned as asked, resized where they are, moved without a copy, and span_find. */
#include "lib/alloc/large.h"

#include "tests/unit/unit.h"

#include "base/os.h"

static void *taken(size_t size, size_t align)
{
    bool zero;
    void *block = large_take(0, size, align, &zero);
    assert(block != NULL && (uintptr_t)block % align == 0);
    struct span *span = span_of(block);
    assert(span->state == SPAN_LARGE && span_start(span) == block);
    assert(large_size(span) >= size && large_size(span) - size < UNIT);
    if (zero)
        for (size_t i = 0; i < size; i += UNIT / 2)
            assert(((char *)block)[i] == 0);
    *live_at(block) = live_sign(block);
    return block;
}

static void give(void *block)
{
    *live_at(block) = 0;
    large_give(span_of(block));
}

static void blocks_are_aligned_and_whole(void)
{
    for (size_t align = GRANULE; align <= 64 << 20; align *= 2)
        for (size_t size = 1; size <= 1 << 20; size = size * 7 + 1) {
            char *block = taken(size, align), *other = taken(size, align);
            memset(block, 'l', size);
            memset(other, 'm', size);
            assert(block[size - 1] == 'l' && other[0] == 'm');
            give(block);
            give(other);
        }
    assert(unit_faults() == 0);
}

static void impossible_blocks_are_refused(void)
{
    bool zero;
    assert(large_take(0, SIZE_MAX, GRANULE, &zero) == NULL);
    assert(large_take(0, PTRDIFF_MAX, GRANULE, &zero) == NULL);
    assert(large_take(0, (size_t)1 << 43, GRANULE, &zero) == NULL);
    assert(large_take(0, 1, (size_t)1 << 63, &zero) == NULL);
    assert(large_take(0, 1, (size_t)1 << 43, &zero) == NULL);
    assert(unit_faults() == 0);
}

static void blocks_grow_and_shrink_in_place(void)
{
    enum { LONG = 104 * UNIT }; /* a length that runs have */
    alloc_purge(SIZE_MAX);      /* one clean run, in which blocks follow each other */
    char *block = taken(40000, GRANULE);
    struct span *span = span_of(block);
    memset(block, 'k', 40000);
    assert(large_resize(span, LONG) && large_size(span) == LONG);
    assert(span_of(block + large_size(span) - 1) == span);
    char *wall = taken(40000, GRANULE);
    assert(wall == block + large_size(span)); /* right behind it */
    assert(!large_resize(span, 10 * LONG) && large_size(span) == LONG);
    assert(!large_resize(span, SIZE_MAX / 2));
    assert(large_resize(span, 50000) && large_size(span) == units_of(50000) * UNIT);
    assert(large_resize(span, 50000) && large_resize(span, 60000));
    for (int i = 0; i < 40000; i++)
        assert(block[i] == 'k');
    give(wall);
    give(block);
    assert(unit_faults() == 0);
}

static void blocks_move_without_a_copy(void)
{
    char *from = taken(1 << 20, GRANULE), *to = taken(2 << 20, GRANULE);
    for (int i = 0; i < 1 << 20; i += 512)
        from[i] = (char)(i >> 12);
    bool moved = large_move(span_of(from), span_of(to)) == OS_MOVED;
    assert(moved || unit_emulated() || os_page_size() > UNIT);
    for (int i = 0; moved && i < 1 << 20; i += 512)
        assert(to[i] == (char)(i >> 12) && from[i] == 0);
    assert(span_of(from)->zero == moved);
    give(from); /* has no pages any more and knows it */
    char *again = taken(1 << 20, GRANULE);
    memset(again, 1, 1 << 20);
    memset(to, 1, 2 << 20);
    give(again);
    give(to);
    assert(unit_faults() == 0);
}

static void any_address_finds_its_span(void)
{
    char *block = taken(100000, GRANULE), *other = taken(100000, GRANULE);
    assert(span_find(block) == span_of(block) && span_find(block + 99999) == span_of(block));
    assert(span_find(block + 50001) == span_of(block) && span_find(other + 1) == span_of(other));
    give(block);
    assert(span_find(block) == NULL && span_find(block + 50000) == NULL);
    assert(span_find(other + 99999) == span_of(other));
    give(other);
    assert(span_find(NULL) == NULL && span_find(&block) == NULL && span_find((void *)-1) == NULL);
    assert(span_find((void *)window.base) == NULL);
    assert(span_find((char *)window.base + window.granules * GRANULE) == NULL);
}

int main(void)
{
    unit_start();
    blocks_are_aligned_and_whole();
    impossible_blocks_are_refused();
    blocks_grow_and_shrink_in_place();
    blocks_move_without_a_copy();
    any_address_finds_its_span();
    return 0;
}

/* SPDX-License-Identifier: MIT */
/* A set keeps what it is given, also when whoever moves its index does not get on. */
#include "tests/unit/unit.h"

#include "lib/watch/table.h"

enum { KEYS = 20000 };

static uint32_t slabs[TABLE_SLABS];
static struct table table = {
    .entry_bytes = sizeof(struct table_entry), .slab_shift = 8, .count = 1, .slabs = slabs};
static uint32_t numbers[KEYS];

static uint32_t add(uint64_t key, bool *fresh)
{
    return table_add(&table, key, 1, UINT64_MAX, fresh);
}

static void a_mover_that_stays_behind_keeps_nobody_out(void)
{
    bool fresh;
    unsigned behind = 0;
    for (uint64_t i = 0; i < KEYS; i++) {
        unsigned newest = table.newest;
        numbers[i] = add(i + 1, &fresh);
        assert(numbers[i] != 0 && fresh);
        if (table.newest != newest) { /* as if all of it were still to be moved */
            uint64_t *index = meta_at(table.indexes[table.newest]);
            for (size_t k = 0; k < (size_t)1 << (8 + 2 * table.newest); k++)
                if ((uint32_t)index[k] != numbers[i])
                    index[k] = 0;
            table.moved = newest;
            behind++;
        }
    }
    assert(behind >= 3);
}

static void all_are_found_again(void)
{
    bool fresh;
    for (uint64_t i = 0; i < KEYS; i++)
        assert(add(i + 1, &fresh) == numbers[i] && !fresh);
}

/* Many threads at once may pass the check that keeps an index from filling up. */
static void an_index_without_a_free_slot_refuses(void)
{
    static uint32_t more_slabs[TABLE_SLABS];
    struct table full = {.entry_bytes = sizeof(struct table_entry),
                         .slab_shift = 8,
                         .count = 1,
                         .slabs = more_slabs};
    bool fresh;
    assert(table_add(&full, 1, 1, UINT64_MAX, &fresh) != 0 && fresh);
    uint64_t *index = meta_at(full.indexes[0]);
    for (size_t k = 0; k < 256; k++)
        index[k] = index[k] == 0 ? 1 : index[k];
    for (uint64_t key = 2; key < 50; key++)
        assert(table_add(&full, key, 1, UINT64_MAX, &fresh) == 0 && !fresh);
    assert(table_add(&full, 1, 1, UINT64_MAX, &fresh) != 0 && !fresh);
}

int main(void)
{
    unit_start();
    alarm(60);
    an_index_without_a_free_slot_refuses();
    a_mover_that_stays_behind_keeps_nobody_out();
    all_are_found_again();
    return 0;
}

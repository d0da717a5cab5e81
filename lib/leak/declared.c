/* SPDX-License-Identifier: MIT */
/* See lib/leak/declared.h. Nothing is ever removed from the table: what no longer counts is in
 * force 0 times. */
#include "lib/leak/declared.h"

#include "base/compiler.h"
#include "lib/alloc/alloc.h"
#include "lib/leak/blocks.h"
#include "lib/watch/watch.h"

enum { OF_BLOCK = 0, OF_RANGE = 1, OF_OTHER = 2 }; /* of ranges, all odd numbers */

struct declared {
    struct table_entry entry; /* a: the address; b: a block, or a range and its length */
    uint32_t times;           /* it is in force */
    uint32_t site;            /* of the block's record, */
    uint64_t born;            /* and when it was allocated; 0 and 0: it had none */
    size_t size;
    uint64_t unused[3];
};
_Static_assert(sizeof(struct declared) == 64, "slabs of them are powers of two");

static BULK uint32_t slabs[TABLE_SLABS];
static struct table table = {
    .entry_bytes = sizeof(struct declared), .slab_shift = 6, .count = 1, .slabs = slabs};

static struct declared *find(const void *start, uint32_t kind);
static uint32_t range_kind(size_t size);
static void identity(const void *block, uint32_t *site, uint64_t *born);
static bool is_block(const void *block);
static bool is_same(const struct declared *declared);

bool declared_ignore(const void *block)
{
    struct declared *found = is_block(block) ? find(block, OF_BLOCK) : NULL;
    if (found == NULL)
        return false;
    identity(block, &found->site, &found->born);
    store_release(&found->times, 1);
    return true;
}

bool declared_ignore_end(const void *block)
{
    struct declared *found = is_block(block) ? find(block, OF_BLOCK) : NULL;
    return found != NULL && __atomic_exchange_n(&found->times, 0, __ATOMIC_ACQ_REL) != 0;
}

bool declared_ignore_other(const void *block)
{
    struct declared *found = find(block, OF_OTHER);
    if (found != NULL)
        store_release(&found->times, 1);
    return found != NULL;
}

bool declared_ignore_other_end(const void *block)
{
    struct declared *found = find(block, OF_OTHER);
    return found != NULL && __atomic_exchange_n(&found->times, 0, __ATOMIC_ACQ_REL) != 0;
}

bool declared_root(const void *start, size_t size)
{
    struct declared *found = size == 0 ? NULL : find(start, range_kind(size));
    if (found == NULL)
        return false;
    store_relaxed(&found->size, size);
    __atomic_fetch_add(&found->times, 1, __ATOMIC_RELEASE);
    return true;
}

bool declared_root_end(const void *start, size_t size)
{
    struct declared *found = size == 0 ? NULL : find(start, range_kind(size));
    uint32_t times = found == NULL ? 0 : load_acquire(&found->times);
    while (times > 0 && !__atomic_compare_exchange_n(&found->times, &times, times - 1, false,
                                                     __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        ;
    return times > 0;
}

void declared_each(void (*visit)(void *context, uintptr_t start, size_t size), void *context)
{
    for (uint32_t id = 1; id < table_count(&table); id++) {
        const struct declared *declared = table_at(&table, id);
        bool range = (declared->entry.b & OF_RANGE) != 0;
        if (load_acquire(&declared->entry.a) == 0 || load_acquire(&declared->times) == 0)
            continue;
        if (range || declared->entry.b == OF_OTHER || is_same(declared))
            visit(context, (uintptr_t)declared->entry.a, range ? declared->size : 0);
    }
}

void declared_recover(void)
{
    table_recover(&table);
}

static struct declared *find(const void *start, uint32_t kind)
{
    bool fresh;
    if (start == NULL)
        return NULL;
    uint32_t id = table_add(&table, (uint64_t)(uintptr_t)start, kind, UINT64_MAX, &fresh);
    return id == 0 ? NULL : table_at(&table, id);
}

static uint32_t range_kind(size_t size)
{
    return OF_RANGE | (uint32_t)size << 1;
}

/* What tells a block from the next one at its address. */
static void identity(const void *block, uint32_t *site, uint64_t *born)
{
    *site = 0;
    *born = 0;
    if (mark_of(block) != MARK_WATCHED)
        return;
    const struct record *record = central_record(span_of(block), block);
    if (record == NULL)
        return;
    *site = record->site;
    *born = record_born(record);
}

static bool is_block(const void *block)
{
    uintptr_t offset = (uintptr_t)block - window.base;
    return offset < load_acquire(&window.granules) * GRANULE && offset % GRANULE == 0 &&
           mark_of(block) != MARK_FREE;
}

static bool is_same(const struct declared *declared)
{
    const void *block = (const void *)(uintptr_t)declared->entry.a;
    uint32_t site;
    uint64_t born;
    if (!is_block(block))
        return false;
    identity(block, &site, &born);
    return site == declared->site && born == declared->born;
}

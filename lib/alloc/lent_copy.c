/* SPDX-License-Identifier: MIT */
/* Extents with live blocks, copied for a caller that looks at them one by one without the lock. */
#include "base/compiler.h"
#include "base/os.h"
#include "lib/alloc/lent.h"

static struct extent *list_at(const struct lender *lender, unsigned list);
static bool lives(const struct extent *extent);

struct extent *lent_copies(struct lender *lender, size_t *count)
{
    size_t room = 0, put = 0;
    struct extent *copies = NULL;
    lock_take(&lent_lock);
    for (unsigned list = 0; list < CLASS_COUNT; list++)
        for (const struct extent *at = list_at(lender, list); at != NULL; at = at->next)
            room += lives(at);
    if (room != 0)
        copies = os_map(room * sizeof *copies);
    for (unsigned list = 0; copies != NULL && list < CLASS_COUNT; list++)
        for (const struct extent *at = list_at(lender, list); at != NULL; at = at->next)
            if (lives(at))
                copies[put++] = *at;
    lock_give(&lent_lock);
    *count = put;
    return copies;
}

bool extent_block(const struct extent *extent, unsigned number, void **block)
{
    if (extent->state == EXTENT_LARGE) {
        *block = extent->start;
        return number == 0;
    }
    *block = extent->start + (size_t)number * class_size(extent->class);
    return number < extent->blocks && !(extent->bits[number / 64] >> (number % 64) & 1);
}

/* Of the lists that hold such extents, the first is that of large blocks and full slabs. */
static struct extent *list_at(const struct lender *lender, unsigned list)
{
    return list == 0 ? lender->used : lender->slabs[list];
}

static bool lives(const struct extent *extent)
{
    return extent->state == EXTENT_LARGE || extent->free < extent->blocks;
}

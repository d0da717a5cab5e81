/* SPDX-License-Identifier: MIT */
/* See lib/control/leaks_declared.h. */
#include "lib/control/leaks_declared.h"

#include "lib/api/api.h"
#include "lib/guard/guard.h"
#include "lib/leak/leak.h"

static const void *own_start(const void *block);

bool leaks_block_at(uintptr_t address, struct found *block)
{
    uint32_t number = cells_own((const void *)address) ? cells_inside(address) : 0;
    const struct cell *cell = number == 0 ? NULL : cells_live(number);
    if (cell == NULL)
        return block_at(address, block);
    *block = (struct found){cell->start, cell->size, number};
    return true;
}

bool leaks_ignore(const void *block)
{
    if (!cold_begin(NULL))
        return false;
    bool did = !cells_own(block)
                   ? declared_ignore(own_start(block))
                   : cells_inside((uintptr_t)block) != 0 && declared_ignore_other(block);
    cold_end();
    return did;
}

bool leaks_ignore_end(const void *block)
{
    if (!cold_begin(NULL))
        return false;
    bool did =
        cells_own(block) ? declared_ignore_other_end(block) : declared_ignore_end(own_start(block));
    cold_end();
    return did;
}

bool leaks_root(const void *start, size_t size)
{
    if (!cold_begin(NULL))
        return false;
    bool did = declared_root(start, size);
    cold_end();
    return did;
}

bool leaks_root_end(const void *start, size_t size)
{
    if (!cold_begin(NULL))
        return false;
    bool did = declared_root_end(start, size);
    cold_end();
    return did;
}

/* A debugged block begins behind the start of the allocator's. */
static const void *own_start(const void *block)
{
    struct found found;
    return guard_debug && block_at((uintptr_t)block, &found) ? (const void *)found.start : block;
}

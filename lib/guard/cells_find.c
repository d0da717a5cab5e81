/* SPDX-License-Identifier: MIT */
/*
 * From an address or a number to its cell, and what a cell's pages show. Nothing here takes the
 * lock: cells are never removed and lie in the order of their addresses, so that what was there
 * stays where it is. May run in a signal handler.
 */
#include "base/os.h"
#include "lib/guard/cells.h"
#include "lib/guard/margin.h"
#include "lib/guard/region.h"

struct cell *cells_at(uint32_t number)
{
    return number == 0 ? NULL : &region.cells[number];
}

bool cells_own(const void *p)
{
    return (uintptr_t)p - region.start < region.size;
}

struct cell *cells_near(uintptr_t address)
{
    uint32_t low = 1, high = load_acquire(&region.count);
    if (!cells_own((void *)address) || high == 1)
        return NULL;
    uint32_t page = (uint32_t)((address - region.start) / region.page_size);
    while (high - low > 1) { /* cells[low].page <= page, unless low is the first */
        uint32_t middle = low + (high - low) / 2;
        if (region.cells[middle].page <= page)
            low = middle;
        else
            high = middle;
    }
    struct cell *cell = &region.cells[low],
                *next = low + 1 < load_acquire(&region.count) ? cell + 1 : NULL;
    if (cell->state == CELL_NONE)
        return NULL;
    if (page < cell->page + cell->run || cell->start == address || next == NULL ||
        next->state == CELL_NONE || cell->pages == 0)
        return cell;
    /* In the guard page behind the run: the one of both that lives, or else the nearer one. */
    bool here = cell->state == CELL_LIVE, there = next->state == CELL_LIVE;
    if (here != there)
        return here ? cell : next;
    return address - (cell->start + cell->size) > next->start - address ? next : cell;
}

const struct cell *cells_before(const struct cell *cell)
{
    return cell - region.cells > 1 ? cell - 1 : NULL;
}

const struct cell *cells_after(const struct cell *cell)
{
    return (uint32_t)(cell - region.cells) + 1 < load_acquire(&region.count) ? cell + 1 : NULL;
}

const uint8_t *cells_damage(const struct cell *cell)
{
    uint8_t *first = (uint8_t *)region_page(cell->data),
            *end = first + cell->pages * region.page_size;
    uint8_t *block = (uint8_t *)cell->start;
    if (cell->pages == 0 || cell->opened)
        return NULL;
    const uint8_t *behind = margin_damage(block + cell->size, end);
    return behind != NULL ? behind : margin_damage(first, block);
}

bool cells_touched(const struct cell *cell, uintptr_t address)
{
    return address - region_page(cell->page - 1) < (cell->run + 2) * region.page_size;
}

bool cells_open(struct cell *cell, uintptr_t address)
{
    void *at = (void *)(address & ~(uintptr_t)(region.page_size - 1));
    cell->opened = true;
    return (cell->marked && os_guard(at, region.page_size, false) && !cell->sealed) ||
           os_access(at, region.page_size, true);
}

bool cells_open_for_reads(uintptr_t address)
{
    void *at = (void *)(address & ~(uintptr_t)(region.page_size - 1));
    os_guard(at, region.page_size, false); /* fails where there is none */
    return os_protect(at, region.page_size, false);
}

void cells_each(void (*each)(void *context, struct cell *cell), void *context)
{
    uint32_t all = load_acquire(&region.count);
    for (uint32_t i = 1; i < all; i++)
        if (load_acquire(&region.cells[i].state) == CELL_LIVE)
            each(context, &region.cells[i]);
}

uint32_t cells_count(void)
{
    return load_acquire(&region.count);
}

uint64_t cells_made(void)
{
    /* Each cell has one guard page, and both counts begin at 1. */
    return (uint64_t)(load_relaxed(&region.pages_used) - load_relaxed(&region.count)) *
           region.page_size;
}

uint32_t cells_inside(uintptr_t address)
{
    const struct cell *cell = cells_near(address);
    if (cell == NULL || cell->state != CELL_LIVE ||
        address - cell->start >= (cell->size > 0 ? cell->size : 1))
        return 0;
    return (uint32_t)(cell - region.cells);
}

bool cells_range(uintptr_t *start, uintptr_t *end)
{
    *start = region.start;
    *end = region.start + region.size;
    return region.start != 0;
}

void cells_table(uintptr_t *start, uintptr_t *end)
{
    *start = (uintptr_t)region.cells;
    *end = *start + region_table_bytes();
}

size_t cells_resident(size_t parts_max)
{
    size_t bytes = (size_t)load_relaxed(&region.pages_used) * region.page_size;
    return os_resident((void *)region.start, bytes, parts_max);
}

size_t cells_table_resident(size_t parts_max)
{
    size_t bytes = (size_t)load_relaxed(&region.count) * sizeof *region.cells;
    return os_resident(region.cells, bytes, parts_max);
}

/* SPDX-License-Identifier: MIT */
/* What cells.c and cells_find.c share: where the pages and the cells are. cells.c alone writes it,
 * under `cells_lock`; `size` and `count` are read without it. */
#ifndef GUARD_REGION_H
#define GUARD_REGION_H

#include "lib/guard/cells.h"

enum { REGION_TABLE_PIECE = 1 << 20 }; /* of the table, made accessible at once */

struct region {
    uintptr_t start; /* 0: there is none */
    size_t size, page_size;
    struct cell *cells; /* by number; 0 is none */
    size_t cells_max;
    uint32_t count;      /* numbers handed out */
    uint32_t pages_used; /* the first page of the region is a guard */
};

extern HIDDEN struct region region;

INLINE uintptr_t region_page(uint32_t page)
{
    return region.start + (uintptr_t)page * region.page_size;
}

/* How long the reserved table of cells is: whole pieces. */
INLINE size_t region_table_bytes(void)
{
    return (region.cells_max * sizeof(struct cell) + REGION_TABLE_PIECE) &
           ~(size_t)(REGION_TABLE_PIECE - 1);
}

#endif

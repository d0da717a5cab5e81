/* SPDX-License-Identifier: MIT */
/* From an address to an extent of lent memory; behind `lent_lock`. */
#ifndef ALLOC_LENT_TABLE_H
#define ALLOC_LENT_TABLE_H

#include "lib/alloc/lent.h"

/* What an address is to its extent, in the low bits of the key: both ends of an extent
 * are whole pages. */
enum {
    KEY_PAGE = 0, /* a block may begin in this page */
    KEY_START,    /* an extent starts here, */
    KEY_END,      /* or ends */
    KEY_GONE,     /* an entry that was removed */
};

/* Room for `more` entries; false when memory is out. */
bool lent_table_reserve(size_t more);
/* There must be room. */
void lent_table_put(uintptr_t address, uintptr_t kind, struct extent *extent);
void lent_table_remove(uintptr_t address, uintptr_t kind);
/* NULL: there is none. */
struct extent *lent_table_find(uintptr_t address, uintptr_t kind);
/* Each extent, once. */
void lent_table_each(void (*each)(void *context, const struct extent *extent), void *context);

#endif

/* SPDX-License-Identifier: MIT */
/* See lib/control/leaks_by_stack.h. */
#include "lib/control/leaks_by_stack.h"

static void rows_sort(struct leaks_stack *rows, unsigned count, bool by_stack);

unsigned leaks_by_stack(struct leaks_stack *rows, unsigned count)
{
    unsigned kept = 0;
    rows_sort(rows, count, true); /* the rows of a stack side by side */
    for (unsigned i = 0; i < count; i++)
        if (kept > 0 && rows[kept - 1].stack == rows[i].stack &&
            rows[kept - 1].indirect == rows[i].indirect) {
            rows[kept - 1].bytes += rows[i].bytes;
            rows[kept - 1].objects += rows[i].objects;
        } else {
            rows[kept++] = rows[i];
        }
    rows_sort(rows, kept, false);
    return kept;
}

static bool is_before(const struct leaks_stack *a, const struct leaks_stack *b, bool by_stack)
{
    if (a->indirect != b->indirect)
        return b->indirect;
    return by_stack || a->bytes == b->bytes ? a->stack < b->stack : a->bytes > b->bytes;
}

/* Shell's sort: qsort may allocate. */
static void rows_sort(struct leaks_stack *rows, unsigned count, bool by_stack)
{
    for (unsigned gap = count / 2; gap > 0; gap /= 2)
        for (unsigned i = gap; i < count; i++) {
            struct leaks_stack row = rows[i];
            unsigned at = i;
            for (; at >= gap && is_before(&row, &rows[at - gap], by_stack); at -= gap)
                rows[at] = rows[at - gap];
            rows[at] = row;
        }
}

/* SPDX-License-Identifier: MIT */
/* Lost blocks by stack, for the reports of other leak checkers. */
#ifndef CONTROL_LEAKS_BY_STACK_H
#define CONTROL_LEAKS_BY_STACK_H

#include <stdbool.h>
#include <stdint.h>

/* Lost blocks of one stack; direct and indirect ones apart where a report tells them apart. */
struct leaks_stack {
    uint32_t stack;
    bool indirect, suppressed;
    uint64_t bytes, objects;
};

/* Makes one row of all rows of a stack and kind; then direct ones come first, of those the largest.
 * Returns how many rows are left. */
unsigned leaks_by_stack(struct leaks_stack *rows, unsigned count);

#endif

/* SPDX-License-Identifier: MIT */
/* The calling thread's own stack, as far as it was found readable. */
#ifndef WATCH_OWN_STACK_H
#define WATCH_OWN_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

struct own_stack {
    uintptr_t low, high, floor; /* zeroed: nothing is known yet */
};

/* Whether all pages from `sp` to the stack's end can be read. They are tried from the end down,
 * some at each call. */
bool own_stack_look(struct own_stack *own, uintptr_t sp);

/* Whether `sp` is in it. False, too, where that would take long to find out: the next call knows
 * more. */
INLINE bool own_stack_has(struct own_stack *own, uintptr_t sp)
{
    return likely(sp >= own->low && sp < own->high) || own_stack_look(own, sp);
}

#endif

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

/* Whether all pages from `sp` to the end of the stack can be read. Each call tests a few more
 * pages, from the end down. */
bool own_stack_look(struct own_stack *own, uintptr_t sp);

/* Whether `sp` is on this stack. Also false where the answer would take long to find: the next call
 * knows more. */
INLINE bool own_stack_has(struct own_stack *own, uintptr_t sp)
{
    return likely(sp >= own->low && sp < own->high) || own_stack_look(own, sp);
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Alternate signal stacks that are blocks of the heap, and are freed while they are in use. Ruby
 * does that when it ends: no handler of its own comes any more, but ours do, on the freed block.
 * There the kernel ends the program if the block's pages are closed (guard:full, debug:on), and
 * otherwise our handlers write into what may be another block by then. So the free of such a block
 * is noticed: the thread has no alternate stack from then on.
 */
#ifndef PROCESS_SIGNAL_STACK_H
#define PROCESS_SIGNAL_STACK_H

#include <signal.h>
#include <stdbool.h>

#include "base/compiler.h"

/* How many blocks are kept in mind. */
extern HIDDEN unsigned signal_stacks;

/* The calling thread, which blocks all signals, has given the kernel this stack in the place of the
 * one that it had. */
void signal_stack_set(const stack_t *stack);
/* The block at p, which may be any, is about to be freed or moved. True if the calling thread has
 * no alternate stack any more because of that, and *was tells which one it had. */
bool signal_stack_leave_slow(void *p, stack_t *was);
/* The block was not moved: the thread has the stack again. */
void signal_stack_back(const stack_t *was);

/* Costs a load while there is no such stack. */
INLINE bool signal_stack_leave(void *p, stack_t *was)
{
    return unlikely(load_relaxed(&signal_stacks) != 0) && signal_stack_leave_slow(p, was);
}

INLINE void signal_stack_freed(void *p)
{
    stack_t was;
    signal_stack_leave(p, &was);
}

#endif

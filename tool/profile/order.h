/* SPDX-License-Identifier: MIT */
/*
 * Stacks in the order of their frames, first frame by first frame: those that begin alike lie side
 * by side, and a tree is a walk over them. Their frames need not be kept for that; a stack is
 * made when it is looked at, a few times each.
 *
 *      stack    shared       each place in the order: the number of a stack, and how many of its
 *      a b c    0            first frames the one before it has as well
 *      a b d e  2
 *      a f      1
 */
#ifndef PROFILE_ORDER_H
#define PROFILE_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The frames of a stack. They stay until the call after the next one. */
typedef const uint32_t *order_path(const void *context, uint32_t stack, uint32_t *count);

struct order {
    uint64_t *places; /* the stack, and above 32 bits what it shares */
    size_t count;
};

/* Of the stacks below `count`; `from_end`: the last frame is the first. False when memory is out.
 * Pair with order_free, always. */
bool order_make(struct order *order, size_t count, order_path *path, const void *context,
                bool from_end);
void order_free(struct order *order);

static inline uint32_t order_stack(const struct order *order, size_t place)
{
    return (uint32_t)order->places[place];
}

static inline uint32_t order_shared(const struct order *order, size_t place)
{
    return (uint32_t)(order->places[place] >> 32);
}

/* The end of the places from `first` on, up to `end`, that share `depth` frames and one more. */
static inline size_t order_run(const struct order *order, size_t first, size_t end, uint32_t depth)
{
    size_t at = first + 1;
    while (at < end && order_shared(order, at) > depth)
        at++;
    return at;
}

#endif

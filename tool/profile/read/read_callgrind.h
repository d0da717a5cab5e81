/* SPDX-License-Identifier: MIT */
/*
 * What a file of callgrind says (read_callgrind.c), for making stacks of it
 * (read_callgrind_stacks.c): functions with their own cost by line, and calls with the cost of all
 * that was done in them.
 */
#ifndef PROFILE_READ_READ_CALLGRIND_H
#define PROFILE_READ_READ_CALLGRIND_H

#include "tool/memory/memory.h"
#include "tool/profile/profile.h"

enum { COSTS_MAX = 8, CALLGRIND_NONE = UINT32_MAX };

struct callgrind_function {
    uint32_t function, mapping;      /* of the profile */
    uint32_t file;                   /* string: that of its name; other files are inlined in it */
    uint32_t first_self, first_call; /* lists; CALLGRIND_NONE ends them */
    /* Costs by event: its own, of the calls that it makes, and of the calls that others make of it.
     */
    double own[COSTS_MAX], called[COSTS_MAX], received[COSTS_MAX];
    double entered[COSTS_MAX]; /* by calls that are followed, and without a known caller */
    double reached[COSTS_MAX]; /* the share of `entered` that paths explain */
    bool callee;               /* of some call */
    bool met, open;            /* in the search for circles: seen, and on the path to the present */
};

struct callgrind_self {
    uint32_t location, next;
    int64_t costs[COSTS_MAX], told[COSTS_MAX]; /* told: what samples have of it already */
};

struct callgrind_call {
    uint32_t callee, next;
    uint32_t location; /* of the caller, where it calls */
    double costs[COSTS_MAX];
    bool taken; /* by the search for circles */
    bool back;  /* closes a circle: it is not followed */
};

struct callgrind {
    struct profile *profile;
    struct list functions, selves, calls;
    unsigned events;
    bool ours; /* written by memoir, which writes a call for every start of a function */
};

static inline struct callgrind_function *callgrind_function_at(const struct callgrind *callgrind,
                                                               uint32_t index)
{
    return (struct callgrind_function *)callgrind->functions.items + index;
}

static inline struct callgrind_call *callgrind_call_at(const struct callgrind *callgrind,
                                                       uint32_t index)
{
    return (struct callgrind_call *)callgrind->calls.items + index;
}

void callgrind_make_stacks(struct callgrind *callgrind);
/* Marks calls that close a circle, and fills in `entered` by all others. False when memory is
 * out. */
bool callgrind_find_circles(struct callgrind *callgrind);
/* The cost of a function that no call explains: it was started without a known caller. */
double callgrind_rest(const struct callgrind *callgrind, const struct callgrind_function *function,
                      unsigned event);
#endif

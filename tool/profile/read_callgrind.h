/* SPDX-License-Identifier: MIT */
/*
 * What a file of callgrind says (read_callgrind.c), for making stacks of it
 * (read_callgrind_stacks.c): functions with their own cost by line, and calls with the cost of all
 * that was done in them.
 */
#ifndef PROFILE_READ_CALLGRIND_H
#define PROFILE_READ_CALLGRIND_H

#include "tool/profile/model.h"

enum { COSTS_MOST = 8, CALLGRIND_NONE = UINT32_MAX };

struct callgrind_function {
    uint32_t function, mapping;      /* of the profile */
    uint32_t first_self, first_call; /* lists; CALLGRIND_NONE ends them */
    double own, called, received;    /* of the first event: itself, in its calls, in calls of it */
    bool open;                       /* it is on the path that is followed now */
};

struct callgrind_self {
    uint32_t location, next;
    int64_t costs[COSTS_MOST], told[COSTS_MOST]; /* told: what samples have of it already */
};

struct callgrind_call {
    uint32_t callee, next;
    uint32_t location; /* of the caller, where it calls */
    double cost;       /* of the first event */
};

struct callgrind {
    struct profile *profile;
    struct profile_list functions, selves, calls;
    unsigned events;
};

void callgrind_make_stacks(struct callgrind *callgrind);

#endif

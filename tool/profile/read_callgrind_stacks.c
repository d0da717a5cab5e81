/* SPDX-License-Identifier: MIT */
/*
 * callgrind does not keep stacks. It has what each function did itself, exactly, and for each pair
 * of caller and callee what all those calls cost. Stacks are put together from that: from every
 * function that somebody else than the known callers started, down along the calls, and the cost of
 * a function is shared among its callers in proportion to what they caused, as gprof does it.
 *
 * So a function's own cost is exact, its sum with what it called is exact where there is no
 * recursion, and which callee belongs to which caller's caller is a guess. What no path explains,
 * because it is too little to be followed or a recursion, stands without callers.
 */
#include "tool/profile/read_callgrind.h"

#include <math.h>
#include <stdlib.h>

enum { DEPTH_MOST = 256, SAMPLES_MOST = 1 << 20, STEPS_MOST = 1 << 22 };
static const double SHARE_LEAST = 1e-5; /* of all: less is not followed */

struct walk {
    struct callgrind *callgrind;
    double total;
    uint32_t callers[DEPTH_MOST]; /* locations, the outermost first */
    size_t depth, steps;
    uint32_t stack[DEPTH_MOST + 1];
};

static struct callgrind_function *function_at(const struct callgrind *callgrind, uint32_t index)
{
    return (struct callgrind_function *)callgrind->functions.items + index;
}

static void tell(struct walk *walk, struct callgrind_self *self, double share)
{
    struct profile *profile = walk->callgrind->profile;
    int64_t values[COSTS_MOST] = {0};
    bool any = false;
    for (unsigned i = 0; i < walk->callgrind->events; i++) {
        int64_t left = self->costs[i] - self->told[i];
        double part = round((double)self->costs[i] * share);
        values[i] = part < (double)left ? (int64_t)part : left;
        any |= values[i] > 0;
    }
    if (!any || profile->samples.count >= SAMPLES_MOST)
        return;
    walk->stack[0] = self->location;
    for (size_t i = 0; i < walk->depth; i++)
        walk->stack[1 + i] = walk->callers[walk->depth - 1 - i];
    size_t sample =
        profile_sample(profile, profile_stack(profile, walk->stack, (uint32_t)walk->depth + 1), 0);
    for (unsigned i = 0; i < walk->callgrind->events && !profile->failed; i++) {
        profile->samples.values[i][sample] = values[i];
        self->told[i] += values[i];
    }
}

/* `share` of all that this function did was on this path. */
static void follow(struct walk *walk, uint32_t index, double share)
{
    struct callgrind *callgrind = walk->callgrind;
    struct callgrind_function *function = function_at(callgrind, index);
    if (function->open || callgrind->profile->failed || ++walk->steps > STEPS_MOST)
        return;
    for (uint32_t at = function->first_self; at != CALLGRIND_NONE;) {
        struct callgrind_self *self = (struct callgrind_self *)callgrind->selves.items + at;
        tell(walk, self, share);
        at = self->next;
    }
    if (walk->depth == DEPTH_MOST)
        return;
    function->open = true;
    for (uint32_t at = function->first_call; at != CALLGRIND_NONE;) {
        const struct callgrind_call *call = (struct callgrind_call *)callgrind->calls.items + at;
        const struct callgrind_function *callee = function_at(callgrind, call->callee);
        double whole = callee->own + callee->called;
        at = call->next;
        if (whole < callee->received) /* in a recursion calls within calls count again */
            whole = callee->received;
        if (whole <= 0 || call->cost * share < walk->total * SHARE_LEAST)
            continue;
        walk->callers[walk->depth++] = call->location;
        follow(walk, call->callee, share * call->cost / whole);
        walk->depth--;
    }
    function->open = false;
}

void callgrind_make_stacks(struct callgrind *callgrind)
{
    struct walk *walk = calloc(1, sizeof *walk);
    if (!walk) {
        callgrind->profile->failed = true;
        return;
    }
    walk->callgrind = callgrind;
    for (size_t i = 0; i < callgrind->functions.count; i++)
        walk->total += function_at(callgrind, (uint32_t)i)->own;
    for (uint32_t i = 0; i < callgrind->functions.count; i++) {
        const struct callgrind_function *function = function_at(callgrind, i);
        double whole = function->own + function->called;
        if (whole > 0 && whole - function->received > whole * 1e-9)
            follow(walk, i, (whole - function->received) / whole);
    }
    walk->depth = 0;
    for (size_t i = 0; i < callgrind->selves.count; i++)
        tell(walk, (struct callgrind_self *)callgrind->selves.items + i, 1);
    free(walk);
}

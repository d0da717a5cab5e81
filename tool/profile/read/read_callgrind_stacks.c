/* SPDX-License-Identifier: MIT */
/*
 * callgrind does not keep stacks. It has what each function did itself, exactly, and for each
 * pair of caller and callee what all those calls cost. Stacks are put together from that: from
 * every function that was started without a known caller, down along the calls, and
 * the cost of a function is shared among its callers in proportion to what they caused, as
 * gprof does it; each event by its own costs.
 *
 * Calls that close a circle are not followed (read_callgrind_circles.c); what they cost is
 * shared by the other callers. Calls that are too little to be followed leave a part of a
 * function unexplained, so paths are walked twice: in the second walk those that reach it have
 * that part, too.
 *
 * So a function's own cost is exact, and its sum with what it called is that of the file where
 * there is no recursion: the file counts what calls itself again each time. Which callee
 * belongs to which caller's caller is a guess.
 */
#include "tool/profile/read/read_callgrind.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A graph of calls has more paths than any file has lines: these bound time and memory. */
enum { DEPTH_MAX = 256, SAMPLES_MAX = 1 << 19, STEPS_MAX = 1 << 21 };

/* Shares of all: calls that cost less are not followed. The first with which there are not too many
 * paths counts. */
static const double shares_min[] = {1e-8, 1e-7, 1e-6, 1e-5};

struct walk {
    struct callgrind *callgrind;
    double total[COSTS_MAX], carry[COSTS_MAX], min;
    bool counting;               /* the first walk: no samples yet */
    uint32_t callers[DEPTH_MAX]; /* locations, the outermost first */
    size_t depth, steps, samples;
    uint32_t stack[DEPTH_MAX + 1];
};

static void walk_all(struct walk *walk);
static void follow(struct walk *walk, uint32_t index, const double *shares);
static void tell_all(struct walk *walk, struct callgrind_function *function, const double *shares);
static void tell(struct walk *walk, struct callgrind_self *self, const double *shares);

void callgrind_make_stacks(struct callgrind *callgrind)
{
    static const double whole[COSTS_MAX] = {1, 1, 1, 1, 1, 1, 1, 1};
    struct walk *walk = calloc(1, sizeof *walk);
    if (!walk || !callgrind_find_circles(callgrind)) {
        callgrind->profile->failed = true;
        free(walk);
        return;
    }
    walk->callgrind = callgrind;
    for (uint32_t k = 0; k < callgrind->functions.count; k++)
        for (unsigned i = 0; i < callgrind->events; i++)
            walk->total[i] += callgrind_function_at(callgrind, k)->own[i];
    walk->counting = true;
    for (size_t i = 0; i < sizeof shares_min / sizeof *shares_min; i++) {
        for (uint32_t k = 0; k < callgrind->functions.count; k++)
            memset(callgrind_function_at(callgrind, k)->reached, 0, sizeof(double[COSTS_MAX]));
        walk->min = shares_min[i];
        walk_all(walk);
        if (walk->steps <= STEPS_MAX && walk->samples <= SAMPLES_MAX)
            break;
    }
    walk->counting = false;
    walk_all(walk);
    walk->depth = 0;
    memset(walk->carry, 0, sizeof walk->carry);
    for (size_t i = 0; i < callgrind->selves.count; i++)
        tell(walk, (struct callgrind_self *)callgrind->selves.items + i, whole);
    free(walk);
}

/* All paths, from functions whose cost no call explains. */
static void walk_all(struct walk *walk)
{
    struct callgrind *callgrind = walk->callgrind;
    walk->steps = walk->samples = walk->depth = 0;
    for (uint32_t k = 0; k < callgrind->functions.count; k++) {
        const struct callgrind_function *function = callgrind_function_at(callgrind, k);
        double shares[COSTS_MAX] = {0};
        bool starts = false;
        for (unsigned i = 0; i < callgrind->events; i++) {
            double rest = callgrind_rest(callgrind, function, i);
            starts |= rest > 0;
            shares[i] = rest > 0 ? rest / function->entered[i] : 0;
        }
        if (starts)
            follow(walk, k, shares);
    }
}

/* `shares` of all that this function did, by event, were on this path. */
static void follow(struct walk *walk, uint32_t index, const double *shares)
{
    struct callgrind *callgrind = walk->callgrind;
    struct callgrind_function *function = callgrind_function_at(callgrind, index);
    if (callgrind->profile->failed || ++walk->steps > STEPS_MAX || walk->samples > SAMPLES_MAX)
        return;
    tell_all(walk, function, shares);
    for (uint32_t at = function->first_call; at != CALLGRIND_NONE && walk->depth < DEPTH_MAX;) {
        const struct callgrind_call *call = callgrind_call_at(callgrind, at);
        const struct callgrind_function *callee = callgrind_function_at(callgrind, call->callee);
        double parts[COSTS_MAX] = {0};
        bool worth = false;
        at = call->next;
        for (unsigned i = 0; i < callgrind->events && !call->back; i++) {
            double whole = callee->entered[i];
            parts[i] = whole > 0 ? shares[i] * call->costs[i] / whole : 0;
            worth |= call->costs[i] * shares[i] > walk->total[i] * walk->min;
        }
        if (!worth)
            continue;
        walk->callers[walk->depth++] = call->location;
        follow(walk, call->callee, parts);
        walk->depth--;
    }
}

/* What a function did itself. */
static void tell_all(struct walk *walk, struct callgrind_function *function, const double *shares)
{
    struct callgrind *callgrind = walk->callgrind;
    double parts[COSTS_MAX];
    for (unsigned i = 0; i < callgrind->events; i++) {
        if (walk->counting)
            function->reached[i] += shares[i];
        parts[i] = function->reached[i] > 0 ? shares[i] / function->reached[i] : 0;
    }
    for (uint32_t at = function->first_self; at != CALLGRIND_NONE;) {
        struct callgrind_self *self = (struct callgrind_self *)callgrind->selves.items + at;
        walk->samples++;
        if (!walk->counting)
            tell(walk, self, parts);
        at = self->next;
    }
}

/* The part of a line that this path has. What rounding takes or adds goes to the next line that is
 * told, so that sums over parts of the walk, such as all below one call, are right. */
static void tell(struct walk *walk, struct callgrind_self *self, const double *shares)
{
    struct profile *profile = walk->callgrind->profile;
    int64_t values[COSTS_MAX] = {0};
    bool any = false;
    for (unsigned i = 0; i < walk->callgrind->events; i++) {
        int64_t left = self->costs[i] - self->told[i];
        double part = (double)self->costs[i] * shares[i] + walk->carry[i], rounded = round(part);
        values[i] = rounded <= 0 ? 0 : rounded < (double)left ? (int64_t)rounded : left;
        walk->carry[i] = part - (double)values[i];
        any |= values[i] > 0;
    }
    if (!any || profile->samples.count >= SAMPLES_MAX)
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

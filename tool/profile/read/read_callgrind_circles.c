/* SPDX-License-Identifier: MIT */
/*
 * Functions of a callgrind file that call each other in a circle. A search from the functions that
 * nothing calls, down along the costliest calls, finds the calls that lead back to a function on
 * the path. Without those calls there is no circle.
 */
#include "tool/profile/read/read_callgrind.h"

#include <stdlib.h>

double callgrind_rest(const struct callgrind *callgrind, const struct callgrind_function *function,
                      unsigned event)
{
    if (callgrind->ours && function->callee)
        return 0;
    double whole = function->own[event] + function->called[event];
    double rest = whole - function->received[event];
    return rest > whole * 1e-9 ? rest : 0;
}

/* The costliest call of a function that the search did not take yet; or NULL. */
static struct callgrind_call *call_next(const struct callgrind *callgrind, uint32_t function)
{
    struct callgrind_call *best = NULL;
    for (uint32_t at = callgrind_function_at(callgrind, function)->first_call; at != CALLGRIND_NONE;
         at = callgrind_call_at(callgrind, at)->next) {
        struct callgrind_call *call = callgrind_call_at(callgrind, at);
        if (!call->taken && (!best || call->costs[0] > best->costs[0]))
            best = call;
    }
    return best;
}

static void search_from(const struct callgrind *callgrind, uint32_t start, uint32_t *path)
{
    size_t depth = 0;
    path[depth++] = start;
    callgrind_function_at(callgrind, start)->met = callgrind_function_at(callgrind, start)->open =
        true;
    while (depth > 0) {
        struct callgrind_call *call = call_next(callgrind, path[depth - 1]);
        if (!call) {
            callgrind_function_at(callgrind, path[--depth])->open = false;
            continue;
        }
        struct callgrind_function *callee = callgrind_function_at(callgrind, call->callee);
        call->taken = true;
        call->back = callee->open;
        if (callee->met)
            continue;
        callee->met = callee->open = true;
        path[depth++] = call->callee;
    }
}

bool callgrind_find_circles(struct callgrind *callgrind)
{
    size_t count = callgrind->functions.count;
    uint32_t *path = calloc(count + 1, sizeof *path);
    for (unsigned called = 0; path && called < 2; called++) /* those that nothing calls first */
        for (uint32_t i = 0; i < count; i++)
            if (!callgrind_function_at(callgrind, i)->met &&
                (called || callgrind_rest(callgrind, callgrind_function_at(callgrind, i), 0) > 0))
                search_from(callgrind, i, path);
    for (uint32_t k = 0; k < count; k++) {
        struct callgrind_function *function = callgrind_function_at(callgrind, k);
        for (unsigned i = 0; i < callgrind->events; i++)
            function->entered[i] += callgrind_rest(callgrind, function, i);
        for (uint32_t at = function->first_call; at != CALLGRIND_NONE;
             at = callgrind_call_at(callgrind, at)->next) {
            const struct callgrind_call *call = callgrind_call_at(callgrind, at);
            for (unsigned i = 0; i < callgrind->events && !call->back; i++)
                callgrind_function_at(callgrind, call->callee)->entered[i] += call->costs[i];
        }
    }
    free(path);
    return path != NULL;
}

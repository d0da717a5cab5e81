/* SPDX-License-Identifier: MIT */
/*
 * See tool/profile/series.h. Every dump gets the same list of moments and a history with its own
 * bytes at its own place; those before the last lose all other values. Then a sum of them is what
 * is wanted.
 */
#include "tool/profile/series.h"

#include <stdlib.h>
#include <string.h>

static const int64_t start_slack_ns = 2000000000; /* each dump tells the start by its own clock */

static bool same_text(const struct profile *a, uint32_t of_a, const struct profile *b,
                      uint32_t of_b);
static void moments_sort(struct profile *moments, size_t count);
static int compare_ends(const void *a, const void *b);
static int compare_calls(const void *a, const void *b);
static int64_t live_bytes(const struct profile *profile);
static bool moments_set(struct profile *one, const struct profile *all, size_t count,
                        const int64_t *live);
static bool history_set(struct profile *one, size_t number, size_t count);
static void values_drop(struct profile *one);
static void points_set(struct profile *to);

bool series_of_one(const struct profile *a, const struct profile *b)
{
    if (a->time_ns <= 0 || b->time_ns <= 0)
        return false;
    int64_t apart = a->time_ns - b->time_ns;
    return a->kind == PROFILE_HEAP && b->kind == PROFILE_HEAP && a->pid > 0 && a->pid == b->pid &&
           apart < start_slack_ns && -apart < start_slack_ns && same_text(a, a->host, b, b->host) &&
           same_text(a, a->program, b, b->program);
}

static bool same_text(const struct profile *a, uint32_t of_a, const struct profile *b,
                      uint32_t of_b)
{
    return strcmp(profile_text(a, of_a), profile_text(b, of_b)) == 0;
}

bool series_make(struct profile *to, struct profile *moments, size_t count)
{
    int64_t *live = calloc(count, sizeof *live);
    bool ok = live != NULL;
    moments_sort(moments, count);
    struct profile *last = &moments[count - 1];
    int64_t peak_time_ns = last->peak_time_ns;
    bool ended = last->ended, own = last->history_moments > 1; /* a capture has a better one */
    for (size_t i = 0; i < count && ok; i++)
        live[i] = live_bytes(&moments[i]);
    for (size_t i = 0; i < count && ok && !own; i++)
        ok = moments_set(&moments[i], moments, count, live) && history_set(&moments[i], i, count);
    profile_free(to);
    *to = *last;
    profile_start(last);
    for (size_t i = 0; i + 1 < count && ok && !own; i++) {
        values_drop(&moments[i]);
        ok = moments[i].samples.count == 0 || profile_merge(to, &moments[i], 1);
    }
    to->peak_time_ns = peak_time_ns;
    to->ended = ended;
    if (ok && !own && to->points.count < 2) {
        to->points.count = 0;
        points_set(to);
    }
    free(live);
    return ok && !to->failed;
}

/* Not by how long it had run: a dump knows the start only as far back as its series goes, and the
 * first one may have none. */
static int64_t end_ns(const struct profile *profile)
{
    int64_t end;
    return __builtin_add_overflow(profile->time_ns, profile->duration_ns, &end) ? INT64_MAX : end;
}

/* By the time, which moves once a tick of the kernel; what lies that close together, by how often
 * malloc had been called. */
static void moments_sort(struct profile *moments, size_t count)
{
    enum { TICK_NS = 10000000 }; /* the longest that kernels are built with */
    size_t first = 0;
    qsort(moments, count, sizeof *moments, compare_ends);
    for (size_t i = 1; i <= count; i++) {
        if (i < count && end_ns(&moments[i]) - end_ns(&moments[i - 1]) <= TICK_NS)
            continue;
        qsort(moments + first, i - first, sizeof *moments, compare_calls);
        first = i;
    }
    for (size_t i = 1; i < count; i++) /* time does not go back */
        if (moments[i].duration_ns < moments[i - 1].duration_ns)
            moments[i].duration_ns = moments[i - 1].duration_ns;
}

static int compare_ends(const void *a, const void *b)
{
    int64_t left = end_ns(a), right = end_ns(b);
    return (left > right) - (left < right);
}

static int compare_calls(const void *a, const void *b)
{
    const struct profile *left = a, *right = b;
    if (left->exact_allocs == right->exact_allocs)
        return compare_ends(a, b);
    return left->exact_allocs < right->exact_allocs ? -1 : 1;
}

static int64_t live_bytes(const struct profile *profile)
{
    int type = profile_type_named(profile, TYPE_INUSE_SPACE);
    int64_t sum = 0;
    for (size_t i = 0; type >= 0 && i < profile->samples.count; i++)
        sum += profile->samples.values[type][i];
    return sum;
}

/* The list that all have: the dumps, of which the history has the last and some before it. */
static bool moments_set(struct profile *one, const struct profile *all, size_t count,
                        const int64_t *live)
{
    size_t shown = count < PROFILE_MOMENTS_MAX ? count : PROFILE_MOMENTS_MAX;
    one->moments.count = 0;
    one->history_moments = (unsigned)shown;
    for (size_t i = 0; i < count; i++) {
        struct profile_moment *moment = profile_list_add(one, &one->moments, sizeof *moment);
        if (!moment)
            return false;
        *moment = (struct profile_moment){.time_ns = all[i].duration_ns,
                                          .live_bytes = (uint64_t)live[i],
                                          .rows = i + shown >= count};
    }
    return true;
}

static bool history_set(struct profile *one, size_t number, size_t count)
{
    int type = profile_type_named(one, TYPE_INUSE_SPACE);
    size_t shown = one->history_moments;
    free(one->samples.history);
    one->samples.history = NULL;
    if (type < 0 || !profile_want_history(one) || !one->samples.history)
        return !one->failed;
    for (size_t i = 0; i < one->samples.count && number + shown >= count; i++)
        one->samples.history[i][number + shown - count] = (float)one->samples.values[type][i];
    return true;
}

/* What was before the last moment is history, and nothing else. */
static void values_drop(struct profile *one)
{
    struct profile_samples *samples = &one->samples;
    for (unsigned type = 0; type < one->types; type++)
        memset(samples->values[type], 0, samples->count * sizeof *samples->values[type]);
    if (samples->lives)
        memset(samples->lives, 0, samples->count * sizeof *samples->lives);
    one->exact_allocs = one->exact_frees = one->exact_alloc_bytes = one->exact_live_bytes = 0;
    one->duration_ns = 0;
    one->resident_bytes = one->resident_peak_bytes = one->heap_resident_bytes = 0;
    one->refused = one->lost = 0;
    one->torn = false;
    one->warnings.count = one->comments.count = 0;
}

/* Without a series of its own, the dumps are its points. */
static void points_set(struct profile *to)
{
    const struct profile_moment *moments = to->moments.items;
    for (size_t i = 0; to->points.count < to->moments.count && i < to->moments.count; i++) {
        struct profile_point *point = profile_list_add(to, &to->points, sizeof *point);
        if (point)
            *point = (struct profile_point){.time_ns = moments[i].time_ns,
                                            .live_bytes = moments[i].live_bytes};
    }
}

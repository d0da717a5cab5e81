/* SPDX-License-Identifier: MIT */
/* See tool/report/metric.h. */
#include "tool/report/metric.h"

#include <string.h>

#include "base/compiler.h"
#include "base/nearest.h"

/* Those of memory first. */
const struct metric metrics[] = {
    {"live", {TYPE_INUSE_SPACE, TYPE_SPACE}, "bytes not yet freed", NULL},
    {"objects", {TYPE_INUSE_OBJECTS, TYPE_OBJECTS}, "blocks not yet freed", NULL},
    {"peak", {TYPE_PEAK_SPACE}, "bytes live at the peak", NULL},
    {"alloc", {TYPE_ALLOC_SPACE}, "bytes allocated in all", NULL},
    {"count",
     {TYPE_ALLOC_OBJECTS, TYPE_OBJECTS},
     "number of allocations, including each realloc",
     NULL},
    {"requested", {TYPE_INUSE_REQUESTED}, "requested bytes not yet freed", NULL},
    {"churn", {TYPE_ALLOC_OBJECTS}, "blocks that lived less than a millisecond", NULL},
    {"lost", {TYPE_LOST_SPACE}, "bytes that nothing points to any more", "memoir run --leaks"},
    {"forgotten", {TYPE_FORGOTTEN_SPACE}, "bytes that are reachable but forgotten", "memoir leaks"},
    {"pinned", {TYPE_PINNED_SPACE}, "memory that live blocks keep in use (memoir frag)", NULL},
    {"cpu", {TYPE_CPU, TYPE_SAMPLES}, "CPU time", "memoir run --cpu"},
    {"wall", {TYPE_WALL}, "time that passed, waiting included", "memoir run --wall"},
    {"wait", {TYPE_DELAY}, "time spent waiting for locks", "memoir run --locks"},
    {"waits", {TYPE_CONTENTIONS}, "how often a thread waited for a lock", "memoir run --locks"},
    {"condition",
     {TYPE_CONDITION_DELAY},
     "time spent waiting for condition variables",
     "memoir run --locks"},
};
const size_t metrics_count = COUNT_OF(metrics);

bool metric_find(const struct profile *profile, const char *word, unsigned *type)
{
    int found = profile_type_named(profile, word);
    for (size_t i = 0; i < metrics_count && found < 0; i++) {
        const struct metric *metric = &metrics[i];
        for (size_t k = 0; k < COUNT_OF(metric->names) && metric->names[k] && found < 0; k++)
            if (strcmp(metric->word, word) == 0)
                found = profile_type_named(profile, metric->names[k]);
    }
    if (found >= 0)
        *type = (unsigned)found;
    return found >= 0;
}

bool metric_is_memory(const char *word)
{
    size_t i = 0;
    while (strcmp(metrics[i].word, "cpu") != 0 && strcmp(metrics[i].word, word) != 0)
        i++;
    return strcmp(metrics[i].word, "cpu") != 0; /* the first that is none */
}

const char *metric_nearest(const struct profile *profile, const char *word)
{
    size_t best_distance = nearest_max(strlen(word)) + 1;
    const char *best = NULL;
    unsigned type;
    for (size_t i = 0; i < metrics_count + profile->types; i++) {
        const char *known = i < metrics_count
                                ? metrics[i].word
                                : profile_text(profile, profile->type[i - metrics_count].name);
        size_t distance = nearest_distance(word, strlen(word), known, strlen(known));
        if (distance < best_distance && metric_find(profile, known, &type)) {
            best_distance = distance;
            best = known;
        }
    }
    return best;
}

const char *metric_recorder(const char *word)
{
    for (size_t i = 0; i < metrics_count; i++)
        if (strcmp(metrics[i].word, word) == 0)
            return metrics[i].recorder;
    return NULL;
}

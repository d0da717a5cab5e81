/* SPDX-License-Identifier: MIT */
/* See tool/report/metric.h. */
#include "tool/report/metric.h"

#include <string.h>

#include "base/compiler.h"
#include "base/nearest.h"

const struct metric metrics[METRICS_COUNT] = {
    [METRIC_LIVE] = {"live", {TYPE_INUSE_SPACE, TYPE_SPACE}, "bytes not yet freed", NULL},
    [METRIC_OBJECTS] = {"objects",
                        {TYPE_INUSE_OBJECTS, TYPE_OBJECTS},
                        "blocks not yet freed",
                        NULL},
    [METRIC_PEAK] = {"peak", {TYPE_PEAK_SPACE}, "bytes live at the peak", NULL},
    [METRIC_ALLOC] = {"alloc", {TYPE_ALLOC_SPACE}, "bytes allocated in all", NULL},
    [METRIC_COUNT] = {"count",
                      {TYPE_ALLOC_OBJECTS, TYPE_OBJECTS},
                      "number of allocations, including each realloc",
                      NULL},
    [METRIC_REQUESTED] = {"requested",
                          {TYPE_INUSE_REQUESTED},
                          "requested bytes not yet freed",
                          NULL},
    [METRIC_CHURN] = {"churn",
                      {TYPE_ALLOC_OBJECTS},
                      "blocks that lived less than a millisecond",
                      NULL},
    [METRIC_LOST] = {"lost",
                     {TYPE_LOST_SPACE},
                     "bytes that nothing points to any more",
                     "memoir run --leaks"},
    [METRIC_FORGOTTEN] = {"forgotten",
                          {TYPE_FORGOTTEN_SPACE},
                          "bytes that are reachable but forgotten",
                          "memoir leaks"},
    [METRIC_PINNED] = {"pinned",
                       {TYPE_PINNED_SPACE},
                       "memory that live blocks keep in use (memoir frag)",
                       NULL},
    [METRIC_CPU] = {"cpu", {TYPE_CPU, TYPE_SAMPLES}, "CPU time", "memoir run --cpu"},
    [METRIC_WALL] = {"wall",
                     {TYPE_WALL},
                     "time that passed, waiting included",
                     "memoir run --wall"},
    [METRIC_WAIT] = {"wait", {TYPE_DELAY}, "time spent waiting for locks", "memoir run --locks"},
    [METRIC_WAITS] = {"waits",
                      {TYPE_CONTENTIONS},
                      "how often a thread waited for a lock",
                      "memoir run --locks"},
    [METRIC_CONDITION] = {"condition",
                          {TYPE_CONDITION_DELAY},
                          "time spent waiting for condition variables",
                          "memoir run --locks"},
};

bool metric_has(const struct profile *profile, enum metric_id id, unsigned *type)
{
    return metric_find(profile, metrics[id].word, type);
}

bool metric_find(const struct profile *profile, const char *word, unsigned *type)
{
    int found = profile_type_named(profile, word);
    for (size_t i = 0; i < METRICS_COUNT && found < 0; i++) {
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
    for (size_t i = 0; i < METRIC_CPU; i++)
        if (strcmp(metrics[i].word, word) == 0)
            return true;
    return false;
}

const char *metric_nearest(const struct profile *profile, const char *word)
{
    size_t best_distance = nearest_max(strlen(word)) + 1;
    const char *best = NULL;
    unsigned type;
    for (size_t i = 0; i < METRICS_COUNT + profile->types; i++) {
        const char *known = i < METRICS_COUNT
                                ? metrics[i].word
                                : profile_text(profile, profile->type[i - METRICS_COUNT].name);
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
    for (size_t i = 0; i < METRICS_COUNT; i++)
        if (strcmp(metrics[i].word, word) == 0)
            return metrics[i].recorder;
    return NULL;
}

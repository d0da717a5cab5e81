/* SPDX-License-Identifier: MIT */
/* Words for the columns of a profile, whichever names its format has for them. */
#ifndef REPORT_METRIC_H
#define REPORT_METRIC_H

#include "tool/profile/profile.h"

/* Those of memory first. */
enum metric_id {
    METRIC_LIVE,
    METRIC_OBJECTS,
    METRIC_PEAK,
    METRIC_ALLOC,
    METRIC_COUNT,
    METRIC_REQUESTED,
    METRIC_CHURN,
    METRIC_LOST,
    METRIC_FORGOTTEN,
    METRIC_PINNED,
    METRIC_CPU,
    METRIC_WALL,
    METRIC_WAIT,
    METRIC_WAITS,
    METRIC_CONDITION,
    METRICS_COUNT,
};

struct metric {
    const char *word;
    const char *names[3]; /* as pprof has them, the first that is there; NULL: no more */
    const char *brief;
    const char *recorder; /* the command that records it; NULL: every recording has it */
};
extern const struct metric metrics[METRICS_COUNT]; /* by their ids */

/* The column of a metric. */
bool metric_has(const struct profile *profile, enum metric_id id, unsigned *type);
/* The column that is meant by such a word, or by its name in the profile. */
bool metric_find(const struct profile *profile, const char *word, unsigned *type);
/* Whether the word is one for memory. */
bool metric_is_memory(const char *word);
/* The nearest of the words that this profile has a column for; NULL: none is near. */
const char *metric_nearest(const struct profile *profile, const char *word);
/* The command that records this metric; NULL: every recording has it, or it is no metric. */
const char *metric_recorder(const char *word);

#endif

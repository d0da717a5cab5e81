/* SPDX-License-Identifier: MIT */
/*
 * Limits on what a profile may have, for continuous integration. A number that was counted
 * passes a limit or does not. An estimate has a noise (1.96 standard errors), and there may be
 * blocks that no sample stands for: a limit inside of that range can't be decided. The verdict
 * is "inconclusive", which is a warning, and with `strict` a failure.
 *
 * What may be unseen: blocks are picked with a mean distance of `rate` bytes, so in 95 of 100
 * runs at least one block of 3 * rate bytes is picked (exp(-3) is 5 %).
 *
 * A budget is a text of lines `PATTERN LIMIT [METRIC]`: the stacks with a frame whose
 * function, file or module has the pattern in it (as in suppressions: * is any text, ^ and $
 * are ends) may have at most LIMIT bytes; METRIC is live, peak, alloc, allocs (which counts
 * allocations) or cpu (whose limit is a time). # begins a comment.
 */
#ifndef REPORT_CHECK_H
#define REPORT_CHECK_H

#include "tool/report/metric.h"
#include "tool/report/view.h"

enum { CHECK_MAX = 1000 }; /* lines of a budget, which is written by hand */

/* What a limit may be about. */
enum check_metric { CHECK_LIVE, CHECK_PEAK, CHECK_ALLOC, CHECK_ALLOCS, CHECK_CPU, CHECK_METRICS };

struct check_row {
    const char *word;      /* in budgets */
    const char *name;      /* for people */
    enum value_unit unit;  /* of the limit */
    enum metric_id metric; /* the column that is looked at */
    const char *type;      /* and the one that may have been counted */
};
extern const struct check_row check_rows[CHECK_METRICS]; /* by enum check_metric */

enum check_verdict { CHECK_PASS, CHECK_FAIL, CHECK_UNSURE };

struct check_limit {
    double value;  /* bytes, blocks, nanoseconds, or percent */
    bool relative; /* percent more than the base has */
};

struct check_item {
    char name[32];        /* "peak", "allocations", ... */
    char subject[128];    /* the pattern of a budget, or "" */
    enum value_unit unit; /* UNIT_BYTES, UNIT_COUNT or UNIT_NANOSECONDS */
    bool has_before;
    double before, after;
    double noise_before, noise;
    double unseen_before, unseen; /* may be there without a sample; 0: every block was recorded */
    bool bounded;                 /* part of a total that was counted */
    double max;                   /* if bounded: that total */
    struct check_limit limit;
    enum check_verdict verdict;
    char detail[300]; /* the site behind it, or where the limit stands */
    char file[512];   /* where an annotation belongs; "" if not known */
    unsigned line;
};

struct check {
    struct check_item *items;
    size_t count, failed, unsure;
    bool strict; /* what can't be decided is a failure */
};

/* A line of a budget. */
struct check_budget {
    char pattern[128];
    struct check_limit limit;
    enum check_metric metric;
    unsigned line;
};

/* "200M", "1.5GiB", "5%", "+5%", "1000"; of UNIT_NANOSECONDS: "1.5s", "200ms". */
bool check_limit_read(const char *text, enum value_unit unit, struct check_limit *limit);
/* The lines of a budget, to be freed. NULL: one makes no sense, or memory is out; see the error. */
struct check_budget *check_budget_read(const char *name, const char *text, size_t *count,
                                       struct view_error *error);
/* What stacks with a fitting frame have in a view: value, base and their variances. *stacks is how
 * many fit; some of them may have nothing of this metric. */
struct view_value check_sum(const struct view *view, const char *pattern, size_t *stacks);
/* What a profile may have of a unit without a sample. */
double check_unseen(const struct profile *profile, enum value_unit unit);

/* A new item at the end; NULL: there are too many, or memory is out. */
struct check_item *check_add(struct check *check, const char *name, enum value_unit unit);
/* Says where most of the growth, or of the value, comes from. */
void check_blame(struct check_item *item, const struct view *view);
/* Fills in the verdict of the last item. */
void check_judge(struct check *check, struct check_item *item);
void check_free(struct check *check);
bool check_passes(const struct check *check);
const char *check_word(enum check_verdict verdict);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Allocations that did not live long, from how old recorded blocks were when they ended
 * (docs/FORMATS.md, record 7: class i is ages below 4^i microseconds). Files of heaptrack have no
 * ages; they count temporary blocks, whose free was the next event after their allocation.
 */
#ifndef REPORT_CHURN_H
#define REPORT_CHURN_H

#include "tool/report/view.h"

enum { CHURN_CLASSES = 6 }; /* short is below 4^5 us: about a millisecond */

struct churn_row {
    uint32_t frame;
    double ended[FORMAT_LIVES]; /* blocks by age, estimated */
    double count, bytes;        /* of the short-lived or temporary ones */
    double all;                 /* blocks that have ended, at any age */
    double median_us;           /* of all that have ended; -1: not known */
    uint64_t size_min, size_max;
    bool grows; /* behind it is a container or buffer that grows as it is filled */
};

enum churn_by { CHURN_UNKNOWN, CHURN_AGES, CHURN_TEMPORARY };

struct churn {
    enum churn_by by; /* what the profile tells */
    struct churn_row *rows;
    size_t count;
    double seconds; /* 0: not known */
    double total_count, total_bytes;
    double total_ended; /* counted, where the profile is; a realloc ends a block, too */
};

bool churn_make(struct churn *churn, const struct view *view);
void churn_free(struct churn *churn);
/* The age that half of them did not reach, by the classes of ages; -1: none has ended. */
double churn_median_us(const double ended[FORMAT_LIVES]);
/* What could be done about it, a few words; "" if nothing comes to mind. */
const char *churn_hint(const struct churn_row *row);

#endif

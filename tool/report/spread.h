/* SPDX-License-Identifier: MIT */
/*
 * How far an estimate may be from the truth: the error bars of a view.
 *
 * A sampled block of s bytes and weight w stands for w * s; the variance of that is w * (w - 1) *
 * s^2, and e^2 times that if the block is counted e times (realloc in place). Parts of a site are
 * independent, so `raw`, their sum, is the variance of the site as long as nothing else is known.
 *
 * Where the total of a size class is known (profile->counted), samples were scaled to it, and a
 * site's value is in truth the site's share p of what was not seen. Its error is that of raw - p *
 * (the class's estimate), which has the variance
 *
 *      A - 2 p A + p^2 C       A: raw of the site in this class; C: raw of the class
 *
 * and is 0 for a site that is all of the class. Shares add up over stacks, squares do not, so a sum
 * keeps shares for the SPREAD_CLASSES classes with the largest C; for the rest the variance is
 * taken to be A, which is too much rather than too little.
 *
 * Blocks of a size that was never sampled have no site ([not sampled]). In truth they belong to
 * some site, most likely to one that was sampled with the next smaller or larger size. Those sites
 * may have that much `more`: each in proportion to what it has of these sizes. That is as uncertain
 * as the site's samples there: each of these stands for that much more, too.
 *
 * A normal distribution is too narrow for few samples: a site with 1 sample may well be one of 4.
 * `spread_variance` adds `few` times the variance of one recorded block, which makes 1.96 standard
 * errors an interval of 95 % from one sample on (tests/tool/spread.c). Where the sizes of a site
 * differ, most of its samples are large blocks and most of its blocks are small ones; one recorded
 * block of 16 bytes stands for as many as 100 of 1600 bytes. So the largest variance counts: the
 * mean says too little of small blocks that were missed (tests/tool/spread_programs.c).
 *
 * Samples of a clock are n of N that hit a site, each of the same time: a site's time has the
 * variance n * (1 - n / N) times the square of that time, which is the formula above with one class
 * of all samples, A = n, C = N and p = n / N.
 */
#ifndef REPORT_SPREAD_H
#define REPORT_SPREAD_H

#include "tool/profile/profile.h"

enum { SPREAD_CLASSES = 6 }; /* each is 8 bytes for each site; most heaps lie in fewer */

/* The error of a sum over samples. All zero: the sum is exact. */
struct spread {
    double raw;     /* sum of the variances of independent parts */
    double block;   /* the largest variance of a recorded block, each time that it was counted */
    double sampled; /* sum of the values that are estimates */
    double more;    /* its share of what was not sampled */
    /* By class: p * sqrt(C) and A / sqrt(C). */
    float share[SPREAD_CLASSES], part[SPREAD_CLASSES];
};

/* The classes of one profile and column. */
struct spread_classes {
    float *more;                   /* by label set: `more` of a sample as a share of its value */
    uint8_t *of_set;               /* by label set: number + 1; 0: none */
    double unseen[SPREAD_CLASSES]; /* of the class: estimate less what was seen */
    double root[SPREAD_CLASSES];   /* sqrt(C) */
};

/* One sample: its value, how many objects it is, and how many times the objects of a recorded block
 * are counted (0: once). */
struct spread_sample {
    double value, objects, weight, repeats;
    bool timed; /* `objects` are samples of a clock */
};

/* False when memory is out. `type` is the column, `partner` the one that counts objects or -1. */
bool spread_start(struct spread_classes *classes, const struct profile *profile, int type,
                  int partner);
void spread_free(struct spread_classes *classes);
/* Of one sample of the profile; values and objects as they are there. */
struct spread_sample spread_sample(const struct profile *profile, int type, int partner,
                                   size_t row);
/* `share`: the part of the sample that counts. */
struct spread spread_of(const struct spread_classes *classes, const struct spread_sample *sample,
                        uint32_t label_set, double share);
void spread_add(struct spread *sum, const struct spread *more);
double spread_variance(const struct spread *sum);

#endif

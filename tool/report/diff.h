/* SPDX-License-Identifier: MIT */
/*
 * What changed from one profile to another, site by site. A change is only one if it is larger than
 * the noise: what both estimates together exceed at any of the sites in 1 of 100 comparisons of
 * equal runs, or in 1 of 10,000 if the counted totals are equal; 0 where every block was recorded.
 * What was not sampled is no site, and never changes.
 *
 * Between two builds of a program lines move. Sites of a function that are in one profile only
 * are matched with those in the other, in the order of their lines.
 */
#ifndef REPORT_DIFF_H
#define REPORT_DIFF_H

#include "tool/report/view.h"

enum diff_verdict { DIFF_SAME, DIFF_NOISE, DIFF_MORE, DIFF_LESS, DIFF_NEW, DIFF_GONE };

struct diff_row {
    uint32_t frame;      /* of the view */
    uint32_t base_frame; /* another one if the line has moved */
    struct view_value value;
    double change, noise;
    enum diff_verdict verdict;
};

struct diff {
    struct diff_row *rows; /* real changes first, the largest first; then noise; then the same */
    size_t count, real, noisy;
    double change, noise; /* of the totals */
    /* `explain_sites` sites have `explain_share` of all that grew (or shrank, if the total did). */
    size_t explain_sites;
    double explain_share;
};

bool diff_make(struct diff *diff, const struct view *view, bool by_total);
void diff_free(struct diff *diff);
const char *diff_word(enum diff_verdict verdict); /* "more", "gone", ...: for JSON and CSV */

#endif

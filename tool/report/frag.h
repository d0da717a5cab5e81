/* SPDX-License-Identifier: MIT */
/*
 * Which sites keep pages in memory that are nearly empty. A span of blocks goes back to the kernel
 * with its last live block; each live block has an equal share of its span's memory. The columns
 * pinned_... of a profile (model.h) have it by stack; the view is made of pinned_space.
 */
#ifndef REPORT_FRAG_H
#define REPORT_FRAG_H

#include "tool/report/view.h"

struct frag_row {
    uint32_t frame;
    int64_t objects, held; /* live blocks in spans, and their bytes */
    int64_t pinned;        /* their share of the memory of these spans; */
    double variance;       /* of that, where it is an estimate */
    int64_t sparse;        /* the part of it in spans that are up to a quarter full; */
    int64_t alone;         /* in spans without blocks of other stacks */
};

struct frag {
    bool known;
    struct frag_row *rows; /* by what is empty in their part of the spans: pinned - held */
    size_t count;
    struct frag_row total;
};

/* False when memory is out. */
bool frag_make(struct frag *frag, const struct view *view);
void frag_free(struct frag *frag);
/* pinned - held */
int64_t frag_empty(const struct frag_row *row);
/* "1/64", ...: how full the spans of profile_pins.by_fill are at most. */
const char *frag_fill_word(unsigned fill);

#endif

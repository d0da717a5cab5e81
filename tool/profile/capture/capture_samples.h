/* SPDX-License-Identifier: MIT */
/*
 * The samples of a capture while it is read. Rows come in snapshot by snapshot; those of the wanted
 * one give a sample its values, those of others a moment of its history.
 *
 * A row is known by its stack, thread, size and rate. Those of the snapshots of the history find
 * their sample by that; one that the wanted snapshot does not have any more (its thread has ended,
 * and its rows became those of "other threads") gets a sample of zeros, so that the sums of each
 * moment are right. Rows of large blocks differ by a range of sizes, too, since their weights do.
 *
 * While a snapshot is read its samples hold what was seen; when it is whole they are scaled to the
 * counters of the allocator (reconcile.h), or, in a capture of an older library, by their weights.
 */
#ifndef PROFILE_CAPTURE_CAPTURE_SAMPLES_H
#define PROFILE_CAPTURE_CAPTURE_SAMPLES_H

#include "tool/memory/memory.h"
#include "tool/profile/capture/reconcile.h"
#include "tool/profile/profile.h"

struct capture_samples {
    struct profile *profile;
    bool raw;           /* only what was seen is wanted */
    struct keys rows;   /* numbers are those of samples */
    struct list kinds;  /* struct kind: by sample */
    struct keys owners; /* stack, thread and size: numbers are those of `chains` */
    struct list chains; /* struct chain: of the target's rows */
    int64_t largest_rate;
    /* The present snapshot. */
    uint32_t snapshot; /* from 1 */
    bool target;       /* it gives the values */
    unsigned column;   /* of the history, from 1; 0: none */
    bool counted;      /* it has counters */
    struct reconcile exact;
};

/* The columns of a profile. */
void capture_samples_start(struct capture_samples *it, struct profile *profile, bool raw);
void capture_samples_free(struct capture_samples *it);
void capture_samples_snapshot(struct capture_samples *it, bool target, unsigned column);
void capture_samples_class(struct capture_samples *it, const struct capture_class *class);
/* Finds or makes the sample of a row; `thread` is an id. If it is *fresh, the caller sets its stack
 * and labels. False: the row is of no interest, or memory is out. */
bool capture_samples_row(struct capture_samples *it, const struct capture_row *row, uint32_t thread,
                         size_t *sample, bool *fresh);
/* The snapshot is complete. `covered`: every block since the start was subject to sampling. */
void capture_samples_whole(struct capture_samples *it, bool covered);
/* For a view of the peak: what was live at the peak takes the place of what is live. */
void capture_samples_peak(struct capture_samples *it);
/* A stack of one frame with this name, which is no code. */
uint32_t capture_samples_named(struct profile *profile, const char *text);

#endif

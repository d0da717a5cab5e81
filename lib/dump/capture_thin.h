/* SPDX-License-Identifier: MIT */
/*
 * Makes the capture of a long run shorter: older snapshots go, the more of them the older they are,
 * so that a day of snapshots takes as much space as an hour. Nodes of stacks and marks stay; of the
 * heap over time the last, the highest and the lowest point of each stretch.
 * lib/dump/capture_file.c decides when.
 *
 * No allocation, no lock; one thread at a time.
 */
#ifndef DUMP_CAPTURE_THIN_H
#define DUMP_CAPTURE_THIN_H

#include <stdbool.h>
#include <stdint.h>

/* A snapshot in the file, from `start` to `end`. */
struct capture_part {
    uint64_t start, end;
    uint64_t time_ms;
    bool maps;  /* it has a list of mappings */
    bool leaks; /* it has the result of a scan */
    bool kept;
};

/* Sets `kept` so that those are `bytes` long in all, and `max` at most. The last one stays. */
void capture_thin_choose(struct capture_part *parts, unsigned count, uint64_t bytes, unsigned max);

/* Copies the records from one descriptor to the other, without the snapshots that are not kept, and
 * brings those that are to the front of `parts` with their new places. 0 or an errno value. */
int capture_thin(int from, int to, struct capture_part *parts, unsigned *count, uint64_t *length);

#endif

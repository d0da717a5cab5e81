/* SPDX-License-Identifier: MIT */
/*
 * The heap over time: SERIES_MOST points at most. When they are full, every second one goes and the
 * points come half as often from then on, so that the whole run is there, whatever its length.
 */
#ifndef HEAP_SERIES_H
#define HEAP_SERIES_H

#include <stdbool.h>
#include <stdint.h>

/* The heap over time, by the allocator's counters. A point holds until the next one. */
struct series_point {
    uint64_t time_ms; /* os_now_ms() */
    uint64_t live_bytes, allocated_bytes, allocated_objects;
    uint64_t resident_bytes; /* of the process; 0: not asked */
};
enum { SERIES_MOST = 1024 };
/* Whether resident_bytes is asked for: that takes opening a file at each point. */
void series_resident(bool wanted);
/* The process's resident memory at its largest so far, as the kernel counts it; 0: not known. */
uint64_t series_resident_peak(void);
/* Copies the points, oldest first, that are known now; how many. */
unsigned series_points(struct series_point points[SERIES_MOST]);

/* Whether it is time for the next point. */
bool series_due(uint64_t now_ms);
/* Adds one, unless another thread is doing so. A second one of the same millisecond takes the place
 * of the first. */
void series_add(const struct series_point *point);
/* In a forked child. */
void series_recover(void);
/* What a call left that a signal handler jumped out of (track_abandoned). */
void series_abandoned(void);

#endif

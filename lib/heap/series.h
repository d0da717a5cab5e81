/* SPDX-License-Identifier: MIT */
/*
 * The heap over time, at most SERIES_MAX points. When they are full, every second one is dropped
 * and points are taken half as often from then on, so that they cover the whole run, whatever its
 * length.
 */
#ifndef HEAP_SERIES_H
#define HEAP_SERIES_H

#include <stdbool.h>
#include <stdint.h>

/* The heap over time, by the allocator's counters. A point holds until the next one. */
struct series_point {
    uint64_t time_ms; /* os_now_ms() */
    uint64_t live_bytes, allocated_bytes, allocated_objects;
    uint64_t resident_bytes; /* of the process; 0: was not asked for */
};
/* More than a plot has columns; when they are used up, every second one goes. */
enum { SERIES_MAX = 1024 };
/* Whether points have resident_bytes: each then opens a file. */
void series_resident(bool wanted);
/* Resident memory of the process by the kernel's counts: the highest so far; and now, by what is
 * mapped there. All 0: not known. */
struct series_memory {
    uint64_t peak, anonymous, files, shared;
};
void series_memory_now(struct series_memory *resident);
/* Copies the points so far, oldest first; returns their number. */
unsigned series_points(struct series_point points[SERIES_MAX]);

/* Whether it is time for the next point. */
bool series_due(uint64_t now_ms);
/* Adds a point, unless another thread is adding one. A second point in the same millisecond
 * replaces the first. */
void series_add(const struct series_point *point);
/* All points into the recorder file (lib/watch/mirror.h). */
void series_copy(void);
/* In a forked child. */
void series_recover(void);
/* Repairs what a call left behind when a signal handler jumped out of it (track_abandoned). */
void series_abandoned(void);

#endif

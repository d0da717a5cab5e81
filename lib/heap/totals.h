/* SPDX-License-Identifier: MIT */
/*
 * What must be known about the whole heap at every moment: its peak, its size over time, and
 * whether a limit of a trigger is reached. The numbers themselves are the allocator's counters,
 * which are exact and cost nothing until they are added up (account.h). This file decides when to
 * add them up.
 *
 * Peak. A heap is largest right before something is freed. So each slow free compares what the
 * program has, held bytes less those noted in bins (held.h), with the last look, and if it is a
 * step more than at the peak, adds up the counters: by class, so that the peak is one exact moment.
 * So does each slow malloc from a bin, since frees that follow it may be fast. Unseen is what went
 * from bins since their last slow visit: bin.c makes visits often enough while bins hold much and
 * the heap could be larger than ever. Which sites held memory then costs next to nothing:
 * `sites_peak_epoch` counts up, and a site saves what it holds before it changes for the first time
 * after that. Any snapshot and any mark looks, too; so no moment of a recording, and no end of a
 * run, is above the peak.
 *
 * While every block is recorded from the start on (*exact from the start*), the recorded events
 * themselves tell the peak, to the block in programs with one thread.
 *
 * Limits. Triggers want to hear of bytes allocated, freed or live. Threads add what they have
 * done to `progress`: from their batches of events while every block is recorded, else from
 * their heap's counters on each slow visit. When progress reaches the distance to the next limit,
 * the counters are added up; if the limit is not reached after all, the rest of the distance is the
 * next one. For live bytes held bytes are watched in the same way.
 */
#ifndef HEAP_TOTALS_H
#define HEAP_TOTALS_H

#include "base/compiler.h"
#include "lib/alloc/alloc.h"
#include "lib/heap/sites.h"

/*
 * Limits for the counters. When one is reached, the thread that notices sets `totals_due`. 0: no
 * limit. Set by `totals_arm`.
 */
struct totals_limits {
    uint64_t allocated, freed, live; /* usable bytes */
    uint64_t time_ms;
    bool punctual; /* while every block is recorded, each compares the time with `time_ms` */
};
extern struct totals_limits totals_limits;
extern bool totals_due;
/* The counters that are compared with the limits. */
struct totals_now {
    uint64_t allocated, freed, live;
};
struct totals_now totals_now(void);

/* While `totals_counting`, each thread reports now and then how much it has allocated and freed in
 * all; `last` is what it reported before. */
extern bool totals_counting;
struct account_sum;
struct totals_counted {
    uint64_t allocated, freed;
};
void totals_count(const struct account_sum *now, struct totals_counted *last);

struct totals_band {
    uint64_t low, width;
};
/* The heap may be at its peak. Called on the slow path, before a free or when a bin was visited, if
 * the program's bytes (held.h) have left the band or held bytes are high; and before a mark. */
extern struct totals_band totals_calm;
extern uint64_t totals_high;
void totals_high_water(void);
/* After any slow call: called if held bytes have left the band. */
extern struct totals_band totals_band;
void totals_far(void);

/* The calling thread stops recording every block. */
void totals_settle(void);
/* Called now and then, to notice the time. */
void totals_tick(uint64_t now_ms);

/* A recorded block begins or ends while every block is recorded. `totals_grow` is true if the heap
 * is at a new peak then. */
bool totals_grow(uint64_t bytes);
void totals_shrink(uint64_t bytes);

/* Called before a site changes, except by a block that makes a new peak. */
extern HIDDEN bool totals_at_peak;
INLINE void totals_change(struct site *site, uint32_t id)
{
    if (unlikely(load_relaxed(&totals_at_peak)))
        store_relaxed(&totals_at_peak, false);
    site_save(site, id);
}

/* The peak into the recorder file (lib/watch/mirror.h). */
void totals_copy(void);
/* Called before all sites are forgotten and after it was noted that they do not cover the whole
 * run. The heap's peak stays; which sites held memory then is forgotten. */
void totals_reset(void);
/* In a forked child: the bytes recorded as allocated and freed. The batches of the parent's other
 * threads are lost. */
void totals_recover(uint64_t allocated, uint64_t freed);
/* Repairs what a call left behind when a signal handler jumped out of it (track_abandoned). */
void totals_abandoned(void);

/* The peak. `classes` is the largest account that was taken, including `now`; `in_sites`: recorded
 * events have found a larger heap since, and the sites know what it held. */
struct totals_peak {
    uint64_t time_ms;
    uint64_t bytes; /* of all classes */
    struct {
        uint64_t blocks, bytes;
    } classes[ACCOUNT_ROWS];
    bool in_sites; /* the recorded events know the peak better than `classes` */
};
/* `now` is an account of this moment, which may be the peak. */
void totals_peak(const struct account *now, struct totals_peak *peak);

/* For triggers.c: sets new limits; `now` are the counters that they were chosen by. */
void totals_arm(const struct totals_limits *limits, const struct totals_now *now);

#endif

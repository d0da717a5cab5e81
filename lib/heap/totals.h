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
 * Limits that the counters may reach; when one is reached `totals_due` becomes true, by whichever
 * thread notices. 0: none. Set by `totals_arm`.
 */
struct totals_limits {
    uint64_t allocated, freed, live; /* usable bytes */
    uint64_t time_ms;
};
extern struct totals_limits totals_limits;
extern bool totals_due;
/* The counters that the limits are held against. */
struct totals_now {
    uint64_t allocated, freed, live;
};
struct totals_now totals_now(void);

/* While `totals_counting`, each thread tells now and then what it has allocated and freed in all;
 * `last` is what it told before. */
extern bool totals_counting;
struct account_sum;
struct totals_counted {
    uint64_t allocated, freed;
};
void totals_count(const struct account_sum *now, struct totals_counted *last);

struct totals_band {
    uint64_t low, width;
};
/* This may be the heap's peak: on the slow path, before a free or when a bin was looked at, if what
 * the program has (held.h) has left the band or held bytes are high; and before a mark. */
extern struct totals_band totals_calm;
extern uint64_t totals_high;
void totals_high_water(void);
/* After any slow call: called when held bytes have left the band. */
extern struct totals_band totals_band;
void totals_far(void);

/* The calling thread will not record every block any more. */
void totals_settle(void);
/* Now and then: time goes by. */
void totals_tick(uint64_t now_ms);

/* A recorded block begins or ends while every block is recorded. `totals_grow` is true if that
 * makes the heap larger than ever before. */
bool totals_grow(uint64_t bytes);
void totals_shrink(uint64_t bytes);

/* Before a site changes by anything but a block that makes the heap larger than ever. */
extern HIDDEN bool totals_at_peak;
INLINE void totals_change(struct site *site)
{
    if (unlikely(load_relaxed(&totals_at_peak)))
        store_relaxed(&totals_at_peak, false);
    site_save(site);
}

/* Before all sites are forgotten, and after it was said that they do not cover the whole run. The
 * heap's peak stays; which sites held memory then is forgotten, too. */
void totals_reset(void);
/* In a forked child: what is recorded there as allocated and freed. Batches of threads that stayed
 * behind are lost. */
void totals_recover(uint64_t allocated, uint64_t freed);
/* What a call left that a signal handler jumped out of (track_abandoned). */
void totals_abandoned(void);

/* The peak. `classes` is the largest account that was taken, `now` among them; `in_sites`: recorded
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

/* For triggers.c: sets new limits; `now` is what the counters were when they were chosen. */
void totals_arm(const struct totals_limits *limits, const struct totals_now *now);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A site: what was counted for one stack, one allocating thread, one size and one rate. Sites are
 * never given back; those of one stack are linked.
 *
 * Only the site's own thread writes `own`; what other threads free is counted in `others`, with
 * atomic additions. Both are read by anybody at any time, frees before allocations, so that no
 * difference is below zero.
 */
#ifndef HEAP_SITES_H
#define HEAP_SITES_H

#include "base/compiler.h"
#include "lib/heap/site_row.h"
#include "lib/watch/watch.h"

struct site_ends {
    struct track_sum freed;
    uint32_t lives[LIFE_BUCKETS]; /* stay at their highest value */
};

/* What an allocation counts is in the first cache line, what a free counts in that and the next. */
struct site {
    struct table_entry entry; /* a: the stack + 1 and the thread; b: the kind; link: next site */
    uint32_t thread_link;     /* the next site of the thread; above SITE_ID_BITS the era */
    uint32_t peak_epoch;      /* `peak` is what was live at that peak */
    struct track_sum allocated;
    struct site_ends own, others;
    uint32_t again, moved_out; /* stay at their highest value */
    struct track_sum peak;     /* saved before the first change after it */
};
_Static_assert(sizeof(struct site) == 256, "slabs of them are powers of two");

/* The size and the rate as one number. The class is one of the allocator's or, from CLASS_COUNT on,
 * a range of large sizes. */
enum { SITE_CLASS_BITS = 11, SITE_RATE_BITS = 8 };
uint32_t site_kind_large(size_t usable); /* without the rate */
INLINE uint32_t site_kind(unsigned class, size_t usable, unsigned rate)
{
    return (class < CLASS_COUNT ? class : site_kind_large(usable)) | rate << SITE_CLASS_BITS;
}

INLINE unsigned site_class(const struct site *site)
{
    return site->entry.b & ((1u << SITE_CLASS_BITS) - 1);
}

/* sampler_rate_of */
INLINE unsigned site_rate(const struct site *site)
{
    return site->entry.b >> SITE_CLASS_BITS & ((1u << SITE_RATE_BITS) - 1);
}

/*
 * How often all was forgotten, beside the number of a site in one word: in a record, where it says
 * when the block was counted, and in a site, of which the word is for the next one. What a site has
 * counted in another era than this one is void, and goes when the site is next used; the end of
 * a block of another era is nobody's business. So forgetting takes no memory.
 */
enum { SITE_ID_BITS = 19, SITE_NO_ERA = (1 << (32 - SITE_ID_BITS)) - 1 };
INLINE uint32_t site_id(uint32_t word)
{
    return word & ((1u << SITE_ID_BITS) - 1);
}

INLINE unsigned site_era(uint32_t word)
{
    return word >> SITE_ID_BITS;
}

INLINE uint32_t site_word(uint32_t id, unsigned era)
{
    return id | era << SITE_ID_BITS;
}

INLINE uint32_t site_stack(const struct site *site)
{
    return (uint32_t)site->entry.a - 1;
}

INLINE uint32_t site_thread(const struct site *site)
{
    return (uint32_t)(site->entry.a >> 32);
}

extern HIDDEN struct table sites_table;
INLINE struct site *site_at(uint32_t id)
{
    return table_at(&sites_table, id);
}

/* Where there is no memory for another site, one of no known stack and thread; where there is none
 * for that, 0. */
uint32_t sites_find(uint32_t stack, uint32_t thread, uint32_t kind);
/* Adds to a number that stays at its highest value. `alone`: nobody else writes there. */
void site_count(uint32_t *place, uint32_t count, bool alone);
extern HIDDEN unsigned sites_era;
/* The next one begins. */
void sites_forget(void);
/* Before a block is counted as allocated there. */
void site_renew(struct site *site);
INLINE void site_use(struct site *site)
{
    if (unlikely(site_era(load_acquire(&site->thread_link)) != load_relaxed(&sites_era)))
        site_renew(site);
}
/* How many times the heap was larger than ever before. */
extern HIDDEN uint32_t sites_peak_epoch;
/* Before a site changes: saves what was live at the last peak, unless that is done. */
void site_save(struct site *site);
/* The thread that had this number has ended: what was counted for it is added to that of all ended
 * threads, and its sites are empty again. False if some of its blocks are live. */
bool sites_fold(uint32_t thread);
/* Whether nothing of a thread is live. */
bool sites_ended(uint32_t thread);
/* What is live: allocated less freed. */
struct track_sum site_live(const struct site *site);
/* While a site is folded it is half here and half there. A reader takes `sites_still` before and
 * asks `sites_stood` after; false: once more. */
uint32_t sites_still(void);
bool sites_stood(uint32_t before);
/* In a forked child: what another thread was about to count. */
void sites_recover(uint32_t parent_id);
/* What a call left that a signal handler jumped out of (track_abandoned). */
void sites_abandoned(void);
/* The same with the lock of threads.c: a fold ends halfway. */
void sites_fold_abandoned(void);

#endif

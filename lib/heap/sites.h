/* SPDX-License-Identifier: MIT */
/*
 * A site: the counts of one stack, one allocating thread, one size and one rate. Sites are never
 * given back; the sites of a stack are linked.
 *
 * Only the site's own thread writes `own`; frees by other threads are counted in `others` with
 * atomic additions. Any thread may read both at any time. Readers load frees before allocations, so
 * that no difference is below zero.
 */
#ifndef HEAP_SITES_H
#define HEAP_SITES_H

#include "base/compiler.h"
#include "lib/heap/site_row.h"
#include "lib/watch/watch.h"

struct site_ends {
    struct track_sum freed;
    uint32_t lives[LIFE_BUCKETS]; /* saturating */
};

/* The first cache line has what an allocation counts; a free needs that and the next one. */
struct site {
    struct table_entry entry; /* a: the stack + 1 and the thread; b: the kind; link: next site */
    uint32_t thread_link;     /* the next site of the thread; above SITE_ID_BITS the era */
    uint32_t peak_epoch;      /* `peak` holds what was live at the peak of this epoch */
    struct track_sum allocated;
    struct site_ends own, others;
    uint32_t again, moved_out; /* saturating */
    struct track_sum peak;     /* saved before the first change after that peak */
};
_Static_assert(sizeof(struct site) == 256, "slabs of them are powers of two");

/* The size and the rate as one number. The class is the allocator's or, from CLASS_COUNT on, a
 * range of large sizes. */
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

/* Above both: the blocks are no leaks, because the program said so (track_set_thread_kept). */
static const uint32_t SITE_KEPT = 1u << (SITE_CLASS_BITS + SITE_RATE_BITS);

/* sampler_rate_of */
INLINE unsigned site_rate(const struct site *site)
{
    return site->entry.b >> SITE_CLASS_BITS & ((1u << SITE_RATE_BITS) - 1);
}

/*
 * An *era* lies between two resets of the profile. Its number is kept beside the number of a site
 * in one word: in a record, to tell when the block was counted, and in a site, where the word links
 * to the next one. Counts that a site made in another era are void and are cleared when the site is
 * next used; the end of a block of another era is ignored. So a reset needs no memory.
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

enum { SITES_SLAB_SHIFT = 3 };
extern HIDDEN struct table sites_table;
extern HIDDEN uint32_t sites_slabs[TABLE_SLABS];
INLINE struct site *site_at(uint32_t id)
{
    return table_entry(sites_slabs, SITES_SLAB_SHIFT, sizeof(struct site), id);
}

/* If memory is out, a site without a known stack and thread; 0 if memory is out for that, too. */
uint32_t sites_find(uint32_t stack, uint32_t thread, uint32_t kind);
/* A saturating addition. `alone`: no other thread writes there. */
void site_count(uint32_t *place, uint32_t count, bool alone);
extern HIDDEN unsigned sites_era;
/* Begins the next era. */
void sites_forget(void);
/* Called before a block is counted as allocated at the site. */
void site_renew(struct site *site);
INLINE void site_use(struct site *site)
{
    if (unlikely(site_era(load_acquire(&site->thread_link)) != load_relaxed(&sites_era)))
        site_renew(site);
}
/* How often the heap reached a new peak. */
extern HIDDEN uint32_t sites_peak_epoch;
void site_save_now(struct site *site, uint32_t id, uint32_t epoch);
/* Called before a site changes: saves what was live at the last peak, unless it is saved already.
 */
INLINE void site_save(struct site *site, uint32_t id)
{
    uint32_t epoch = load_relaxed(&sites_peak_epoch);
    if (load_relaxed(&site->peak_epoch) != epoch)
        site_save_now(site, id, epoch);
}
/* The thread with this number has ended: adds its counts to those of all ended threads and empties
 * its sites. False if some of its blocks are live. */
bool sites_fold(uint32_t thread);
/* Whether none of a thread's blocks is live. */
bool sites_ended(uint32_t thread);
/* What is live: allocated less freed. */
struct track_sum site_live(const struct site *site);
/* During a fold, counts are partly in the old site and partly in the new one. A reader calls
 * `sites_still` before and `sites_stood` after reading; if that is false, it must read again. */
uint32_t sites_still(void);
bool sites_stood(uint32_t before);
/* In a forked child: repairs what another thread was about to count. */
void sites_recover(uint32_t parent_id);
/* Repairs what a call left behind when a signal handler jumped out of it (track_abandoned). */
void sites_abandoned(void);
/* The same with the lock of threads.c held: a fold stops halfway, and readers stop waiting. */
void sites_fold_abandoned(void);

/*
 * In the recorder file (lib/watch/mirror.h): each event that changes a site changes its row there,
 * too, so that the file is right at every moment. A row is as struct site; it is filled at the
 * first event after the file was made, and when all was forgotten.
 */
/* The row of the site; NULL: it is not made yet. About 20 instructions, in exact mode for each
 * malloc and each free. */
INLINE struct site *site_row(const struct site *site, uint32_t id)
{
    _Static_assert((1u << SITE_ID_BITS) / RECORDER_ROWS(SHEET_SITES) <= MIRROR_SHEETS, "all fit");
    char *base = load_acquire(&mirror_base);
    uint32_t sheet = load_acquire(&mirror_sheets[SHEET_SITES][id / RECORDER_ROWS(SHEET_SITES)]);
    if (unlikely(base == NULL || sheet == 0 || alloc_forked()))
        return NULL;
    struct site *row =
        (struct site *)(base + (size_t)sheet * RECORDER_SHEET) + id % RECORDER_ROWS(SHEET_SITES);
    return likely(load_acquire(&row->entry.a) == site->entry.a &&
                  load_relaxed(&row->thread_link) == load_relaxed(&site->thread_link))
               ? row
               : NULL;
}

/* After the event was counted in the site itself, where it was not counted in `site_row` at once.
 * `alone`: no other thread counts there. */
void site_copy_begin(const struct site *site, uint32_t id, size_t requested, size_t usable,
                     bool alone);
void site_copy_again(const struct site *site, uint32_t id);
/* A block of the calling thread's own site ended, and was counted; `life` is its bucket,
 * LIFE_BUCKETS: it moved. */
void site_copy_end_own(const struct site *site, uint32_t id, unsigned life);
/* One of another thread's site: before it is counted, for the site may be folded after that. */
void site_copy_end_other(const struct site *site, uint32_t id, size_t requested, size_t usable,
                         unsigned life);
/* All of them, into a file that was made just now. */
void sites_copy(void);

#endif

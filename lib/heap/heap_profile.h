/* SPDX-License-Identifier: MIT */
/*
 * What is remembered about the heap: for each *site* (a stack, the thread that allocated, a size
 * and the rate in force) how many blocks were allocated and freed, how long they lived, and how
 * many were live when the heap was largest. Only picked blocks are seen; each stands for 1 / p
 * blocks of its size, p = 1 - exp(-size / rate), so all sums below come in two kinds: *seen*
 * (integers, what was picked) and *estimated* (seen / p). With rate 0 every block is picked and
 * both are the same. Totals are neither: they are the allocator's counters (totals.h), and scale.h
 * makes the estimates of sites add up to them.
 *
 * Writers read while the program goes on: a row may be a few events younger than the one before.
 */
#ifndef HEAP_HEAP_PROFILE_H
#define HEAP_HEAP_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Lifetimes: bucket i holds those below 4^i microseconds, the last one all longer ones (above 268
 * s). */
enum { LIFE_BUCKETS = 16 };

/* Blocks and their bytes: as asked for, and as malloc_usable_size says. */
struct profile_sum {
    uint64_t objects, requested, usable;
};

struct profile_row {
    uint32_t stack;  /* stacks.h */
    uint32_t thread; /* threads.h: number of its row, or THREAD_OTHER: threads that have ended */
    unsigned class;  /* of the allocator, or ACCOUNT_LARGE */
    uint32_t size;   /* usable size of a block, 0 for large ones: these differ */
    int64_t rate;    /* mean bytes between samples; 0: every block was recorded */
    double weight;   /* 1 / p: multiply a sum of what was seen by it */
    /* Seen: */
    struct profile_sum live, allocated, peak;
    uint64_t moved_out; /* objects that went on in a realloc */
    /* Of the allocated objects, those that realloc resized in place and that this stack had before:
     * they are no new samples. */
    uint64_t again;
    uint64_t lives[LIFE_BUCKETS]; /* objects that ended here, by their age */
};

struct caller;
struct record;

/* A block was picked: who asked for it is found out and counted. `class` is the allocator's, or
 * CLASS_COUNT for a large block. `born` is 0, or, if the block goes on from one that realloc
 * replaces, `profile_born` of that one; PROFILE_MOVED where that had no record. `rate` is the
 * number (watch.h) of the one that it was picked at, which may be in force no more. */
static const uint64_t PROFILE_MOVED = UINT64_MAX;
void profile_begin(struct record *record, const struct caller *caller, unsigned class,
                   size_t usable, size_t requested, uint64_t born, unsigned rate);
uint64_t profile_born(const struct record *record);
/* False if the block is not counted, for its thread did not take part or memory was out. */
bool profile_rate(const struct record *record, unsigned *rate);
/* A picked block was freed by `caller`, NULL if unknown; or realloc moved it (`moved`). */
void profile_end(struct record *record, const struct caller *caller, size_t usable,
                 size_t requested, bool moved);
/* A block was resized in place: its record is new, `before` is the `site` of its old record. */
void profile_again(const struct record *record, uint32_t before);
/* The calling thread will not record every block any more. */
void profile_settle(void);
/* Now and then: time goes by. */
void profile_tick(uint64_t now_ms);
/* Whether the calling thread's blocks are recorded; and those of threads that have not said. */
void profile_set_thread_active(bool active);
bool profile_thread_active(void);
void profile_set_threads_active(bool active);
bool profile_threads_active(void);
/* The calling thread ends. */
void profile_thread_end(void);
/* In a forked child. */
void profile_recover(uint32_t parent_id);
/* The thread's last call inside was left by a jump out of a signal handler: its locks are opened,
 * and what it had begun ends there. */
void profile_abandoned(void);
/* Whether an address is in the calling thread's own stack. False where that is not known yet. */
bool profile_own_stack(uintptr_t sp);

/* Calls `row` for every site with data, all sites of one stack in succession. */
void profile_each(void (*row)(void *context, const struct profile_row *row), void *context);

/* Picked blocks. */
struct profile_seen {
    uint64_t live, allocated;
    uint64_t other; /* allocated ones without a stack: there was no memory for it */
    uint64_t lost;  /* picked, but there was no memory to record them */
};
void profile_seen(struct profile_seen *seen);

/* Sums over all sites after `scale_prepare`. Where recording covers the whole run they are the
 * allocator's counters; requested bytes stay an estimate unless every block is recorded. */
struct profile_totals {
    struct profile_sum live, allocated, peak;
    uint64_t peak_ms; /* os_now_ms() of the peak */
};
struct scale;
void profile_totals(struct profile_totals *totals, struct scale *scale);
/* The same with a scale of its own. False when memory is out. */
bool profile_totals_now(struct profile_totals *totals);

/* Whether every block since the start of the process was subject to recording. */
bool profile_covered(void);
/* Recording begins or ends for all threads. */
void profile_recording(bool on);
/* When it ended, os_now_ms(); 0: it goes on. */
uint64_t profile_off_ms(void);

/* The heap over time, by the allocator's counters. A point holds until the next one. */
struct profile_point {
    uint64_t time_ms; /* os_now_ms() */
    uint64_t live_bytes, allocated_bytes, allocated_objects;
    uint64_t resident_bytes; /* of the process; 0: not asked */
};
enum { SERIES_MOST = 1024 };
/* Whether resident_bytes is asked for: that takes opening a file at each point. */
void profile_series_resident(bool wanted);
/* The process's resident memory at its largest so far, as the kernel counts it; 0: not known. */
uint64_t profile_resident_peak(void);
/* Copies the points, oldest first, that are known now; how many. */
unsigned profile_series(struct profile_point points[SERIES_MOST]);

/* Forgets what was recorded: blocks that are live now will not be seen to end. */
void profile_reset(void);

/*
 * Limits that the counters may reach; when one is reached `profile_due` becomes true, by whichever
 * thread notices. 0: none. Set by `totals_arm`.
 */
struct profile_limits {
    uint64_t allocated, freed, live; /* usable bytes */
    uint64_t time_ms;
};
extern struct profile_limits profile_limits;
extern bool profile_due;
/* The counters that the limits are held against. */
struct profile_now {
    uint64_t allocated, freed, live;
};
struct profile_now profile_now(void);

/* While `profile_counting`, each thread tells now and then what it has allocated and freed in all;
 * `last` is what it told before. */
extern bool profile_counting;
struct account_sum;
struct profile_counted {
    uint64_t allocated, freed;
};
void profile_count(const struct account_sum *now, struct profile_counted *last);

struct profile_band {
    uint64_t low, width;
};
/* This may be the heap's peak: on the slow path, before a free or when a bin was looked at, if what
 * the program has (held.h) has left the band or held bytes are high; and before a mark. */
extern struct profile_band profile_calm;
extern uint64_t profile_high;
void profile_high_water(void);
/* After any slow call: called when held bytes have left the band. */
extern struct profile_band profile_band;
void profile_far(void);
/* Measures the rate of the machine's ticks; called now and then. */
void profile_measure_ticks(void);

#endif

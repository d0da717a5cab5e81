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
#ifndef HEAP_TRACK_H
#define HEAP_TRACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "lib/heap/site_row.h"

struct caller;
struct record;
struct walk;

/* A block was picked: finds its stack and counts it. `class` is the allocator's, or CLASS_COUNT for
 * a large block. `born` is 0; for a block that continues one that realloc replaces, it is
 * `track_born` of that one, or TRACK_MOVED if that had no record. `rate` is the number (sampler.h)
 * of the rate at which it was picked, which may no longer be the current one. */
static const uint64_t TRACK_MOVED = UINT64_MAX;
void track_begin(struct record *record, const struct caller *caller, unsigned class, size_t usable,
                 size_t requested, uint64_t born, unsigned rate);
uint64_t track_born(const struct record *record);
/* Fills the walk in the place of the unwinder, with at most `max` frames; NULL: the unwinder. */
typedef void track_walker(struct walk *walk, unsigned max);
extern HIDDEN track_walker *track_walk;
/* False if the block is not counted, because its thread is not recorded or memory was out. */
bool track_rate(const struct record *record, unsigned *rate);
/* A picked block was freed by `caller`, NULL if unknown; or realloc moved it (`moved`). */
void track_end(struct record *record, const struct caller *caller, size_t usable, size_t requested,
               bool moved);
/* A block was resized in place: its record is new, `before` is the `site` of its old record. */
void track_again(const struct record *record, uint32_t before);
/* Whether the calling thread's blocks are recorded; and those of threads without such a call. */
void track_set_thread_active(bool active);
bool track_thread_active(void);
void track_set_threads_active(bool active);
bool track_threads_active(void);
/* Adds 1 or -1 to the number of scopes in which the calling thread is: blocks that it allocates
 * within one are no leaks, whatever leads to them. False: there is no scope to end. */
bool track_set_thread_kept(int change);
/* Whether a block was allocated in such a scope; NULL: no thread was ever in one. */
bool (*track_kept(void))(const struct record *record);
/* The stack of a record's `site`; STACK_NONE: it has none, or what it counted was forgotten. */
uint32_t track_stack(uint32_t word);
/* The calling thread ends. */
void track_thread_end(void);
/* In a forked child. `first`: the calling thread is the one that forked; otherwise what belongs to
 * threads waits until that one calls `track_claim`. */
void track_recover(uint32_t parent_id, bool first);
void track_claim(void);
/* The thread's last call in here was left by a jump out of a signal handler: opens its locks and
 * ends what it had begun. */
void track_abandoned(void);
/* Whether an address is in the calling thread's own stack. False where that is not known yet. */
bool track_own_stack(uintptr_t sp);

/* Calls `row` for every site with data, all sites of one stack in succession. */
void track_each(void (*row)(void *context, const struct track_row *row), void *context);

/* Picked blocks. */
struct track_seen {
    uint64_t live, allocated;
    uint64_t other; /* allocated blocks without a stack, as memory was out for it */
    uint64_t lost;  /* picked, but not recorded (track_lost) */
};
void track_seen(struct track_seen *seen);

/* Sums over all sites after `scale_prepare`. If recording covers the whole run, they are the
 * allocator's counters; requested bytes remain an estimate unless every block is recorded. */
struct track_totals {
    struct track_sum live, allocated, peak;
    uint64_t peak_ms; /* os_now_ms() of the peak */
};
struct scale;
void track_totals(struct track_totals *totals, struct scale *scale);
/* The same with a scale of its own. False if memory is out. */
bool track_totals_now(struct track_totals *totals);

/* A picked block has no record: there was no memory for one, or the block has no place for it. */
void track_lost(void);
/* Whether that has not happened. */
bool track_none_lost(void);
/* A block is not subject to recording, because of where it lies. */
void track_left_out(void);
/* Whether every block since the start of the process was subject to recording. */
bool track_covered(void);
/* Recording begins or ends for all threads. */
void track_recording(bool on);
/* When recording ended, os_now_ms(); 0: it is on. */
uint64_t track_off_ms(void);

/* Forgets what was recorded: the end of a block that is live now will not be seen. */
void track_reset(void);

/* All that is known into the recorder file (lib/watch/mirror.h), which has been made just now. */
void track_copy(void);

/* Measures the speed of the CPU's tick counter; called now and then. */
void track_measure_ticks(void);
/* Ticks (base/arch.h) in microseconds, as far as measured. */
uint64_t track_us(uint64_t ticks);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The door of lib/guard: blocks between pages that nothing may touch (cells.h), what is said when
 * something does, or when a block is found damaged or freed wrongly (report.h), and the signal by
 * which the kernel tells (fault.h). How they are malloc's blocks is told in lib/api/guarding.h.
 */
#ifndef GUARD_GUARD_H
#define GUARD_GUARD_H

#include "base/compiler.h"
#include "lib/guard/cells.h"
#include "lib/guard/debug_queue.h"
#include "lib/guard/debug_trace.h"
#include "lib/guard/fault.h"
#include "lib/guard/report.h"

struct caller; /* lib/watch/unwind.h */

/* Every block is guarded, or some samples are; or every block is debugged (debug.h), and large ones
 * are guarded for that (`guard_fences`). Do not change after the start. */
extern HIDDEN bool guard_all, guard_sampled, guard_debug, guard_fences;
/* All calls must come to cold code: one of the two that are about every block. */
extern HIDDEN bool guard_calls;
/* One block is guarded for every `guard_spans_every` new spans of blocks, and one in
 * `guard_large_every` large blocks; 0: none. Set before the start. */
extern HIDDEN uint64_t guard_spans_every, guard_large_every;
/* One block in `every` of the sizes from `min` to `max`, from the one with number `first` on.
 * Set before the start; all calls must come to cold code then. */
struct guard_counted {
    uint64_t every, first;
    size_t min, max;
};
extern HIDDEN struct guard_counted guard_counted;
extern HIDDEN bool guard_spaced; /* one of them is in force */
/* Whether the next block is to be guarded; `spans`: how many were made until now. */
bool guard_is_due(size_t size, bool large, uint64_t spans);
/* With `guard_sampled`: whether the next sample is to be guarded. */
bool guard_picks(void);

/* At the start, from the options. `scanned`: there will be a scan for lost blocks, which is quicker
 * where few are guarded: only what `guard` itself asks for is. */
void guard_init(bool scanned);
/* In our constructor: the handler of faults. */
void guard_faults(void);
/* At the end of the program: looks for damage around blocks that were never freed. */
void guard_exit(void);
/* Reports an error that a call found; then the program ends, unless the option guard.action wants
 * it to go on. `caller` may be NULL. */
void guard_complain(enum guard_error error, uintptr_t address, const struct cell *cell,
                    const char *call, const struct caller *caller, size_t size);
/* The same about a freed block that leaves the queue: it was written to, at `address`. */
void guard_complain_written(const struct debug_entry *entry, const char *address,
                            const struct caller *caller);
/* Looks for damage around all guarded blocks. */
void guard_verify_cells(const struct caller *caller);

#endif

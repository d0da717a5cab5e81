/* SPDX-License-Identifier: MIT */
/*
 * A signal handler may leave by siglongjmp, or by an exception. If it interrupted the slow code,
 * that call never ends: the thread would seem to be inside for ever, and the locks that it holds
 * would never be given back.
 *
 * The next call notices, since a thread that is inside has the frame of that call on its stack:
 *
 *      - its own frame is where that one was;
 *      - or what the interrupted call keeps in its frame was overwritten;
 *      - or its own frame is further up, on the same stack, and no handler is running: the stack of
 *        one may lie within the thread's own.
 *
 * As long as none is true, calls are served as those of a handler that came in between are, from
 * memory that is never reused. The last is wrong for a handler that switches to a coroutine whose
 * stack is a local array further up, and which then allocates: docs/ARCHITECTURE.md.
 *
 * Then the locks are opened after what they protect was repaired (`alloc_abandoned`,
 * `track_abandoned`). Blocks that the call had in hand are lost, and counts may be off by them.
 */
#ifndef API_ABANDONED_H
#define API_ABANDONED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/lock.h"

struct caller; /* lib/watch/unwind.h */

/* Where the call stands on the stack: at `caller`, which is in the frame of a function that waits
 * for its end, and which says by what it holds whether that frame is still there. Or at `frame`. */
INLINE uint64_t abandoned_place(uintptr_t frame, const struct caller *caller)
{
    uint64_t place = lock_frame_word(caller == NULL ? frame : (uintptr_t)caller);
    return caller == NULL ? place : place | LOCK_SIGNED;
}

/* With nothing held. */
INLINE void abandoned_enter(uint64_t place)
{
    lock_held = place | 1u << LOCK_INSIDE;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* For a call that finds its thread inside. True if the call that is there was left; then the thread
 * is not inside any more. May run in a signal handler. */
bool abandoned_mend(uint64_t place);

#endif

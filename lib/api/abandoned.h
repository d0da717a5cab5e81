/* SPDX-License-Identifier: MIT */
/*
 * A signal handler may leave by siglongjmp, or by an exception. If it interrupted the slow code,
 * that call never ends: the thread would seem to be inside for ever, and the locks that it holds
 * would never be given back.
 *
 * The next call notices, because the frame of an interrupted call is still on the stack while a
 * handler runs. The call was abandoned if
 *
 *      - the new call's frame is where that one was;
 *      - or the contents of the interrupted call's frame were overwritten;
 *      - or the new call's frame is further down, and calls alone led to it, no signal, and none
 *        of ours to a hook of the program's or to libc (`lock_calls_begin`);
 *      - or it is further up on the same stack, and no handler is running (the stack of a handler
 *        may lie within the thread's own).
 *
 * While none of these holds, calls are served like those of a handler, from memory that is never
 * reused. The last is wrong for a handler that switches to a coroutine whose stack is a local
 * array further up, and which then allocates: docs/ARCHITECTURE.md.
 *
 * Then the locks are opened after what they protect was repaired (`alloc_abandoned`,
 * `track_abandoned`). Blocks that the call held are lost, and counts may be off by them.
 */
#ifndef API_ABANDONED_H
#define API_ABANDONED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/lock.h"

struct caller; /* lib/watch/unwind.h */

/* The position of the call on the stack: `caller`, which is in the frame of a function that waits
 * for the call, and whose contents tell whether that frame still exists. Or `frame`. */
INLINE uint64_t abandoned_place(uintptr_t frame, const struct caller *caller)
{
    uint64_t place = lock_frame_word(caller == NULL ? frame : (uintptr_t)caller);
    return caller == NULL ? place : place | LOCK_SIGNED;
}

/* Called with no lock held. */
INLINE void abandoned_enter(uint64_t place)
{
    lock_held = place | 1u << LOCK_INSIDE;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* For a call that finds its thread inside. True if the call that was inside has been abandoned;
 * then the thread is no longer inside. May run in a signal handler. */
bool abandoned_mend(uint64_t place);
/* At the end of the program: if a signal handler that interrupted a call of this thread ends it by
 * exit, that call never goes on, and profiles can be written. */
void abandoned_exit(void);

#endif

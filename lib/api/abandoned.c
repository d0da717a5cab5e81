/* SPDX-License-Identifier: MIT */
/* See lib/api/abandoned.h. */
#include "lib/api/abandoned.h"

#include "base/alternate.h"
#include "base/arch.h"
#include "base/compiler.h"
#include "base/message.h"
#include "base/os.h"
#include "lib/alloc/alloc.h"
#include "lib/api/observers.h"
#include "lib/api/young.h"
#include "lib/guard/guard.h"
#include "lib/heap/observer.h"
#include "lib/watch/watch.h"

static bool is_abandoned(uintptr_t before, uint64_t place);
static void mend(uint64_t place);
static void tell(void);

bool abandoned_mend(uint64_t place)
{
    uintptr_t before = lock_place(lock_held);
    if (before == 0 || !is_abandoned(before, place))
        return false;
    mend(place);
    tell();
    return true;
}

void abandoned_exit(void)
{
    if (lock_place(lock_held) != 0)
        mend(abandoned_place((uintptr_t)__builtin_frame_address(0), NULL));
}

/* From the first line on this call counts as the one inside: a handler that interrupts it must not
 * come to the same conclusion, and if it jumps, the next call begins again. */
static void mend(uint64_t place)
{
    lock_held = place | (lock_held & LOCK_RANKS) | 1u << LOCK_INSIDE;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    observers_abandoned_before();
    alloc_abandoned();
    observers_abandoned();
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    lock_held = 0;
}

/* Whether the frame in which the call began has been overwritten: `struct caller` holds the return
 * address, and on some machines that is in memory a second time. */
static FOREIGN bool frame_is_gone(uintptr_t place)
{
    enum { FRAME_MAX = 4096 }; /* bytes; the caller's own frame is at most this far away */
    const struct caller *caller = (const struct caller *)place;
    if (!(lock_held & LOCK_SIGNED))
        return false;
    if (!os_readable(caller, sizeof *caller)) /* the whole stack is gone */
        return true;
    uintptr_t sp = caller->sp, slot = sp - sizeof sp;
    if (sp - place > FRAME_MAX || sp % sizeof sp != 0)
        return true;
    return ARCH_PUSHES_RETURN && (!os_readable((const void *)slot, sizeof slot) ||
                                  *(const uintptr_t *)slot != caller->pc);
}

/* Whether the thread accepts its usual signals: then no handler runs, as a handler's own signal is
 * blocked, unless it was installed with SA_NODEFER. */
static bool in_no_handler(void)
{
    return young.open != 0 && (os_signals_blocked() & young.open) == 0;
}

static bool is_abandoned(uintptr_t before, uint64_t place)
{
    uintptr_t now = lock_place(place);
    if (now == before || frame_is_gone(before))
        return true;
    if (now < before)
        return (place & LOCK_SIGNED) && !(lock_held & LOCK_CALLS) &&
               unwind_calls_only((const struct caller *)now, before);
    return in_no_handler() && track_own_stack(before) && track_own_stack(now) &&
           alternate_room(now) == ALTERNATE_NONE;
}

static void tell(void)
{
    static const char text[] =
        "memoir: a call of malloc or free was left: a signal handler jumped out of it "
        "(siglongjmp), or its thread was cancelled (pthread_cancel). Blocks that the call had are "
        "lost, and counts are off by them; block the signal, or disable cancellation, around "
        "such calls\n";
    static bool told;
    if (!__atomic_exchange_n(&told, true, __ATOMIC_RELAXED))
        message_write(text, sizeof text - 1);
}

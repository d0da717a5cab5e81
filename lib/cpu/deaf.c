/* SPDX-License-Identifier: MIT */
/*
 * See lib/cpu/deaf.h. A thread's own time tells that its clock should have rung long ago; the
 * kernel then tells what the thread blocks.
 */
#include "lib/cpu/deaf.h"

#include "base/alternate.h"
#include "base/compiler.h"
#include "base/confine.h"
#include "base/os.h"
#include "base/os_timer.h"
#include "lib/cpu/clocks.h"
#include "lib/cpu/events.h"
#include "lib/watch/watch.h"

enum {
    UNHEARD_NS = 20000000, /* the kernel looks at clocks every few milliseconds; a thread may be in
                              a long system call, */
    LATE_NS = 500000000,   /* or, where all time counts, wait for a CPU */
    LOOKS = 64,            /* threads a ring, of about half a microsecond each */
    ASKED_MAX = 64,        /* a look, if none of them is deaf: threads of a program mostly block the
                              same signals; about a millisecond */
};

static int signal_now;
static bool can_hear;    /* our handler is in the place of libc's, and has room everywhere */
static bool may_be_deaf; /* clocks may send libc's signal, for which there was room once */
static bool first_look;
static bool due;          /* a look */
static bool ends_blocked; /* of the threads that had no sample or were deaf, the last one to end
                             blocked the signal */
/* The thread that starts the profile blocks all signals meanwhile, and these otherwise. */
static uint32_t starter;
static uint64_t starters_blocked;

void deaf_open(int signal, uint64_t blocked)
{
    store_relaxed(&signal_now, signal);
    starter = (uint32_t)os_tid_asked();
    starters_blocked = blocked;
    store_relaxed(&can_hear, !alternate_small() && interrupt_open_libcs());
    store_relaxed(&may_be_deaf, load_relaxed(&can_hear));
    store_relaxed(&first_look, true);
    store_relaxed(&due, true);
    store_relaxed(&ends_blocked, false);
    if (load_relaxed(&can_hear))
        return;
    for (uint32_t number = 1; number < tasks_count(); number++)
        store_relaxed(&tasks_at(number)->deaf, false); /* it was in the last profile */
}

bool deaf_can_hear(void)
{
    return load_relaxed(&can_hear) && interrupt_open_libcs();
}

void deaf_leave(void)
{
    static const struct tasks_scan look = {NULL, NULL, deaf_look};
    if (likely(!load_relaxed(&may_be_deaf)))
        return;
    if (__atomic_exchange_n(&can_hear, false, __ATOMIC_RELAXED) && !confined(CONFINE_CPU)) {
        tasks_scan_settle(); /* it may be past its look */
        tasks_scan(&look);
        store_relaxed(&may_be_deaf, false);
    } else {
        tasks_scan_settle();
    }
}

static bool is_in(uint64_t signals)
{
    return signals >> (load_relaxed(&signal_now) - 1) & 1;
}

/* libc sets its own handler when the first thread is made, perhaps after ours. */
void deaf_begin(uint32_t number, uint64_t blocked)
{
    if (!deaf_can_hear())
        return;
    tasks_at(number)->deaf = is_in(blocked) || load_relaxed(&ends_blocked);
    if (tasks_at(number)->deaf)
        clocks_scout_deaf(true);
}

/* A thread that blocked the signal itself may end before it is found. The next ones probably do the
 * same. */
void deaf_end(uint32_t number, uint64_t blocked)
{
    const struct task *task = tasks_at(number);
    if (task->samples == 0 || load_relaxed(&task->deaf))
        store_relaxed(&ends_blocked, is_in(blocked));
}

static bool is_unheard(const struct task *task)
{
    if (load_acquire(&task->state) != TASK_LIVES || load_acquire(&task->timer) < 0)
        return false;
    bool wall = load_acquire(&task->wall_timer) >= 0;
    return clocks_unheard_ns(task) >= UNHEARD_NS ||
           (wall && os_now_ns() > load_relaxed(&task->wall_until_ns) + LATE_NS);
}

bool deaf_seen(void)
{
    static uint32_t next;
    uint32_t end = tasks_count(), looks = end < LOOKS ? end : LOOKS;
    bool seen = false;
    if (!load_relaxed(&can_hear))
        return false;
    for (uint32_t i = 0; i < looks && !seen; i++) {
        uint32_t number = __atomic_add_fetch(&next, 1, __ATOMIC_RELAXED) % end;
        if (number == TASK_NONE || !is_unheard(tasks_at(number)))
            continue;
        if (load_relaxed(&tasks_at(number)->deaf)) /* libc's handler may have taken the place */
            interrupt_open_libcs();
        else
            seen = true;
    }
    if (seen)
        store_relaxed(&due, true);
    return seen;
}

static uint64_t blocked_by(const struct task *task, bool first)
{
    return first && task->tid == starter ? starters_blocked : tasks_blocked((pid_t)task->tid);
}

static void all_leave(void)
{
    clocks_scout_deaf(false);
    for (uint32_t number = 1; number < tasks_count(); number++)
        if (load_relaxed(&tasks_at(number)->deaf))
            clocks_hear(number, false);
}

/* Each look goes on where the last one ended. */
void deaf_look(void)
{
    static uint32_t at;
    bool first = __atomic_exchange_n(&first_look, false, __ATOMIC_RELAXED);
    uint32_t end = tasks_count(), asked_max = ASKED_MAX;
    if (!load_relaxed(&can_hear))
        all_leave();
    if (!__atomic_exchange_n(&due, false, __ATOMIC_RELAXED) || !load_relaxed(&can_hear) ||
        confined(CONFINE_OPEN))
        return;
    for (uint32_t i = 0, asked = 0; i < end && asked < asked_max; i++) {
        uint32_t number = ++at % end;
        struct task *task = tasks_at(number);
        bool asks = first ? load_acquire(&task->state) == TASK_LIVES : is_unheard(task);
        if (number == TASK_NONE || !asks || load_relaxed(&task->deaf))
            continue;
        asked++;
        if (is_in(blocked_by(task, first)) && deaf_can_hear() && clocks_hear(number, true)) {
            asked_max = UINT32_MAX;
            events_disarm(task);
            clocks_scout_deaf(true);
        }
    }
}

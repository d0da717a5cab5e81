/* SPDX-License-Identifier: MIT */
/*
 * See lib/cpu/deaf.h. A thread's own time tells that its clock should have rung long ago; the
 * kernel then tells what the thread blocks.
 */
#include "lib/cpu/deaf.h"

#include "base/compiler.h"
#include "base/confine.h"
#include "base/os.h"
#include "base/os_timer.h"
#include "lib/cpu/clocks.h"
#include "lib/cpu/events.h"
#include "lib/watch/watch.h"

enum {
    UNHEARD_NS = 50000000, /* the kernel looks at clocks every few milliseconds; a thread may be in
                              a long system call, or, where all time counts, wait for a CPU */
    LOOKS = 64,            /* threads a ring, of about half a microsecond each, and first ones that
                              are asked, about a millisecond: threads of a program mostly block the
                              same signals */
};

static int signal_now;
static bool can_hear; /* our handler is in the place of libc's */
static bool first_look;
/* The thread that starts the profile blocks all signals meanwhile, and these otherwise. */
static uint32_t starter;
static uint64_t starters_blocked;

void deaf_open(int signal, uint64_t blocked)
{
    store_relaxed(&signal_now, signal);
    starter = (uint32_t)os_tid_asked();
    starters_blocked = blocked;
    store_relaxed(&can_hear, interrupt_open_libcs());
    store_relaxed(&first_look, true);
}

static bool is_in(uint64_t signals)
{
    return signals >> (load_relaxed(&signal_now) - 1) & 1;
}

/* libc sets its own handler when the first thread is made, perhaps after ours. */
void deaf_begin(uint32_t number, uint64_t blocked)
{
    if (!load_relaxed(&can_hear) || !interrupt_open_libcs())
        return;
    tasks_at(number)->deaf = is_in(blocked);
    if (tasks_at(number)->deaf)
        clocks_scout_deaf();
}

static bool is_unheard(const struct task *task)
{
    if (load_acquire(&task->state) != TASK_LIVES || load_acquire(&task->timer) < 0)
        return false;
    bool wall = load_acquire(&task->wall_timer) >= 0;
    return clocks_unheard_ns(task) >= UNHEARD_NS ||
           (wall && os_now_ns() > load_relaxed(&task->wall_until_ns) + UNHEARD_NS);
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
    return seen;
}

static uint64_t blocked_by(const struct task *task, bool first)
{
    return first && task->tid == starter ? starters_blocked : tasks_blocked((pid_t)task->tid);
}

void deaf_look(void)
{
    bool first = __atomic_exchange_n(&first_look, false, __ATOMIC_RELAXED);
    bool any = false;
    uint32_t asked = 0;
    if (!load_relaxed(&can_hear) || confined(CONFINE_OPEN))
        return;
    for (uint32_t number = 1; number < tasks_count(); number++) {
        struct task *task = tasks_at(number);
        bool asks = first ? load_acquire(&task->state) == TASK_LIVES && (any || asked++ < LOOKS)
                          : is_unheard(task);
        if (!asks || load_relaxed(&task->deaf) || !is_in(blocked_by(task, first)) ||
            !interrupt_open_libcs() || !clocks_hear(number))
            continue;
        any = true;
        events_disarm(task);
        clocks_scout_deaf();
    }
}

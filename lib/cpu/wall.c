/* SPDX-License-Identifier: MIT */
/*
 * See lib/cpu/wall.h. A thread that has no CPU when its timer rings is interrupted later, but has
 * not moved since: what is found is what it did at that moment, and until now. It had no CPU if the
 * signal cut a wait short, or came late. Not so late, it may have had one; a look that finds it
 * just late enough counts twice, for those that were not.
 *
 * A look stands for a stretch of time that was set before, and falls to a random moment of it: so
 * what it finds, and what the one before found, has no part in what it stands for. Looks at even
 * distances, longer after a wait, counted too little of what follows waits (1.5 to 3 points of a
 * thread that waits for the CPU two thirds of its time). The thread's CPU clock tells exactly how
 * long it did not run; what is counted is drawn towards that.
 */
#include "lib/cpu/wall.h"

#include "base/arch.h"
#include "base/compiler.h"
#include "base/os.h"
#include "base/os_timer.h"
#include "lib/cpu/clocks.h"
#include "lib/cpu/samples.h"

enum {
    /* A timer that is that late found its thread waiting for a CPU. The turns of other
     * threads take milliseconds, interrupts much less than this. */
    LATE_NS = 200000,
    SLOW_MAX = 4, /* periods between two looks at a thread that waits, */
    FEW = 128,    /* while there are no more threads than this; with more, as many times more */
    DRAWN = 8,    /* by an eighth of the difference a look */
};

static int64_t left_ns; /* time without a CPU of ended threads that were never looked at */

static uint64_t missed_ns(struct task *task, uint64_t now_ns);
static void place(struct task *task, uint32_t number, uint32_t row, uint64_t ns);
static uint32_t slow_max(const struct task *task);

void wall_sample(uint32_t number, const void *context)
{
    struct task *task = tasks_at(number);
    uint64_t now_ns = os_now_ns(), missed = missed_ns(task, now_ns);
    task->wall_left_ns += context == NULL ? 0 : (int64_t)missed;
    uint64_t until_ns = task->wall_until_ns > now_ns ? task->wall_until_ns : now_ns;
    uint32_t row = context == NULL ? 0 : samples_find(number, context);
    if (row == 0) {
        samples_lost(context != NULL);
        clocks_look(task, now_ns, until_ns, 1);
        return;
    }
    bool waits = arch_wait_interrupted((const char *)context - ARCH_SIGNAL_CONTEXT, os_readable);
    uint64_t late_ns = now_ns > task->wall_rings_ns ? now_ns - task->wall_rings_ns : 0;
    uint64_t ns = task->wall_slow * task->period_ns + (until_ns - task->wall_until_ns);
    if (task->wall_row == 0)
        task->wall_left_ns += __atomic_exchange_n(&left_ns, 0, __ATOMIC_RELAXED);
    if (waits || late_ns > 2 * LATE_NS)
        place(task, number, row, ns);
    else if (late_ns > LATE_NS)
        place(task, number, row, 2 * ns);
    uint32_t max = slow_max(task), slower = task->wall_slow * 2;
    bool same = waits && row == task->wall_row;
    clocks_look(task, now_ns, until_ns, !same ? 1 : slower < max ? slower : max);
    task->wall_row = row;
}

/* What is left belongs to what the thread did last. */
void wall_end(uint32_t number)
{
    struct task *task = tasks_at(number);
    if (load_relaxed(&task->wall_timer) < 0)
        return;
    int64_t left = task->wall_left_ns + (int64_t)missed_ns(task, os_now_ns());
    if (task->wall_row == 0)
        __atomic_fetch_add(&left_ns, left, __ATOMIC_RELAXED);
    else if (left > 0)
        samples_add(task->wall_row, number, 0, (uint64_t)left);
}

/* Since the last look: how long the thread did not run. 0 if it is gone, and its clock with it. */
static uint64_t missed_ns(struct task *task, uint64_t now_ns)
{
    uint64_t cpu_ns = os_clock_ns(os_thread_clock((pid_t)task->tid));
    uint64_t all = now_ns > task->wall_ns ? now_ns - task->wall_ns : 0;
    uint64_t ran = cpu_ns > task->wall_cpu_ns ? cpu_ns - task->wall_cpu_ns : 0;
    if (cpu_ns == 0)
        return 0;
    task->wall_ns = now_ns;
    task->wall_cpu_ns = cpu_ns;
    return ran < all ? all - ran : 0;
}

static void place(struct task *task, uint32_t number, uint32_t row, uint64_t ns)
{
    int64_t counted = (int64_t)ns + (task->wall_left_ns - (int64_t)ns) / DRAWN;
    counted = counted > 0 ? counted : 0;
    task->wall_left_ns -= counted;
    samples_add(row, number, 1, (uint64_t)counted);
}

/* Threads that wait take no more samples in all, however many there are. */
static uint32_t slow_max(const struct task *task)
{
    uint32_t crowds = 1 + clocks_walls() / (FEW + 1), shortest = clocks_look_min(task);
    return SLOW_MAX * (crowds > shortest ? crowds : shortest);
}

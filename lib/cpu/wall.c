/* SPDX-License-Identifier: MIT */
/*
 * See lib/cpu/wall.h. The thread's own CPU clock tells how much of the time it ran. Where its timer
 * is slow because it waited, and it is found elsewhere now, what it did not run was spent in the
 * place where it waited; only the rest belongs to what it does now. If it had to leave its CPU to
 * others meanwhile, it is not known when the wait was over: half of the rest belongs to each.
 */
#include "lib/cpu/wall.h"

#include "base/os.h"
#include "base/os_timer.h"
#include "lib/cpu/clocks.h"
#include "lib/cpu/samples.h"

enum {
    IDLE_SHARE = 8, /* it waits if it ran for less than an eighth of the time */
    SLOW_MAX = 4,   /* periods between two samples of a thread that waits, */
    FEW = 128,      /* while there are no more threads than this; with more, as many times more */
};

static uint32_t slow_max(void);

void wall_sample(uint32_t number, const void *context)
{
    struct task *task = tasks_at(number);
    uint64_t now_ns = os_now_ns(), cpu_ns = os_clock_ns(os_thread_clock((pid_t)task->tid));
    uint64_t preempted = os_thread_preempted();
    uint64_t all = now_ns > task->wall_ns ? now_ns - task->wall_ns : 0;
    uint64_t ran = cpu_ns > task->wall_cpu_ns ? cpu_ns - task->wall_cpu_ns : 0;
    ran = ran < all ? ran : all;
    uint32_t row = samples_find(number, context);
    if (row == 0) {
        samples_lost(1);
        return;
    }
    bool idle = ran * IDLE_SHARE < all, same = row == task->wall_row;
    if (!same && task->wall_slow > 1 && task->wall_row != 0) {
        uint64_t waited = preempted != task->wall_preempted ? (all - ran) / 2 : all - ran;
        samples_add(task->wall_row, number, 0, waited);
        samples_add(row, number, 1, all - waited + clocks_bonus_ns(number));
    } else {
        samples_add(row, number, 1, all + clocks_bonus_ns(number));
    }
    task->wall_preempted = preempted;
    task->wall_ns = now_ns;
    task->wall_cpu_ns = cpu_ns;
    task->wall_row = row;
    uint32_t most = slow_max(), slow = task->wall_slow * 2 < most ? task->wall_slow * 2 : most;
    clocks_slow(number, idle && same ? slow : 1);
}

/* Threads that wait take no more samples in all, however many there are. */
static uint32_t slow_max(void)
{
    uint32_t threads = tasks_count();
    return threads <= FEW ? SLOW_MAX : SLOW_MAX * (threads / FEW + 1);
}

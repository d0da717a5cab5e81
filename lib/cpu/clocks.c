/* SPDX-License-Identifier: MIT */
/*
 * See lib/cpu/clocks.h. A timer belongs to the row of its thread (lib/watch/tasks.h) and is changed
 * by the thread itself, by the one that starts or stops the profile, and by the scan for threads,
 * never by two at a time. What ended threads left without a sample is one sum for all.
 */
#include "lib/cpu/clocks.h"

#include "base/compiler.h"
#include "base/os.h"
#include "base/os_timer.h"
#include "lib/watch/watch.h"

enum { NS = 1000000000, SCOUT_NS = NS / 10, BONUS_MOST = 1000 };

static uint64_t period_ns = NS / 100;
static int signal_now;
static bool wall_now;
static int64_t left_ns; /* of ended threads: CPU time less what their samples stand for */
static int scout = -1;

void clocks_open(unsigned rate, int signal, bool wall)
{
    clocks_set_rate(rate);
    store_relaxed(&wall_now, wall);
    store_relaxed(&signal_now, signal);
    store_relaxed(&left_ns, 0);
}

void clocks_set_rate(unsigned rate)
{
    store_relaxed(&period_ns, NS / rate);
}

/* Expirations that the next thread is to stand for. */
static uint32_t bonus_take(uint64_t period)
{
    int64_t left = load_relaxed(&left_ns), whole;
    do {
        whole = left / (int64_t)period;
        if (whole <= 0)
            return 0;
        whole = whole < BONUS_MOST ? whole : BONUS_MOST;
    } while (!__atomic_compare_exchange_n(&left_ns, &left, left - whole * (int64_t)period, false,
                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return (uint32_t)whole;
}

/* A number below `limit`, other in each thread. */
static uint64_t phase(uint64_t limit)
{
    static uint64_t state;
    uint64_t x = __atomic_add_fetch(&state, UINT64_C(0x9e3779b97f4a7c15), __ATOMIC_RELAXED);
    if (x == UINT64_C(0x9e3779b97f4a7c15))
        x = __atomic_add_fetch(&state, os_random(), __ATOMIC_RELAXED);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return (x ^ x >> 31) % limit;
}

static void clock_set(struct task *task)
{
    uint64_t period = load_relaxed(&period_ns);
    task->period_ns = period;
    task->from_ns = os_clock_ns(os_thread_clock((pid_t)task->tid));
    task->told_ns = 0;
    task->bonus = bonus_take(period);
    task->wall_ns = os_now_ns();
    task->wall_cpu_ns = task->from_ns;
    task->wall_slow = 1;
    os_timer_set(task->timer, task->bonus > 0 ? 1 : 1 + phase(period), period);
}

bool clocks_arm(uint32_t number, bool begins)
{
    struct task *task = tasks_at(number);
    int clock = load_relaxed(&wall_now) ? OS_CLOCK_WALL : os_thread_clock((pid_t)task->tid);
    int timer =
        os_timer_make(clock, (pid_t)task->tid, load_relaxed(&signal_now), interrupt_value(number));
    if (timer < 0)
        return false;
    store_release(&task->timer, timer);
    clock_set(task);
    if (begins)
        task->from_ns = 0;
    return true;
}

/* Notes what the thread has used up to now; the rest that no sample stands for, if it ends. */
static void settle(struct task *task, bool ends)
{
    uint64_t now_ns = os_clock_ns(os_thread_clock((pid_t)task->tid));
    uint64_t used = now_ns > task->from_ns ? now_ns - task->from_ns : 0;
    task->used_ns += used;
    task->from_ns += used;
    int64_t left = load_relaxed(&wall_now) ? (int64_t)(os_now_ns() - task->wall_ns)
                                           : (int64_t)used - (int64_t)task->told_ns;
    left += (int64_t)(task->bonus * task->period_ns);
    task->bonus = 0;
    if (ends)
        __atomic_fetch_add(&left_ns, left, __ATOMIC_RELAXED);
}

void clocks_disarm(uint32_t number, bool ends)
{
    struct task *task = tasks_at(number);
    int timer = __atomic_exchange_n(&task->timer, -1, __ATOMIC_ACQ_REL);
    if (timer < 0)
        return;
    os_timer_remove(timer);
    settle(task, ends);
}

void clocks_renew(uint32_t number)
{
    struct task *task = tasks_at(number);
    if (load_acquire(&task->timer) < 0)
        return;
    settle(task, false);
    clock_set(task);
}

void clocks_slow(uint32_t number, uint32_t times)
{
    struct task *task = tasks_at(number);
    int timer = load_acquire(&task->timer);
    if (times == task->wall_slow || timer < 0)
        return;
    task->wall_slow = times;
    os_timer_set(timer, times * task->period_ns, times * task->period_ns);
}

uint64_t clocks_bonus_ns(uint32_t number)
{
    struct task *task = tasks_at(number);
    uint64_t bonus = task->bonus * task->period_ns;
    task->bonus = 0;
    return bonus;
}

uint64_t clocks_weight(uint32_t number, int overrun)
{
    struct task *task = tasks_at(number);
    uint64_t weight = overrun > 0 ? (uint64_t)overrun : 0, bonus = task->bonus;
    task->bonus = 0;
    task->told_ns += (weight + (bonus == 0)) * task->period_ns;
    return weight + (bonus == 0 ? 1 : bonus);
}

void clocks_scout(bool on)
{
    if (scout >= 0)
        os_timer_remove(scout);
    scout = !on ? -1
                : os_timer_make(OS_CLOCK_PROCESS, 0, load_relaxed(&signal_now),
                                interrupt_value(TASK_NONE));
    if (scout >= 0)
        os_timer_set(scout, SCOUT_NS, SCOUT_NS);
}

void clocks_forked(void)
{
    scout = -1;
    left_ns = 0;
}

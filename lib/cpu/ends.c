/* SPDX-License-Identifier: MIT */
/*
 * See lib/cpu/ends.h. What is left is CPU time of the process that no thread's clock has told of.
 * A thread that we know nothing of leaves its time there, too; so no end counts for more than
 * END_MAX_NS.
 */
#include "lib/cpu/ends.h"

#include "base/compiler.h"
#include "base/os.h"
#include "base/os_timer.h"
#include "lib/cpu/clocks.h"
#include "lib/cpu/cpu.h"

/* A bound for what the kernel does at the end of one thread. With threads of 20 us to 3 ms,
 * 1.161 of 1.174 s were counted, and 1.120 of 1.172 without ends. */
enum { END_MAX_NS = 200000 };

/* BULK: in memory that programs without a CPU profile never touch. */
static BULK int64_t before_ns;   /* of the process, and in no thread's clock at `ends_begin` */
static BULK uint64_t ended_ns;   /* CPU time of ended threads by their clocks */
static BULK uint64_t counted_ns; /* since `ends_begin` */
static BULK uint32_t ended;      /* threads since then */
static BULK uint32_t row;        /* of samples: where threads end; 0: not known yet */
static BULK uint32_t counting;

static void spread_left(void);
static int64_t unknown_ns(void);

void ends_begin(void)
{
    before_ns = unknown_ns();
    store_relaxed(&counted_ns, 0);
    store_relaxed(&ended, 0);
}

void ends_forked(void)
{
    store_relaxed(&counting, 0); /* by a thread that stayed behind */
}

void ends_add(const struct task *task)
{
    __atomic_fetch_add(&ended_ns, task->used_ns, __ATOMIC_RELAXED);
    __atomic_fetch_add(&ended, 1, __ATOMIC_RELAXED);
    if (!clocks_left_much() || __atomic_exchange_n(&counting, 1, __ATOMIC_ACQUIRE) != 0)
        return;
    spread_left();
    store_release(&counting, 0);
}

void ends_note(uint32_t number, const struct caller *at)
{
    if (load_relaxed(&row) == 0)
        store_relaxed(&row, samples_find_caller(number, at));
}

void ends_count(void)
{
    uint64_t period_ns = clocks_period_ns();
    if (load_relaxed(&row) == 0 || !cpu_runs() ||
        __atomic_exchange_n(&counting, 1, __ATOMIC_ACQUIRE) != 0)
        return;
    uint64_t max = (uint64_t)load_relaxed(&ended) * END_MAX_NS;
    int64_t now_ns = unknown_ns();
    uint64_t left = now_ns > before_ns ? (uint64_t)(now_ns - before_ns) : 0;
    left = left < max ? left : max;
    if (left > counted_ns + period_ns) {
        uint64_t samples = (left - counted_ns) / period_ns;
        counted_ns += samples * period_ns;
        samples_add(row, TASK_NONE, samples, samples * period_ns);
    }
    spread_left();
    store_release(&counting, 0);
}

/* The caller is the only one that spreads. */
static void spread_left(void)
{
    uint64_t missed_ns = clocks_left_take();
    if (missed_ns > 0 && !samples_spread_others(missed_ns))
        clocks_left_give(missed_ns);
}

/* CPU time of the process that no thread's clock has told of. */
static int64_t unknown_ns(void)
{
    uint64_t all = os_clock_ns(OS_CLOCK_PROCESS), known = load_relaxed(&ended_ns);
    for (uint32_t number = 1; number < tasks_count(); number++) {
        const struct task *task = tasks_at(number);
        if (load_acquire(&task->state) == TASK_LIVES)
            known += cpu_used_ns(task);
    }
    return (int64_t)(all - known);
}

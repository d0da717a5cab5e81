/* SPDX-License-Identifier: MIT */
/*
 * See lib/cpu/clocks.h. A timer belongs to the row of its thread (lib/watch/tasks.h) and is changed
 * by the thread itself, by the one that starts or stops the profile, and by the scan for threads,
 * never by two at a time. While a thread may be in its handler, what is counted is written by it
 * alone: another one that changes the rate only makes the timer ring. What ended threads left
 * without a sample is one sum for all.
 */
#include "lib/cpu/clocks.h"

#include "base/compiler.h"
#include "base/os.h"
#include "base/os_timer.h"
#include "lib/watch/watch.h"

enum {
    NS = 1000000000,
    SCOUT_NS = NS / 10, /* CPU time of the process between two looks for threads without a clock */
    BONUS_MAX = 16,     /* what ended threads left and is more belongs to what they did, not to the
                          next thread, which may do something else */
    AHEAD_EVERY = 8,    /* threads of which one stands for others in advance: of many that begin
                          before the first one ends, some must */
    LOOKS_MAX = 16000,  /* a second, of all threads; one takes 2 to 10 us, a wake included */
    TICK_NS = NS / 100, /* the longest of Linux: what a ring may stand for at once */
    DRAWN = 8,          /* a ring takes an eighth of what is more */
};

static uint64_t period_ns = NS / 100;
static int signal_now;
static bool wall_now;
static int64_t left_ns; /* of ended threads: CPU time less what their samples stand for */
static int scout = -1, scout_deaf = -1;
static bool any_deaf;
static uint32_t walls;  /* threads with a second timer */
static uint32_t owners; /* threads that are about to make or remove their own clock */

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

uint64_t clocks_period_ns(void)
{
    return load_relaxed(&period_ns);
}

/* Expirations that the next thread is to stand for. What it takes in advance comes back when it
 * ends: its own first one does not ring. */
static uint32_t bonus_take(uint64_t period)
{
    static uint32_t begun;
    bool ahead = __atomic_add_fetch(&begun, 1, __ATOMIC_RELAXED) % AHEAD_EVERY == AHEAD_EVERY / 2;
    int64_t left = load_relaxed(&left_ns), whole;
    do {
        whole = left / (int64_t)period;
        if (whole <= 0 && !ahead)
            return 0;
        whole = whole > 0 ? whole : 1;
        whole = whole < BONUS_MAX ? whole : BONUS_MAX;
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

/* Where all time counts, from now on. */
static void wall_set(struct task *task, uint64_t cpu_ns)
{
    task->wall_ns = os_now_ns();
    task->wall_cpu_ns = cpu_ns;
    task->wall_row = 0;
    task->wall_left_ns = 0;
    clocks_look(task, task->wall_ns, task->wall_ns, 1);
}

static void clock_set(struct task *task)
{
    uint64_t period = load_relaxed(&period_ns);
    task->period_ns = period;
    task->from_ns = os_clock_ns(os_thread_clock((pid_t)task->tid));
    task->told_ns = 0;
    task->bonus = bonus_take(period);
    task->first_ns = task->bonus > 0 ? UINT64_MAX : 1 + phase(period);
    os_timer_set(task->timer, task->bonus > 0 ? 1 : task->first_ns, period);
    if (task->wall_timer >= 0)
        wall_set(task, task->from_ns);
}

static int signal_of(bool deaf)
{
    return deaf ? INTERRUPT_LIBCS : load_relaxed(&signal_now);
}

/* The second timer, where there is one: it is there before the first. */
static bool wall_arm(struct task *task, uint32_t number)
{
    if (!load_relaxed(&wall_now))
        return true;
    int timer = os_timer_make(OS_CLOCK_WALL, (pid_t)task->tid, signal_of(task->deaf),
                              interrupt_value(number | CLOCKS_WALL));
    store_release(&task->wall_timer, timer < 0 ? -1 : timer);
    if (timer >= 0)
        __atomic_fetch_add(&walls, 1, __ATOMIC_RELAXED);
    return timer >= 0;
}

static void wall_disarm(struct task *task)
{
    int timer = __atomic_exchange_n(&task->wall_timer, -1, __ATOMIC_ACQ_REL);
    if (timer < 0)
        return;
    os_timer_remove(timer);
    __atomic_fetch_sub(&walls, 1, __ATOMIC_RELAXED);
}

bool clocks_arm(uint32_t number, bool begins)
{
    struct task *task = tasks_at(number);
    if (!wall_arm(task, number))
        return false;
    int timer = os_timer_make(os_thread_clock((pid_t)task->tid), (pid_t)task->tid,
                              signal_of(task->deaf), interrupt_value(number));
    if (timer < 0) {
        wall_disarm(task);
        return false;
    }
    store_release(&task->timer, timer);
    clock_set(task);
    if (begins)
        task->from_ns = 0;
    return true;
}

/* What expirations stand for that came to pass in `used` nanoseconds and rang in no handler. */
static uint64_t unheard(const struct task *task, uint64_t used)
{
    bool own = task->first_ns != UINT64_MAX;
    uint64_t first = own ? task->first_ns : 1, period = task->period_ns;
    uint64_t all = used < first ? 0 : (used - first) / period + own;
    return all * period > task->told_ns ? all * period - task->told_ns : 0;
}

/* Notes what the thread has used up to now; the rest that no sample stands for, if it ends. Of one
 * that is gone, and its clock with it, only samples tell. */
static uint64_t settle(struct task *task, bool ends)
{
    uint64_t now_ns = os_clock_ns(os_thread_clock((pid_t)task->tid));
    uint64_t used = now_ns > task->from_ns ? now_ns - task->from_ns : 0;
    used = now_ns == 0 ? task->told_ns : used;
    task->used_ns += used;
    task->from_ns += used;
    uint64_t rest = ends && task->samples > 0 ? unheard(task, used) : 0;
    int64_t left = (int64_t)used - (int64_t)(task->told_ns + rest);
    left += (int64_t)(task->bonus * task->period_ns);
    task->bonus = 0;
    if (ends)
        __atomic_fetch_add(&left_ns, left, __ATOMIC_RELAXED);
    return rest;
}

uint64_t clocks_disarm(uint32_t number, bool ends)
{
    struct task *task = tasks_at(number);
    int timer = __atomic_exchange_n(&task->timer, -1, __ATOMIC_ACQ_REL);
    if (timer < 0)
        return 0;
    os_timer_remove(timer);
    wall_disarm(task);
    return settle(task, ends);
}

/* The one that is there goes, unless the thread ends meanwhile and removes it. The new one rings
 * only when the thread, whose handler sets it anew, knows it. */
static bool timer_exchange(int32_t *timer, int clock, const struct task *task, uintptr_t value,
                           uint64_t first_ns, uint64_t every_ns)
{
    int32_t before = load_acquire(timer);
    int signal = signal_of(load_relaxed(&task->deaf));
    int now = before < 0 ? -1 : os_timer_make(clock, (pid_t)task->tid, signal, value);
    if (now < 0)
        return false;
    bool changed =
        __atomic_compare_exchange_n(timer, &before, now, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
    os_timer_remove(changed ? before : now);
    if (changed)
        os_timer_set(now, first_ns, every_ns);
    return changed;
}

bool clocks_hear(uint32_t number, bool deaf)
{
    struct task *task = tasks_at(number);
    uint64_t period = load_relaxed(&period_ns);
    store_relaxed(&task->deaf, deaf);
    if (load_acquire(&task->wall_timer) >= 0 &&
        !timer_exchange(&task->wall_timer, OS_CLOCK_WALL, task,
                        interrupt_value(number | CLOCKS_WALL), period, 0)) {
        store_relaxed(&task->deaf, !deaf);
        return false;
    }
    return timer_exchange(&task->timer, os_thread_clock((pid_t)task->tid), task,
                          interrupt_value(number), 1 + phase(period), period);
}

void clocks_renew(uint32_t number)
{
    struct task *task = tasks_at(number);
    clocks_ring(task);
    int timer = load_acquire(&task->wall_timer);
    if (timer >= 0)
        os_timer_set(timer, 1, 0);
}

void clocks_ring(struct task *task)
{
    int timer = load_acquire(&task->timer);
    if (timer >= 0)
        os_timer_set(timer, 1, load_relaxed(&period_ns));
}

bool clocks_adopt(struct task *task, uint64_t *ns)
{
    if (likely(task->period_ns == load_relaxed(&period_ns)))
        return false;
    *ns = clocks_passed_ns(task);
    settle(task, false);
    clock_set(task);
    return true;
}

uint32_t clocks_walls(void)
{
    return load_relaxed(&walls);
}

uint32_t clocks_look_min(const struct task *task)
{
    uint64_t stretch_ns = (uint64_t)load_relaxed(&walls) * NS / LOOKS_MAX;
    return 1 + (uint32_t)(stretch_ns / task->period_ns);
}

void clocks_look(struct task *task, uint64_t now_ns, uint64_t from_ns, uint32_t times)
{
    uint32_t times_min = clocks_look_min(task);
    times = times > times_min ? times : times_min;
    uint64_t stretch_ns = times * task->period_ns;
    int timer = load_acquire(&task->wall_timer);
    task->wall_slow = times;
    task->wall_rings_ns = from_ns + phase(stretch_ns);
    task->wall_until_ns = from_ns + stretch_ns;
    if (timer >= 0)
        os_timer_set(timer, task->wall_rings_ns > now_ns ? task->wall_rings_ns - now_ns : 1, 0);
}

uint64_t clocks_left_take(void)
{
    int64_t left = load_relaxed(&left_ns);
    while (left > 0 && !__atomic_compare_exchange_n(&left_ns, &left, 0, false, __ATOMIC_RELAXED,
                                                    __ATOMIC_RELAXED)) {
    }
    return left > 0 ? (uint64_t)left : 0;
}

bool clocks_left_much(void)
{
    return load_relaxed(&left_ns) > 2 * BONUS_MAX * (int64_t)load_relaxed(&period_ns);
}

void clocks_left_give(uint64_t ns)
{
    __atomic_fetch_add(&left_ns, (int64_t)ns, __ATOMIC_RELAXED);
}

uint64_t clocks_weight(uint32_t number, int overrun, bool *for_others)
{
    struct task *task = tasks_at(number);
    uint64_t weight = overrun > 0 ? (uint64_t)overrun : 0, bonus = task->bonus;
    *for_others = bonus != 0;
    task->bonus = 0;
    task->told_ns += (weight + (bonus == 0)) * task->period_ns;
    return weight + (bonus == 0 ? 1 : bonus);
}

static uint64_t unheard_now(const struct task *task, int clock)
{
    uint64_t now_ns = os_clock_ns(clock);
    return unheard(task, now_ns > task->from_ns ? now_ns - task->from_ns : 0);
}

uint64_t clocks_passed_ns(struct task *task)
{
    uint64_t ns = unheard_now(task, OS_CLOCK_SELF);
    task->told_ns += ns;
    return ns;
}

uint64_t clocks_drawn_ns(struct task *task)
{
    uint64_t ns = unheard_now(task, OS_CLOCK_SELF);
    uint64_t at_once = task->period_ns > TICK_NS ? task->period_ns : TICK_NS;
    ns = ns > 2 * at_once ? at_once + (ns - at_once) / DRAWN : ns;
    task->told_ns += ns;
    return ns;
}

uint64_t clocks_unheard_ns(const struct task *task)
{
    return unheard_now(task, os_thread_clock((pid_t)task->tid));
}

/* What the thread stood in for goes back to the others. */
void clocks_untell(struct task *task, uint64_t ns)
{
    uint64_t own = ns < task->told_ns ? ns : task->told_ns;
    task->told_ns -= own;
    clocks_left_give(ns - own);
}

static int scout_make(int clock, int signal, uint64_t every_ns)
{
    int timer = os_timer_make(clock, 0, signal, interrupt_value(TASK_NONE));
    if (timer >= 0)
        os_timer_set(timer, SCOUT_NS, every_ns);
    return timer;
}

void clocks_scout(bool on, bool libcs)
{
    bool wall = load_relaxed(&wall_now), deaf = libcs && load_relaxed(&any_deaf);
    bool second = on && libcs && (wall || !deaf);
    int process = OS_CLOCK_PROCESS;
    int first_now = on ? scout_make(process, signal_of(deaf), SCOUT_NS) : -1;
    int second_now = second ? scout_make(wall ? OS_CLOCK_WALL : process, INTERRUPT_LIBCS, NS) : -1;
    int before[] = {__atomic_exchange_n(&scout, first_now, __ATOMIC_ACQ_REL),
                    __atomic_exchange_n(&scout_deaf, second_now, __ATOMIC_ACQ_REL)};
    for (unsigned i = 0; i < COUNT_OF(before); i++)
        if (before[i] >= 0)
            os_timer_remove(before[i]);
}

/* In a static program libc's handler may take the place of ours unseen. */
void clocks_scout_deaf(bool deaf)
{
    int before = load_acquire(&scout);
    int second = deaf ? -1 : __atomic_exchange_n(&scout_deaf, -1, __ATOMIC_ACQ_REL);
    if (second >= 0)
        os_timer_remove(second);
    if (os_static() || __atomic_exchange_n(&any_deaf, deaf, __ATOMIC_RELAXED) == deaf || before < 0)
        return;
    int now = scout_make(OS_CLOCK_PROCESS, signal_of(deaf), SCOUT_NS);
    bool changed = now >= 0 && __atomic_compare_exchange_n(&scout, &before, now, false,
                                                           __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
    if (now >= 0)
        os_timer_remove(changed ? before : now);
}

/* The timers count the CPU time of all threads: as many as there are may run until the next call
 * that puts the timers off. */
bool clocks_heard(void)
{
    enum { PAUSE_MS = 20, PAUSES = 5, BUSY_MAX = 64 };
    static uint64_t next_ms;
    static uint32_t count;
    uint64_t now_ms = os_now_ms(), next = load_relaxed(&next_ms);
    if (now_ms < next || !__atomic_compare_exchange_n(&next_ms, &next, now_ms + PAUSE_MS, false,
                                                      __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        return false;
    int timer = load_acquire(&scout), second = load_acquire(&scout_deaf);
    uint64_t busy = tasks_count() < BUSY_MAX ? tasks_count() : BUSY_MAX;
    uint64_t used_ns = busy * PAUSE_MS * (NS / 1000);
    if (timer >= 0)
        os_timer_set(timer, SCOUT_NS + used_ns, SCOUT_NS);
    if (second >= 0)
        os_timer_set(second, NS + used_ns, NS);
    return __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED) % PAUSES == 0;
}

/* Either the thread sees that the profile has ended, or `clocks_settle` sees the thread. */
void clocks_own_begin(void)
{
    __atomic_fetch_add(&owners, 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void clocks_own_end(void)
{
    __atomic_fetch_sub(&owners, 1, __ATOMIC_RELEASE);
}

void clocks_settle(void)
{
    enum { PATIENCE_MS = 1000 }; /* it takes microseconds, unless the thread has no processor */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    for (unsigned i = 0; i < PATIENCE_MS; i++) {
        uint32_t now = load_acquire(&owners);
        if (now == 0)
            return;
        os_wait(&owners, now, 1);
    }
}

void clocks_forked(void)
{
    owners = 0;
    scout = scout_deaf = -1;
    left_ns = 0;
    walls = 0;
}

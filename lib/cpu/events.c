/* SPDX-License-Identifier: MIT */
/*
 * See lib/cpu/events.h. `event` of a thread's row is 0, OPENING, FAILED or the event's address. The
 * one thread of ours that runs at a time opens events; a thread that ends meanwhile leaves a 0, and
 * the event is closed again. All else is written by the thread itself, in its handler.
 */
#include "lib/cpu/events.h"

#include <signal.h>

#include "base/attach_protocol.h"
#include "base/compiler.h"
#include "base/confine.h"
#include "base/os_timer.h"
#include "lib/cpu/clocks.h"

static const uintptr_t OPENING = 1, FAILED = 2;
enum {
    DRAWN = 8, /* a ring takes an eighth of what is left */
    OFTEN = 8, /* rings of a timer a tick: every tick that finds the thread running is seen */
};

static BULK uint64_t tick_ns;
static BULK bool wanted;
static BULK bool user_only;           /* by what the kernel allowed last */
static BULK bool some_all, some_user; /* which kinds there have been since the start */
static BULK int signal_now;

static bool is_open(uintptr_t event);
static void arm_one(struct task *task);
static bool timer_yield(struct task *task);
static uint64_t system_ns(struct task *task);

void events_open(int signal)
{
    bool harmless = signal == SIGWINCH || signal == ATTACH_SIGNAL;
    store_release(&wanted, false);
    user_only = some_all = some_user = false;
    if (!harmless || confined(CONFINE_EVENTS) || os_is_filtered())
        return;
    tick_ns = os_tick_ns();
    signal_now = signal;
    interrupt_expect_events(signal);
    store_release(&wanted, clocks_period_ns() < tick_ns);
}

enum recorder_cpu_source events_source(void)
{
    if (load_relaxed(&some_user))
        return RECORDER_BY_BOTH;
    return load_relaxed(&some_all) ? RECORDER_BY_EVENTS : RECORDER_BY_TIMERS;
}

bool events_missing(const struct task *task)
{
    return load_relaxed(&wanted) && load_relaxed(&task->event) == 0 && !load_relaxed(&task->deaf);
}

void events_arm(void)
{
    for (uint32_t number = 1; number < tasks_count(); number++) {
        struct task *task = tasks_at(number);
        if (load_acquire(&task->state) == TASK_LIVES && load_acquire(&task->timer) >= 0 &&
            events_missing(task) && !confined(CONFINE_EVENTS))
            arm_one(task);
    }
}

/* A process that may not sample the kernel is asked to do without once; then never again. */
static void arm_one(struct task *task)
{
    uintptr_t none = 0, opening = OPENING;
    bool denied = false;
    if (!__atomic_compare_exchange_n(&task->event, &none, OPENING, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
        return;
    bool user = user_only;
    void *event = os_event_make((pid_t)task->tid, signal_now, clocks_period_ns(),
                                user ? OS_EVENT_USER : OS_EVENT_ALL, &denied);
    if (denied && !user) {
        user_only = user = true;
        event =
            os_event_make((pid_t)task->tid, signal_now, clocks_period_ns(), OS_EVENT_USER, &denied);
    }
    if (denied)
        store_relaxed(&wanted, false);
    task->event_user = user;
    if (event != NULL)
        store_relaxed(user ? &some_user : &some_all, true);
    if (!__atomic_compare_exchange_n(&task->event, &opening,
                                     event == NULL ? FAILED : (uintptr_t)event, false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_RELAXED) &&
        event != NULL)
        os_event_remove(event);
}

static bool is_open(uintptr_t event)
{
    return event > FAILED;
}

void events_disarm(struct task *task)
{
    uintptr_t event = __atomic_exchange_n(&task->event, 0, __ATOMIC_ACQ_REL);
    task->event_leads = task->event_based = false;
    if (is_open(event))
        os_event_remove((void *)event);
}

void events_forget(struct task *task)
{
    task->event = 0;
    task->event_leads = task->event_based = false;
}

void events_begin_anew(struct task *task)
{
    task->event_leads = task->event_based = false;
}

uint64_t events_ring(struct task *task)
{
    if (!is_open(load_relaxed(&task->event)))
        return 0; /* a late one */
    if (!task->event_leads && !timer_yield(task))
        return 0;
    if (!task->event_user)
        return clocks_passed_ns(task);
    int64_t drawn = task->event_left_ns / DRAWN;
    drawn = drawn < -(int64_t)task->period_ns ? -(int64_t)task->period_ns : drawn;
    task->event_left_ns -= drawn;
    task->event_told_ns += task->period_ns;
    task->told_ns += task->period_ns + (uint64_t)drawn;
    return task->period_ns + (uint64_t)drawn;
}

/* False: the event was closed meanwhile, after which the timer was set by another thread, perhaps
 * before this one has; it is the thread's only clock again. */
static bool timer_yield(struct task *task)
{
    uintptr_t event = load_relaxed(&task->event);
    uint64_t every_ns = task->event_user ? tick_ns / OFTEN : 0;
    int timer = load_acquire(&task->timer);
    task->event_leads = true;
    task->event_based = false;
    if (timer >= 0)
        os_timer_set(timer, every_ns, every_ns);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (is_open(event) && load_relaxed(&task->event) == event)
        return true;
    task->event_leads = false;
    clocks_ring(task);
    return false;
}

bool events_timer(struct task *task, uint64_t *ns)
{
    if (!task->event_leads || !is_open(load_relaxed(&task->event)))
        return false;
    *ns = task->event_user && task->event_based ? system_ns(task) : clocks_passed_ns(task);
    if (task->event_user && !task->event_based) {
        task->event_usage = os_usage_self();
        task->event_told_ns = task->event_left_ns = task->event_owed_ns = 0;
        task->event_based = true;
    }
    return true;
}

/* The kernel counts a tick as user or system time by what it finds, and the timer rings at the
 * same tick; how much a tick is worth it decides later. So system time waits for a ring that found
 * the thread in the kernel. */
static uint64_t system_ns(struct task *task)
{
    struct os_usage now = os_usage_self();
    uint64_t user = now.user_ns - task->event_usage.user_ns;
    uint64_t system = now.system_ns - task->event_usage.system_ns;
    task->event_usage = now;
    task->event_left_ns += (int64_t)user - (int64_t)task->event_told_ns;
    task->event_told_ns = 0;
    task->event_owed_ns += system;
    if (system <= user)
        return 0;
    uint64_t ns = task->event_owed_ns;
    task->event_owed_ns = 0;
    task->told_ns += ns;
    return ns;
}

/* SPDX-License-Identifier: MIT */
/*
 * See lib/cpu/cpu.h. While the profile runs, threads come to have clocks in three ways: they exist
 * when it starts (tasks_scan), they begin with cpu_thread_begin, or the timer of the process finds
 * them at work. All is changed under one lock, which no handler takes.
 */
#include "lib/cpu/cpu.h"

#include <errno.h>
#include <signal.h>

#include "base/attach_protocol.h"
#include "base/compiler.h"
#include "base/config.h"
#include "base/confine.h"
#include "base/lock.h"
#include "base/os.h"
#include "base/os_thread.h"
#include "base/os_timer.h"
#include "lib/alloc/alloc.h"
#include "lib/cpu/clocks.h"
#include "lib/cpu/ends.h"
#include "lib/cpu/events.h"
#include "lib/cpu/wall.h"

enum {
    ENDED_MAX = 1024, /* ended threads that are told apart */
    LOOK_EVERY = 10,  /* rings of the process's timer: so often the kernel is asked for all threads,
                         and at the 1st, 2nd, 4th and 8th: most begin early */
    LOOK_FEW = 16,    /* and at each, up to this number of them */
    COPY_PAUSE = 50,  /* times as long as `about_copy` took */
};

/* The longest pause, however long a copy takes: what a killed program's file lacks at most. */
static const uint64_t COPY_MAX_NS = 10000000000;

uint32_t cpu_running;

static struct lock lock = {.rank = LOCK_CPU};
static uint32_t users; /* a sum of `enum cpu_user` */
static unsigned rate_now = 100;
static int signal_now;
static bool wall_now;
static int (*filter)(void *argument);
static void *filter_argument;
static uint32_t uncovered, ended;
static uint64_t first_ms;
/* Sums up to the last start, and the values at that moment. */
static uint64_t on_ns, on_since_ns;
static struct os_usage used, used_since;

static void about_copy(void);
static int signal_choose(int wish, uint64_t blocked);
static void task_begin(pid_t tid, uint64_t blocked);
static void task_joined(uint32_t number);
static void task_arm(uint32_t number, bool begins);
static void task_ended(uint32_t number);
static void task_found(uint32_t number);
static bool cpu_lock(struct os_signals *before);
static void cpu_unlock(const struct os_signals *before);
static void about_copy_now_and_then(void);
static void on_interrupt(const void *about, void *context);
static void after_scan(void);

static const struct tasks_scan first_scan = {task_joined, task_ended, after_scan};
static const struct tasks_scan later_scan = {task_found, task_ended, after_scan};
static const struct tasks_scan events_scan = {NULL, NULL, events_arm};

void cpu_settle(void)
{
    ends_count();
}

void cpu_copy(void)
{
    if (first_ms == 0)
        return;
    samples_copy();
    about_copy();
}

/* What is known of the profile as a whole, into the recorder file. Any thread; in handlers, too. */
static void about_copy(void)
{
    if (!mirror_on())
        return;
    struct recorder_cpu *to = &mirror_head()->cpu;
    bool runs = load_relaxed(&cpu_running);
    struct os_usage now = runs ? os_usage() : used_since;
    store_relaxed(&to->rate, rate_now);
    store_relaxed(&to->clock, (uint16_t)wall_now);
    store_relaxed(&to->source, (uint16_t)events_source());
    store_relaxed(&to->on_ns, on_ns);
    store_relaxed(&to->since_ms, runs ? on_since_ns / 1000000 : 0);
    store_relaxed(&to->user_ns, used.user_ns + now.user_ns - used_since.user_ns);
    store_relaxed(&to->system_ns, used.system_ns + now.system_ns - used_since.system_ns);
    store_relaxed(&to->uncovered, load_relaxed(&uncovered));
    store_release(&to->first_ms, first_ms);
    store_relaxed(&mirror_head()->last_ms, os_now_ms());
}

/* `blocked`: signals, by the thread that calls. */
static int begin_locked(const struct cpu_wish *wish, uint64_t blocked)
{
    if (wish->rate != 0)
        rate_now = wish->rate < CPU_RATE_MAX ? wish->rate : CPU_RATE_MAX;
    if (!os_thread_prepare())
        return ENOSYS;
    signal_now = signal_choose(wish->signal, blocked);
    if (signal_now == 0)
        return EBUSY;
    interrupt_share(signal_now); /* the program may want it later */
    interrupt_hear(INTERRUPT_CPU, on_interrupt);
    if (wish->wall != wall_now)
        samples_forget(); /* of the other clock */
    wall_now = wish->wall;
    clocks_open(rate_now, signal_now, wall_now);
    deaf_open(signal_now, blocked);
    events_open(signal_now);
    samples_reserve();
    if (first_ms == 0)
        course_begin(first_ms = os_now_ms());
    on_since_ns = os_now_ns();
    used_since = os_usage();
    store_relaxed(&uncovered, 0);
    ends_begin();
    interrupt_expect(true);
    store_release(&cpu_running, 1); /* from here on threads that begin have clocks */
    for (uint32_t number = 1; number < tasks_count(); number++)
        if (load_acquire(&tasks_at(number)->state) == TASK_LIVES)
            task_joined(number);
    tasks_scan(&first_scan);
    clocks_scout(true, deaf_can_hear());
    about_copy();
    return 0;
}

/* A signal that is free. SIGWINCH and SIGURG are ignored where there is no handler. If all have
 * one, as in Go's programs, the first is shared with the program: the kernel drops a signal of the
 * program's that comes while one of the same number is pending, and Go and PostgreSQL can't do
 * without a SIGURG of theirs. One that is not blocked is better: programs inherit what perf and
 * others block, SIGWINCH for example. */
static int signal_choose(int wish, uint64_t blocked)
{
    static const int ours[] = {SIGWINCH, ATTACH_SIGNAL, SIGPROF};
    if (wish != 0)
        return interrupt_open(wish) ? wish : 0;
    for (size_t i = 0; i < COUNT_OF(ours); i++)
        if (!(blocked >> (ours[i] - 1) & 1) && interrupt_open(ours[i]))
            return ours[i];
    for (size_t i = 0; i < COUNT_OF(ours); i++)
        if (interrupt_open(ours[i]))
            return ours[i];
    return interrupt_take_over(ours[0]) ? ours[0] : 0;
}

static void task_joined(uint32_t number)
{
    task_arm(number, false);
}

static void task_arm(uint32_t number, bool begins)
{
    if (!clocks_arm(number, begins))
        __atomic_fetch_add(&uncovered, 1, __ATOMIC_RELAXED);
}

static void task_ended(uint32_t number)
{
    struct task *task = tasks_at(number);
    wall_end(number);
    events_disarm(task);
    samples_spread(number, clocks_disarm(number, true));
    ends_add(task);
    bool kept = task->samples != 0 || waits_has(task);
    if (kept && load_relaxed(&ended) >= ENDED_MAX) {
        samples_fold(number);
        waits_fold(number);
        kept = waits_has(task); /* waits of others name it */
    }
    if (kept)
        __atomic_fetch_add(&ended, 1, __ATOMIC_RELAXED);
    tasks_end(number, kept);
    samples_copy_task(number);
}

/* It has begun since the first scan: all of its time counts. */
static void task_found(uint32_t number)
{
    task_arm(number, true);
}

static void after_scan(void)
{
    deaf_look();
    events_arm();
}

static void end_locked(void)
{
    ends_count();
    store_release(&cpu_running, 0);
    interrupt_expect(false);
    clocks_scout(false, false);
    clocks_settle(); /* what threads do to their own */
    for (uint32_t number = 1; number < tasks_count(); number++)
        if (load_acquire(&tasks_at(number)->state) == TASK_LIVES) {
            events_disarm(tasks_at(number));
            clocks_disarm(number, false);
        }
    struct os_usage now = os_usage();
    used.user_ns += now.user_ns - used_since.user_ns;
    used.system_ns += now.system_ns - used_since.system_ns;
    on_ns += os_now_ns() - on_since_ns;
    used_since = now;
    about_copy();
}

static void rate_change_locked(unsigned rate)
{
    rate_now = rate < CPU_RATE_MAX ? rate : CPU_RATE_MAX;
    clocks_set_rate(rate_now);
    events_open(signal_now);
    for (uint32_t number = 1; number < tasks_count(); number++)
        if (load_acquire(&tasks_at(number)->state) == TASK_LIVES) {
            events_disarm(tasks_at(number));
            clocks_renew(number);
        }
    about_copy();
}

int cpu_start(enum cpu_user user, const struct cpu_wish *wish)
{
    struct os_signals before;
    int error = 0;
    if (confined(CONFINE_CPU))
        return ENOSYS;
    if (!cpu_lock(&before))
        return EDEADLK;
    if (!load_relaxed(&cpu_running))
        error = begin_locked(wish, before.mask);
    else if (wish->rate != 0 && wish->rate != rate_now)
        rate_change_locked(wish->rate);
    if (error == 0) {
        if (user == CPU_GPERFTOOLS) {
            filter_argument = wish->argument;
            store_release(&filter, wish->filter);
            samples_mark();
        }
        store_relaxed(&users, users | user);
    }
    cpu_unlock(&before);
    return error;
}

/* No handler of the program's runs on top: it might jump out. */
static bool cpu_lock(struct os_signals *before)
{
    if (lock_held != 0)
        return false;
    os_signals_hold(before);
    lock_take(&lock);
    return true;
}

static void cpu_unlock(const struct os_signals *before)
{
    lock_give(&lock);
    os_signals_release(before);
}

void cpu_stop(enum cpu_user user)
{
    struct os_signals before;
    if (!cpu_lock(&before))
        return;
    if (user == CPU_GPERFTOOLS)
        store_release(&filter, NULL);
    store_relaxed(&users, users & ~(uint32_t)user);
    if (users == 0 && load_relaxed(&cpu_running))
        end_locked();
    cpu_unlock(&before);
}

bool cpu_wanted(enum cpu_user user)
{
    return load_relaxed(&users) & user;
}

bool cpu_runs(void)
{
    return load_relaxed(&cpu_running);
}

unsigned cpu_rate(void)
{
    return load_relaxed(&rate_now);
}

void cpu_reset(void)
{
    struct os_signals before;
    if (!cpu_lock(&before))
        return;
    samples_forget();
    uint32_t kept = 0;
    for (uint32_t number = 1; number < tasks_count(); number++) {
        struct task *task = tasks_at(number);
        if (load_acquire(&task->state) != TASK_ENDED)
            task->used_ns = 0;
        else if (waits_has(task))
            kept++;
        else
            tasks_end(number, false);
    }
    store_relaxed(&ended, kept);
    on_ns = 0;
    used = (struct os_usage){0, 0};
    on_since_ns = os_now_ns();
    used_since = os_usage();
    first_ms = cpu_runs() ? os_now_ms() : 0;
    course_begin(first_ms);
    ends_begin();
    about_copy();
    cpu_unlock(&before);
}

void cpu_thread_begin(void)
{
    uint64_t before;
    os_signals_set(~(uint64_t)0, &before);
    clocks_own_begin();
    if (load_relaxed(&cpu_running))
        task_begin(os_tid_asked(), before);
    clocks_own_end();
    os_signals_set(before, NULL);
}

static void task_begin(pid_t tid, uint64_t blocked)
{
    bool fresh;
    uint32_t number = tasks_self(tid);
    if (number == TASK_NONE && (number = tasks_join(tid, &fresh)) != TASK_NONE && fresh) {
        deaf_begin(number, blocked);
        task_arm(number, true);
    }
}

uint32_t cpu_task_of(uint32_t tid)
{
    uint64_t before;
    bool fresh;
    uint32_t number = tasks_self((pid_t)tid);
    if (likely(number != TASK_NONE) || lock_held != 0)
        return number;
    os_signals_set(~(uint64_t)0, &before);
    number = tasks_join((pid_t)tid, &fresh);
    clocks_own_begin();
    if (number != TASK_NONE && fresh && load_relaxed(&cpu_running))
        task_arm(number, true);
    clocks_own_end();
    if (number != TASK_NONE && fresh && tid == lock_self())
        os_thread_name(tasks_at(number)->name); /* its end may go unnoticed */
    os_signals_set(before, NULL);
    return number;
}

uint32_t cpu_holder_of(uint32_t tid)
{
    uint32_t number = tasks_self((pid_t)tid);
    if (load_relaxed(&ended) >= ENDED_MAX)
        return TASK_NONE;
    if (likely(number != TASK_NONE) || !os_thread_alive((pid_t)tid))
        return number;
    return cpu_task_of(tid);
}

/* No system call where the thread was never profiled: a seccomp filter may end it for that. */
void cpu_thread_end(const struct caller *at)
{
    uint64_t before;
    if (!tasks_has_self())
        return;
    os_signals_set(~(uint64_t)0, &before);
    clocks_own_begin();
    uint32_t number = tasks_self_search(os_tid_asked());
    if (number != TASK_NONE) {
        os_thread_name(tasks_at(number)->name);
        deaf_end(number, before);
        ends_note(number, at);
        task_ended(number);
    }
    clocks_own_end();
    os_signals_set(before, NULL);
}

/* The timer of the process rang, or was due: is the thread that it came upon known? All are looked
 * for now and then; few each time, as a known thread's clock comes upon no other. */
static void look_around(void)
{
    static uint32_t rings;
    uint32_t ring = __atomic_add_fetch(&rings, 1, __ATOMIC_RELAXED);
    about_copy_now_and_then();
    bool early = ring < LOOK_EVERY && (ring & (ring - 1)) == 0;
    bool all = early || ring % LOOK_EVERY == 0 || tasks_count() <= LOOK_FEW;
    if (deaf_seen() || all || tasks_self(os_tid_asked()) == TASK_NONE)
        tasks_scan_start(&later_scan);
}

/* The same, but for at most a fiftieth of the time: the kernel adds up all threads for it, which
 * took longer than the time between two rings where there are 8,000. */
static void about_copy_now_and_then(void)
{
    static uint64_t next_ns;
    if (!mirror_on())
        return;
    uint64_t now_ns = os_now_ns(), from_ns = os_clock_ns(OS_CLOCK_SELF);
    if (now_ns < load_relaxed(&next_ns)) {
        store_relaxed(&mirror_head()->last_ms, os_now_ms());
        return;
    }
    store_relaxed(&next_ns, now_ns + COPY_MAX_NS); /* no other thread tries meanwhile */
    about_copy();
    uint64_t pause_ns = COPY_PAUSE * (os_clock_ns(OS_CLOCK_SELF) - from_ns);
    store_relaxed(&next_ns, now_ns + (pause_ns < COPY_MAX_NS ? pause_ns : COPY_MAX_NS));
}

static bool is_wanted(void)
{
    int (*choose)(void *) = load_acquire(&filter);
    if (likely(choose == NULL) || load_relaxed(&users) != CPU_GPERFTOOLS)
        return true;
    int kept = errno, wanted = choose(filter_argument);
    errno = kept;
    return wanted != 0;
}

/* Which thread's clock it is; of an event the kernel tells only that it rang in this thread. */
static uint32_t value_of(const siginfo_t *info)
{
    return info->si_code == SI_TIMER ? (uint32_t)(uintptr_t)info->si_value.sival_ptr
                                     : tasks_self_search(os_tid_asked());
}

/* What a ring of the thread's own clock stands for. */
static uint64_t rung_ns(uint32_t number, const siginfo_t *info, bool *for_others)
{
    struct task *task = tasks_at(number);
    uint64_t ns;
    *for_others = false;
    if (clocks_adopt(task, &ns)) {
        events_begin_anew(task);
        return ns;
    }
    if (info->si_code != SI_TIMER)
        return events_ring(task);
    if (events_timer(task, &ns))
        return ns;
    if (load_relaxed(&task->deaf) && task->bonus == 0)
        return clocks_drawn_ns(task);
    if (events_missing(task))
        tasks_scan_start(&events_scan);
    return clocks_weight(number, info->si_overrun, for_others) * task->period_ns;
}

/* In any thread, at any moment, with all signals blocked. */
static void on_interrupt(const void *about, void *context)
{
    const siginfo_t *info = about;
    if (!load_acquire(&cpu_running))
        return;
    uint32_t value = value_of(info), number = value & ~CLOCKS_WALL;
    if (number >= tasks_count())
        return;
    if (number == TASK_NONE || clocks_heard())
        look_around();
    if (number == TASK_NONE)
        return;
    struct task *task = tasks_at(number);
    if (task->samples == 0)
        task->shares_memory = os_tid() != (pid_t)task->tid;
    if (value & CLOCKS_WALL) {
        uint64_t ns;
        if (!clocks_adopt(task, &ns))
            wall_sample(number, is_wanted() ? context : NULL);
        return;
    }
    bool for_others;
    uint64_t ns = rung_ns(number, info, &for_others);
    if (ns == 0 || !is_wanted())
        return;
    if (!samples_take(number, ns, for_others, context))
        clocks_untell(task, ns);
    course_add(task, ns);
}

void cpu_about(struct cpu_about *about)
{
    struct samples_sums sums = samples_sums();
    bool runs = cpu_runs();
    struct os_usage now = runs ? os_usage() : used_since; /* no system call where nothing runs */
    *about = (struct cpu_about){
        .runs = runs,
        .rate = cpu_rate(),
        .wall = wall_now,
        .source = recorder_cpu_source(events_source()),
        .first_ms = first_ms,
        .on_ns = on_ns + (runs ? os_now_ns() - on_since_ns : 0),
        .user_ns = used.user_ns + (runs ? now.user_ns - used_since.user_ns : 0),
        .system_ns = used.system_ns + (runs ? now.system_ns - used_since.system_ns : 0),
        .samples = sums.samples,
        .sampled_ns = sums.ns,
        .lost = sums.lost,
        .stackless = sums.stackless,
        .uncovered = load_relaxed(&uncovered),
    };
    for (uint32_t number = 1; number < tasks_count(); number++)
        about->threads += load_acquire(&tasks_at(number)->state) == TASK_LIVES;
}

uint64_t cpu_used_ns(const struct task *task)
{
    if (load_acquire(&task->state) != TASK_LIVES || load_acquire(&task->timer) < 0)
        return task->used_ns;
    uint64_t now_ns = os_clock_ns(os_thread_clock((pid_t)task->tid));
    return task->used_ns + (now_ns > task->from_ns ? now_ns - task->from_ns : 0);
}

/* ---- fork, seccomp ---------------------------------------------------------------------- */

/* Only where the thread has a clock, in whose row it is noted that the signal was let through. */
void cpu_fork_prepare(void)
{
    bool has_clock = cpu_runs() && tasks_has_self();
    uint32_t number = has_clock ? tasks_self_search(os_tid_asked()) : TASK_NONE;
    if (number == TASK_NONE)
        return;
    uint64_t before, ours = UINT64_C(1) << (INTERRUPT_LIBCS - 1) | UINT64_C(1) << (signal_now - 1);
    os_signals_set(os_signals_blocked() | ours, &before);
    tasks_at(number)->forking = ours & ~before;
}

/* In the child, too: its row has been given the new id by then. */
void cpu_fork_parent(void)
{
    uint32_t number = tasks_has_self() ? tasks_self_search(os_tid_asked()) : TASK_NONE;
    if (number == TASK_NONE || tasks_at(number)->forking == 0)
        return;
    os_signals_unblock(tasks_at(number)->forking);
    tasks_at(number)->forking = 0;
}

void cpu_forked(uint32_t parent_id)
{
    lock_break(&lock, parent_id);
    interrupt_forked();
    tasks_forked(parent_id);
    samples_forked();
    ends_forked();
    waits_forked();
    for (uint32_t number = 1; number < tasks_count(); number++) {
        tasks_at(number)->timer = tasks_at(number)->wall_timer = -1;
        events_forget(tasks_at(number));
    }
    clocks_forked();
    ended = 0;
    on_ns = 0;
    used = (struct os_usage){0, 0};
}

/* Timers stay behind in the parent. This thread is the only one. */
void cpu_fork_child(void)
{
    if (cpu_runs()) {
        uint32_t number = tasks_self(os_tid_asked());
        on_since_ns = os_now_ns();
        used_since = os_usage();
        course_begin(first_ms = os_now_ms());
        ends_begin();
        if (number == TASK_NONE)
            cpu_thread_begin();
        else
            task_joined(number);
        clocks_scout(true, deaf_can_hear());
    }
    cpu_fork_parent();
}

void cpu_withdraw(bool others)
{
    bool runs = cpu_runs();
    waits_stop();
    cpu_stop(CPU_OPTIONS);
    cpu_stop(CPU_GPERFTOOLS);
    /* The filter may be for all threads: none may be in the middle of something. */
    if (runs && others)
        interrupt_all(signal_now);
    interrupt_settle();
    tasks_scan_settle();
}

/* SPDX-License-Identifier: MIT */
/*
 * See lib/faces/jemalloc/background.h. One thread, of the kind that libc does not know of
 * (base/os_thread.h), for all arenas: it does what a call of the program would do when it looks at
 * the time, and sleeps. It touches no heap of another thread. A forked child has no such thread.
 */
#include "lib/faces/jemalloc/background.h"

#include "base/compiler.h"
#include "base/confine.h"
#include "base/os.h"
#include "base/os_thread.h"
#include "lib/api/api.h"
#include "lib/faces/jemalloc/jemalloc_conf.h"

enum { OFF, ON };
enum { STACK_SIZE = 64 << 10 }; /* it returns pages and writes nothing */
enum { WAIT_MS_MIN = 50 };      /* with a delay of 0, too: at most 20 wakes a second */

static uint32_t wanted; /* the thread sleeps on it */
static pid_t runner;    /* the process that has the thread; 0: none */
static uint64_t runs, first_ms;

static void run(void);

void background_before_main(void)
{
    if (jemalloc_on(JEMALLOC_background_thread) && init_done() && !foreign_malloc())
        background_set(true);
}

bool background_runs(void)
{
    return load_relaxed(&wanted) == ON && load_relaxed(&runner) == os_pid();
}

bool background_set(bool on)
{
    struct os_signals before;
    pid_t pid = os_pid(), having = load_relaxed(&runner);
    if (os_shares_memory() || confined(CONFINE_CONTROL))
        return !on;
    store_release(&wanted, on ? ON : OFF);
    os_wake(&wanted, 1);
    if (!on || having == pid)
        return true;
    if (!__atomic_compare_exchange_n(&runner, &having, pid, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
        return true; /* another thread has just started it */
    runs = 0;
    os_signals_hold(&before);
    bool started = os_thread_prepare() && os_thread_start(run, STACK_SIZE) == 0;
    os_signals_release(&before);
    if (!started)
        store_release(&runner, 0);
    return started;
}

static void look(void)
{
    uint64_t now = os_now_ms();
    if (!cold_begin(NULL))
        return;
    heap_drop_parked(now, pages_look_ms());
    pages_tick(now);
    cold_end();
    add_relaxed(&runs, 1);
}

static void run(void)
{
    os_thread_rename("jemalloc_bg_thd");
    store_relaxed(&first_ms, os_now_ms());
    for (;;) {
        uint64_t wait = pages_look_ms();
        os_wait(&wanted, ON, wait < WAIT_MS_MIN ? WAIT_MS_MIN : (uint32_t)wait);
        if (load_acquire(&wanted) == OFF) {
            store_release(&runner, 0);
            /* Asked for again in between, by a call that took this thread for a running one. */
            pid_t none = 0;
            if (load_acquire(&wanted) == OFF ||
                !__atomic_compare_exchange_n(&runner, &none, os_pid(), false, __ATOMIC_ACQ_REL,
                                             __ATOMIC_RELAXED))
                return;
        }
        look();
    }
}

struct background_sums background_sums(void)
{
    uint64_t done = background_runs() ? load_relaxed(&runs) : 0;
    if (!background_runs())
        return (struct background_sums){0};
    uint64_t ms = os_now_ms() - load_relaxed(&first_ms);
    return (struct background_sums){1, done, done == 0 ? 0 : ms * 1000000 / done};
}

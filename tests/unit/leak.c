/* SPDX-License-Identifier: MIT */
/* not-emulated */
/*
 * A scan in place: what threads of ours have on their stacks are answers about blocks, and keeps
 * none from being lost. The scan is made in place because much memory would lack in a copy.
 */
#include "lib/leak/leak.h"

#include <sys/mman.h>

#include "base/os.h"
#include "base/os_thread.h"
#include "base/os_timer.h"
#include "tests/unit/unit.h"

enum { STACK = 256 << 10, APART = 130 << 20, SCANS = 3 };

static struct heap *heap;
static uintptr_t hidden;     /* the block's address, inverted */
static uint32_t held, go_on; /* the holder has it on its stack; it may end */
static uint32_t scanned;     /* the scan is done */
static const struct leak_scan *found;

static pid_t holder;

static void holder_run(void)
{
    holder = os_tid_asked();
    const volatile uintptr_t there = ~hidden;
    store_release(&held, 1);
    while (load_acquire(&go_on) == 0)
        os_wait(&go_on, 0, 10);
    (void)there;
}

static void scan_run(void)
{
    static const struct leak_request request = {.inside = SCAN_INSIDE_KNOWN, .mappings = true};
    found = leak_find(&request);
    store_release(&scanned, 1);
}

static void start(void (*run)(void), uint32_t *until)
{
    uint64_t before;
    store_relaxed(until, 0);
    os_signals_set(UINT64_MAX, &before);
    assert(os_thread_start(run, STACK) == 0);
    os_signals_set(before, NULL);
    while (load_acquire(until) == 0)
        os_wait(until, 0, 10);
}

static __attribute__((noinline)) void lose(void)
{
    hidden = ~(uintptr_t)unit_malloc(heap, class_of(100));
}

static __attribute__((noinline)) void wipe(void)
{
    volatile char dead[32 << 10];
    memset((void *)dead, 0, sizeof dead);
    __asm__ volatile("" ::"r"(dead) : "memory");
}

/* Sanitizers do not know our threads. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const bool threads_are_known = false;
#else
static const bool threads_are_known = true;
#endif

/* Nor do they have the memory: the program may have something else there. */
static void forked_children_have_none_of_our_threads(void)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        uintptr_t starts[OS_THREADS_MAX], ends[OS_THREADS_MAX];
        os_tid_forked();
        _exit(os_thread_rooms(starts, ends) == 0 && !os_thread_is_ours(holder) ? 0 : 1);
    }
    assert(waitpid(child, &status, 0) == child && status == 0);
}

int main(void)
{
    if (!threads_are_known)
        return 0;
    unit_start();
    heap = unit_heap(0, 0);
    assert(os_thread_prepare());
    void *apart = mmap(NULL, APART, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    assert(apart != MAP_FAILED);
    assert(madvise(apart, APART, MADV_DONTFORK) == 0);
    if (apart_advises(MADV_DONTFORK))
        apart_advised();
    lose();
    wipe();
    start(holder_run, &held);
    for (unsigned i = 0; i < SCANS; i++) {
        start(scan_run, &scanned);
        assert(found != NULL && found->in_place);
        assert(found->result.definite.blocks == 1);
        leak_last_end();
    }
    forked_children_have_none_of_our_threads();
    store_release(&go_on, 1);
    return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * Answers of mallctl to the names below experimental.hooks.*: functions of the program's for every
 * call, for blocks that are sampled, for every N bytes that a thread allocates, for files that were
 * dumped, for the stack of a sample, and in the place of an abort. Those for calls and bytes take
 * all calls off the hot path while there are any; the others cost nothing.
 */
#include <errno.h>

#include "lib/api/api.h"
#include "lib/control/control.h"
#include "lib/faces/gperftools/gperftools.h"
#include "lib/faces/jemalloc/mallctl.h"
#include "lib/faces/jemalloc/mallctl_hooks.h"
#include "lib/heap/observer.h"
#include "lib/watch/watch.h"

/* The function gets the last line in the place of an abort. */
int serve_abort_hook(const struct request *request, const struct node *node)
{
    (void)node;
    void (*hook)(const char *message);
    bool came;
    int refused = request_write_only(request);
    int wrong = refused ? refused : request_take(request, &hook, sizeof hook, &came);
    if (wrong || !came)
        return wrong;
    store_release(&libc_abort_hook, hook);
    return 0;
}

/* The function gets the name of each file. */
int serve_dump_hook(const struct request *request, const struct node *node)
{
    (void)node;
    void (*hook)(const char *name), (*before)(const char *name) = control_jemalloc.done;
    bool came;
    if (request->old == NULL && request->new == NULL)
        return EINVAL;
    int wrong = request_take(request, &hook, sizeof hook, &came);
    if (wrong == 0 && came)
        store_release(&control_jemalloc.done, hook);
    return wrong ? wrong : request_give(request, &before, sizeof before);
}

/* ---- every call -------------------------------------------------------------------------- */

int serve_hooks_install(const struct request *request, const struct node *node)
{
    (void)node;
    struct call_hooks hooks;
    bool came;
    if (request->old == NULL || request->old_length == NULL || request->new == NULL)
        return EINVAL;
    int wrong = request_take(request, &hooks, sizeof hooks, &came);
    if (wrong)
        return wrong;
    void *handle = calls_install(&hooks);
    return handle == NULL ? EAGAIN : request_give(request, &handle, sizeof(void *));
}

int serve_hooks_remove(const struct request *request, const struct node *node)
{
    (void)node;
    void *handle = NULL;
    bool came;
    int refused = request_write_only(request);
    int wrong = refused ? refused : request_take(request, &handle, sizeof(void *), &came);
    if (wrong)
        return wrong;
    return calls_remove(handle) ? 0 : EINVAL;
}

/* ---- samples ----------------------------------------------------------------------------- */

static sample_hook *on_sample;
static sample_free_hook *on_sample_free;
static backtrace_hook *on_backtrace = backtrace_default;

static void picked(const void *block, size_t size, const struct caller *caller)
{
    static const struct own_stack nothing;
    sample_hook *hook = load_acquire(&on_sample);
    struct walk *walk = hook == NULL ? NULL : walks_take(WALKS_UNOWNED, &nothing);
    void *frames[WALK_MAX];
    unsigned count = 0;
    if (walk != NULL) {
        unwind(walk, caller, WALK_MAX);
        for (; count < walk->count; count++)
            frames[count] = (void *)walk->pcs[walk->count - 1 - count];
        walks_give(walk);
    }
    if (hook != NULL)
        hook(block, size, frames, count, cold_usable(block));
}

static void picked_ends(const void *block)
{
    sample_free_hook *hook = load_acquire(&on_sample_free);
    if (hook != NULL)
        hook(block, cold_usable(block));
}

int serve_sample_hook(const struct request *request, const struct node *node)
{
    (void)node;
    sample_hook *hook, *before = load_acquire(&on_sample);
    bool came;
    if (request->old == NULL && request->new == NULL)
        return EINVAL;
    int wrong = request_take(request, &hook, sizeof hook, &came);
    if (wrong == 0 && came) {
        store_release(&on_sample, hook);
        store_release(&hooks_picked.begin, hook == NULL ? NULL : picked);
    }
    return wrong ? wrong : request_give(request, &before, sizeof before);
}

int serve_sample_free_hook(const struct request *request, const struct node *node)
{
    (void)node;
    sample_free_hook *hook, *before = load_acquire(&on_sample_free);
    bool came;
    if (request->old == NULL && request->new == NULL)
        return EINVAL;
    int wrong = request_take(request, &hook, sizeof hook, &came);
    if (wrong == 0 && came) {
        store_release(&on_sample_free, hook);
        store_release(&hooks_picked.end, hook == NULL ? NULL : picked_ends);
    }
    return wrong ? wrong : request_give(request, &before, sizeof before);
}

/* Inside of the allocator: what the program's function allocates comes from emergency memory. */
static void walk_by_program(struct walk *walk, unsigned max)
{
    void *frames[WALK_MAX];
    unsigned count = 0;
    lock_calls_begin();
    load_acquire (&on_backtrace)(frames, &count, max);
    lock_calls_end();
    count = count < max ? count : max;
    walk_forget(walk);
    walk->cut = false;
    for (unsigned i = 0; i < count; i++) {
        uintptr_t pc = (uintptr_t)frames[count - 1 - i];
        walk->pcs[i] = pc == 0 ? 1 : pc; /* 0 is no address to stacks.c */
    }
    walk->count = count;
}

/* From the program's function, or from anywhere in the program. */
void backtrace_default(void **frames, unsigned *count, unsigned max)
{
    *count = (unsigned)MallocHook_GetCallerStackTrace(frames, (int)max, 0);
}

/* NULL is refused, and what is there at first is a function that programs may call, too. */
int serve_backtrace_hook(const struct request *request, const struct node *node)
{
    (void)node;
    backtrace_hook *hook, *before = load_acquire(&on_backtrace);
    bool came;
    if (request->old == NULL && request->new == NULL)
        return EINVAL;
    int wrong = request_take(request, &hook, sizeof hook, &came);
    if (wrong || (came && hook == NULL))
        return wrong ? wrong : EINVAL;
    if (came) {
        store_release(&on_backtrace, hook);
        store_release(&track_walk, hook == backtrace_default ? NULL : walk_by_program);
    }
    return request_give(request, &before, sizeof before);
}

/* ---- bytes of a thread ------------------------------------------------------------------- */

static struct thread_event events[THREAD_EVENTS_MAX];
static uint32_t events_count;

/* Whether this many bytes more have passed a multiple of the interval. */
static bool passes(uint64_t now, uint64_t more, uint64_t interval)
{
    return now / interval != (now - more) / interval;
}

static void tell(const void *block, bool allocated)
{
    struct account_sum sum;
    uint64_t size = cold_usable(block);
    uint32_t count = load_acquire(&events_count);
    if (young.quiet)
        return;
    young_thread_sums(&sum);
    uint64_t freed = sum.free_bytes + (allocated ? 0 : size);
    young.quiet = true;
    for (uint32_t i = 0; i < count && i < THREAD_EVENTS_MAX; i++) {
        thread_event_hook *hook = load_acquire(&events[i].hook);
        if (hook == NULL || (!allocated && events[i].allocated_only))
            continue;
        if (passes(allocated ? sum.alloc_bytes : freed, size, events[i].interval))
            hook(allocated, sum.alloc_bytes, freed);
    }
    young.quiet = false;
}

static void tell_new(const void *block, size_t size)
{
    (void)size;
    tell(block, true);
}

static void tell_delete(const void *block)
{
    tell(block, false);
}

static bool event_is_set(const struct thread_event *event)
{
    uint32_t count = load_acquire(&events_count);
    for (uint32_t i = 0; i < count && i < THREAD_EVENTS_MAX; i++)
        if (load_acquire(&events[i].hook) == event->hook && events[i].interval == event->interval)
            return true;
    return false;
}

/* There is no way to remove one, as in jemalloc; the same one again is the one that is there. */
int serve_thread_event(const struct request *request, const struct node *node)
{
    (void)node;
    struct thread_event event;
    bool came;
    int wrong = request_take(request, &event, sizeof event, &came);
    if (wrong || !came || event.hook == NULL || event.interval == 0)
        return EINVAL;
    if (event_is_set(&event))
        return 0;
    uint32_t place = __atomic_fetch_add(&events_count, 1, __ATOMIC_ACQ_REL);
    if (place >= THREAD_EVENTS_MAX) {
        __atomic_fetch_sub(&events_count, 1, __ATOMIC_ACQ_REL);
        return EINVAL;
    }
    events[place].interval = event.interval;
    events[place].allocated_only = event.allocated_only;
    store_release(&events[place].hook, event.hook);
    store_release(&hooks_set.on_new[HOOKS_BYTES_AT], tell_new);
    store_release(&hooks_set.on_delete[HOOKS_BYTES_AT], tell_delete);
    cold_hooks_changed();
    return 0;
}

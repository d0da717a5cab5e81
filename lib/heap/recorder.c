/* SPDX-License-Identifier: MIT */
/* See lib/heap/recorder.h. */
#include "lib/heap/recorder.h"

#include "base/compiler.h"
#include "lib/alloc/alloc.h"
#include "lib/heap/threads.h"

enum { IDLE_MAX = 16 }; /* recorders are 8 KiB: the idle ones stay below 128 KiB */

static struct recorder *idle[IDLE_MAX];
static uint32_t made;
static uint32_t names;
__thread struct recorder *recorder_mine;

/* What a thread keeps when it gives a borrowed recorder back. */
static __thread uint32_t name;          /* unique; 0: the thread had no recorder yet */
static __thread struct own_stack stack; /* kept because finding it takes system calls */

static struct recorder *recorder_find(void);
static void recorder_own(struct recorder *recorder);

struct recorder *recorder_take(void)
{
    struct recorder *recorder = recorder_kept();
    if (likely(recorder != NULL))
        return recorder;
    recorder = recorder_find();
    if (recorder == NULL)
        return NULL;
    if (recorder->owner != name || name == 0)
        recorder_own(recorder);
    recorder->kept = heap_self != NULL && heap_self->watched;
    recorder_mine = recorder;
    if (recorder->kept)
        threads_keep(recorder);
    return recorder;
}

static struct recorder *idle_take(unsigned place)
{
    if (load_relaxed(&idle[place]) == NULL)
        return NULL;
    return __atomic_exchange_n(&idle[place], NULL, __ATOMIC_ACQUIRE);
}

static struct recorder *idle_any(void)
{
    struct recorder *recorder = NULL;
    for (unsigned i = 0; i < IDLE_MAX && recorder == NULL; i++)
        recorder = idle_take(i);
    return recorder;
}

static struct recorder *recorder_make(void)
{
    struct recorder *recorder = meta_take(sizeof *recorder);
    if (recorder != NULL)
        __atomic_fetch_add(&made, 1, __ATOMIC_RELAXED);
    return recorder;
}

/* The recorder that this thread had last; else, as the thread seems to need one often, a new one
 * while there are few; else any idle one. */
static struct recorder *recorder_find(void)
{
    struct recorder *recorder = NULL;
    if (name != 0 && (recorder = idle_take(name % IDLE_MAX)) == NULL &&
        load_relaxed(&made) < IDLE_MAX)
        recorder = recorder_make();
    if (recorder == NULL)
        recorder = idle_any();
    return recorder != NULL ? recorder : recorder_make();
}

/* The recorder was another thread's: forgets what only holds for that thread. */
static void recorder_own(struct recorder *recorder)
{
    if (name == 0)
        name = __atomic_add_fetch(&names, 1, __ATOMIC_RELAXED);
    recorder->owner = name;
    walk_forget(&recorder->walk);
    recorder->walk.own = stack;
    for (unsigned i = 0; i < RECORDER_SITES; i++)
        recorder->sites[i].site = 0;
}

void recorder_put_back(struct recorder *recorder)
{
    for (unsigned i = 0; i < IDLE_MAX; i++) {
        struct recorder *none = NULL, **place = &idle[(recorder->owner + i) % IDLE_MAX];
        if (load_relaxed(place) == NULL &&
            __atomic_compare_exchange_n(place, &none, recorder, false, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED))
            return;
    }
    __atomic_fetch_sub(&made, 1, __ATOMIC_RELAXED);
    meta_give(recorder, sizeof *recorder);
}

void recorder_give(struct recorder *recorder)
{
    if (recorder->kept)
        return;
    stack = recorder->walk.own;
    recorder_mine = NULL;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    recorder_put_back(recorder);
}

void recorder_drop(void)
{
    struct recorder *recorder = recorder_kept();
    if (recorder == NULL)
        return;
    recorder_mine = NULL;
    threads_keep(NULL);
    recorder_put_back(recorder);
}

void recorder_thread_end(void)
{
    recorder_drop();
    name = 0;
}

bool recorder_own_stack(uintptr_t sp)
{
    struct recorder *recorder = recorder_kept();
    return own_stack_has(recorder != NULL ? &recorder->walk.own : &stack, sp);
}

/* A walk that was interrupted is incomplete. */
void recorder_abandoned(void)
{
    struct recorder *recorder = recorder_mine;
    if (recorder == NULL)
        return;
    walk_forget(&recorder->walk);
    if (!recorder->kept) {
        recorder_mine = NULL;
        recorder_put_back(recorder);
    }
}

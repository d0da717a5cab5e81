/* SPDX-License-Identifier: MIT */
/* See lib/watch/recorder.h. */
#include "lib/watch/recorder.h"

#include "base/compiler.h"
#include "lib/alloc/alloc.h"
#include "lib/watch/threads.h"

enum { IDLE_MOST = 16 };

static struct recorder *idle[IDLE_MOST];
static __thread struct recorder *kept;

/* What is known of the thread's stack stays with the thread when a borrowed recorder goes: finding
 * it out takes calls of the kernel. */
static __thread struct own_stack stack;
static __thread struct recorder *borrowed;

struct recorder *recorder_kept(void)
{
    return kept;
}

struct recorder *recorder_take(void)
{
    if (likely(kept != NULL))
        return kept;
    bool keep = heap_self != NULL && heap_self->watched;
    struct recorder *recorder = NULL;
    for (unsigned i = 0; i < IDLE_MOST && recorder == NULL; i++)
        if (load_relaxed(&idle[i]) != NULL)
            recorder = __atomic_exchange_n(&idle[i], NULL, __ATOMIC_ACQUIRE);
    if (recorder == NULL && (recorder = meta_take(sizeof *recorder)) == NULL)
        return NULL;
    recorder->walk.count = recorder->walk.same = 0; /* another thread's */
    recorder->walk.own = stack;
    recorder->kept = keep;
    if (keep) {
        for (unsigned i = 0; i < RECORDER_SITES; i++)
            recorder->sites[i].site = 0;
        kept = recorder;
        threads_keep(recorder);
    } else {
        borrowed = recorder;
    }
    return recorder;
}

void recorder_put_back(struct recorder *recorder)
{
    for (unsigned i = 0; i < IDLE_MOST; i++) {
        struct recorder *none = NULL;
        if (load_relaxed(&idle[i]) == NULL &&
            __atomic_compare_exchange_n(&idle[i], &none, recorder, false, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED))
            return;
    }
    meta_give(recorder, sizeof *recorder);
}

void recorder_give(struct recorder *recorder)
{
    if (recorder->kept)
        return;
    stack = recorder->walk.own;
    borrowed = NULL;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    recorder_put_back(recorder);
}

void recorder_drop(void)
{
    struct recorder *recorder = kept;
    kept = NULL;
    if (recorder == NULL)
        return;
    threads_keep(NULL);
    recorder_put_back(recorder);
}

bool recorder_own_stack(uintptr_t sp)
{
    return own_stack_has(kept != NULL ? &kept->walk.own : &stack, sp);
}

/* The walk is not what it says any more. */
void recorder_abandoned(void)
{
    struct recorder *recorder = borrowed;
    borrowed = NULL;
    if (recorder != NULL)
        recorder_put_back(recorder);
    if (kept != NULL)
        kept->walk.count = kept->walk.same = 0;
}

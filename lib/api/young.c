/* SPDX-License-Identifier: MIT */
/* See lib/api/young.h. */
#include "lib/api/young.h"

#include "base/os.h"
#include "lib/heap/observer.h"

enum {
    CALLS_MIN = 8,   /* calls before a thread takes a heap that another one left, */
    CALLS = 96,      /* and before it makes one, */
    CALLS_MAX = 256, /* or this many if there are many heaps: of thousands of threads most make a
                        handful of calls (docs/DECISIONS.md, Threads) */
    TICK_EVERY = 8, /* calls between two looks at the time, beside which a lock a call costs more */
    /* Calls with more signals blocked than before, after which this is no handler but a thread that
     * has blocked them for good. */
    ON_TOP_MAX = 30000,
};

__thread struct young young;

static uint32_t threads;
static bool left_threads;

static uint32_t calls_max(void);

bool young_is(void)
{
    if (unlikely(!young.known)) {
        young.known = true;
        young.number = __atomic_fetch_add(&threads, 1, __ATOMIC_RELAXED);
        young.colour = (uint8_t)(young.number % COLOURS);
        young.pool = (uint8_t)heap_pool_here(young.number);
        young.random = young_seed();
        heap_side();
    }
    if (++young.calls % TICK_EVERY == 0) {
        uint64_t now = os_now_ms();
        heap_drop_parked(now, pages_look_ms());
        pages_tick(now);
        totals_tick(now);
    }
    return young.ended || young.calls <= CALLS_MIN ||
           (young.calls <= calls_max() && !heap_parked(young.pool));
}

/* With many threads, most do little, and a heap costs memory in each. A thread that had to sleep
 * for a lock needs fewer of them with a heap. */
static uint32_t calls_max(void)
{
    if (lock_slept)
        return CALLS_MIN;
    uint32_t calls = CALLS + heap_threads() / 4;
    return calls < CALLS_MAX ? calls : CALLS_MAX;
}

uint64_t young_seed(void)
{
    static uint64_t process;
    uint64_t base = load_relaxed(&process);
    if (base == 0) {
        base = os_random() | 1;
        store_relaxed(&process, base);
    }
    uint64_t x = base + hash_word(young.number);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    return (x ^ x >> 27) | 1;
}

bool young_ring(size_t bytes)
{
    uint32_t generation = heap_generation();
    if (unlikely(young.generation != generation)) {
        young.generation = generation;
        young.clock = sampler_bytes(&young.random);
    }
    if ((uint64_t)young.clock >= bytes) {
        young.clock -= (int64_t)bytes;
        return false;
    }
    young.clock = sampler_bytes(&young.random);
    return sampler_rate() != SAMPLER_OFF;
}

void young_note_signals(void)
{
    young.open = ~os_signals_blocked();
}

/* The kernel blocks a signal while its handler runs. If more signals stay blocked for a long time,
 * that is not a handler but the thread's new state. */
bool young_in_handler(void)
{
    uint64_t blocked = os_signals_blocked();
    if ((blocked & young.open) != 0 && ++young.on_top < ON_TOP_MAX)
        return true;
    young.on_top = 0;
    young.open = ~blocked;
    return false;
}

void young_thread_sums(struct account_sum *sum)
{
    struct heap_sums past = young.sums;
    account_thread(heap_self, sum);
    if (heap_self != NULL)
        fronts_sums(heap_self, &past);
    sum->allocs += past.allocs;
    sum->frees += past.frees;
    sum->alloc_bytes += past.alloc_bytes;
    sum->free_bytes += past.free_bytes;
}

void young_count(void)
{
    struct account_sum sum;
    if (sampler_rate() <= 0) /* the recorded events count, or there is nothing to dump */
        return;
    young_thread_sums(&sum);
    totals_count(&sum, &young.counted);
}

void young_forked(void)
{
    if (load_relaxed(&threads) > 1)
        store_relaxed(&left_threads, true);
}

bool young_left_threads(void)
{
    return load_relaxed(&left_threads);
}

void young_sum(struct heap_sums more)
{
    heap_sums_add(heap_self != NULL ? &heap_self->past : &young.sums, &more);
}

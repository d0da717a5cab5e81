/* SPDX-License-Identifier: MIT */
/*
 * What the unit tests share: a start, numbers that look random and repeat, children that must
 * end in a certain way, malloc and free reduced to what lib/alloc does for them, and a check of all
 * spans against each other.
 */
#ifndef UNIT_UNIT_H
#define UNIT_UNIT_H

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/config.h"
#include "lib/alloc/alloc.h"

static inline bool unit_emulated(void)
{
    const char *emulator = getenv("MEMOIR_EMULATOR");
    return emulator != NULL && emulator[0] != '\0';
}

/* How often to do something that is done `times` times on a plain machine. */
static inline unsigned unit_times(unsigned times)
{
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    return times / 8 + 1;
#else
    return unit_emulated() ? times / 6 + 1 : times;
#endif
}

/* ThreadSanitizer takes every child for a forked one, and starts no thread after it. */
static inline bool unit_may_clone(void)
{
#if defined(__SANITIZE_THREAD__)
    return false;
#else
    return true;
#endif
}

static char unit_folder[64];
static pid_t unit_owner;

static void unit_scratch_end(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", unit_folder);
    if (unit_owner == getpid() && chdir("/") == 0 && system(command) != 0)
        fprintf(stderr, "%s is left\n", unit_folder);
}

/* Goes on in an empty folder, which the end of the program removes. */
static inline void unit_scratch(void)
{
    snprintf(unit_folder, sizeof unit_folder, "/tmp/memoir-unit-XXXXXX");
    unit_owner = getpid();
    assert(mkdtemp(unit_folder) != NULL && chdir(unit_folder) == 0);
    assert(atexit(unit_scratch_end) == 0);
}

static inline void unit_start(void)
{
    config_defaults(&config);
    assert(alloc_init());
}

static inline uint64_t unit_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(0x2545f4914f6cdd1d);
}

/* Between 0 and 1, neither of them. */
static inline double unit_uniform(uint64_t *state)
{
    return ((double)(unit_random(state) >> 11) + 0.5) * 0x1p-53;
}

/* Runs `what` in a child, with its stderr in `text`. The status is waitpid's. */
static inline int unit_child(void (*what)(void), char *text, size_t size)
{
    int ends[2];
    assert(pipe(ends) == 0);
    fflush(NULL);
    pid_t child = fork();
    assert(child >= 0);
    if (child == 0) {
        struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        dup2(ends[1], 2);
        close(ends[0]);
        close(ends[1]);
        alarm(60);
        what();
        _exit(0);
    }
    close(ends[1]);
    size_t length = 0;
    for (ssize_t got; (got = read(ends[0], text + length, size - 1 - length)) > 0;)
        length += (size_t)got;
    text[length] = '\0';
    close(ends[0]);
    int status;
    assert(waitpid(child, &status, 0) == child);
    return status;
}

/* `what` must end by SIGABRT with one line that holds `wanted`. */
static inline void unit_aborts(void (*what)(void), const char *wanted)
{
    char text[1000];
    int status = unit_child(what, text, sizeof text);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT || strstr(text, wanted) == NULL) {
        fprintf(stderr, "expected SIGABRT with '%s', got status %#x with '%s'\n", wanted,
                (unsigned)status, text);
        exit(1);
    }
}

static inline struct heap *unit_heap(unsigned colour, unsigned pool)
{
    return heap_make(colour, pool);
}

/* The bin of a heap as the hot path uses it: NULL when it is empty or its clock has run out. */
static inline void *unit_pop(struct heap *heap, unsigned mark)
{
    uint64_t top = heap->top[mark];
    void *block = slot_block(top);
    if (block == NULL)
        return NULL;
    store_relaxed(&heap->clock[mark], heap->clock[mark] - 1);
    if (heap->clock[mark] < 0)
        return NULL;
    store_relaxed(&heap->top[mark], heap->slots[mark][slot_place(top) - 1]);
    assert(load_relaxed(live_at(block)) == 0);
    store_relaxed(live_at(block), live_sign(block));
    return block;
}

/* Blocks of a class without samples, the way lib/api gets them. */
static inline void *unit_malloc(struct heap *heap, unsigned class)
{
    unsigned mark = mark_make(class, heap->colour);
    for (;;) {
        void *block = unit_pop(heap, mark);
        if (block != NULL)
            return block;
        if (heap->clock[mark] >= 0 && !heap_refill(heap, mark))
            return NULL;
        if (heap->clock[mark] < 0 && heap_clock_over(heap, mark))
            heap_set_clock(heap, mark, UINT64_MAX);
    }
}

static inline void unit_free(struct heap *heap, void *block)
{
    unsigned mark = mark_of(block);
    if (slot_place(heap->top[mark]) == heap->limit[mark])
        assert(heap_spill(heap, mark));
    store_relaxed(live_at(block), 0);
    size_t place = slot_place(heap->top[mark]) + 1;
    heap->slots[mark][place] = slot_make(block, place);
    store_relaxed(&heap->top[mark], heap->slots[mark][place]);
}

/* Fills a block so that whoever else writes to it is noticed by `unit_filled`. */
static inline void unit_fill(void *block, size_t size, uint64_t seed)
{
    uint64_t *words = block;
    for (size_t i = 0; i < size / sizeof *words; i += i < 16 ? 1 : 61)
        words[i] = seed + i;
    words[size / sizeof *words - 1] = ~seed;
}

static inline bool unit_filled(const void *block, size_t size, uint64_t seed)
{
    const uint64_t *words = block;
    size_t last = size / sizeof *words - 1;
    for (size_t i = 0; i < last; i += i < 16 ? 1 : 61)
        if (words[i] != seed + i)
            return false;
    return words[last] == ~seed;
}

/* Every unit belongs to one span at most, and the counters of the pools are the sums of their
 * spans. How many faults; spans that are on their way somewhere are not counted. */
static inline unsigned unit_faults(void)
{
    size_t units = window.granules * GRANULE / UNIT, used[POOL_MAX] = {0}, dirty[POOL_MAX] = {0},
           clean[POOL_MAX] = {0};
    uint8_t *owned = calloc(1, units + 1);
    unsigned faults = 0;
    assert(owned != NULL);
    for (uint32_t id = 1; id < span_count(); id++) {
        const struct span *span = span_at(id);
        if (span->state == SPAN_NONE)
            continue;
        if (span->first == 0 || span->units == 0 || span->first + (size_t)span->units > units) {
            faults++;
            continue;
        }
        for (uint32_t i = 0; i < span->units; i++) {
            faults += owned[span->first + i] != 0;
            owned[span->first + i] = 1;
        }
        uint32_t last = span->first + span->units - 1;
        faults += window.units[span->first] != id || window.units[last] != id;
        size_t *sum = span->state == SPAN_DIRTY ? dirty : span->state == SPAN_CLEAN ? clean : used;
        sum[span->pool] += span->units;
    }
    for (unsigned pool = 0; pool < POOL_MAX; pool++)
        faults += pages_of[pool].used_units != used[pool] ||
                  pages_of[pool].dirty_units != dirty[pool] ||
                  pages_of[pool].clean_units != clean[pool];
    free(owned);
    return faults;
}

#endif

/* SPDX-License-Identifier: MIT */ /* static-too */
/* The counters of mutexes count: of the pages, of the centre of a class, of a created arena, of
 * dumps; they tell that another thread came by, and begin anew when they are told to. */
#include <pthread.h>
#include <stdbool.h>

#include "tests/api/arena.h"
#include "tests/api/check.h"

#pragma weak mallocx
#pragma weak dallocx

enum { MANY = 1000, LARGE = 100 << 10 };

static uint64_t counter(const char *start, const char *what)
{
    char name[128];
    uint64_t value = 0;
    size_t length = sizeof value;
    snprintf(name, sizeof name, "%s.%s", start, what);
    CHECK_EQ(mallctl(name, &value, &length, NULL, 0), 0);
    CHECK_EQ(length, sizeof value);
    return value;
}

static void *large_blocks(void *arg)
{
    for (unsigned i = 0; i < MANY; i++)
        free(opaque_ptr(malloc(LARGE)));
    return arg;
}

static pthread_barrier_t barrier;
static void *blocks[2][MANY];

/* Both threads want pages at the same time, again and again. */
static void *rush(void *of)
{
    void **mine = of;
    pthread_barrier_wait(&barrier);
    for (unsigned round = 0; round < 20; round++) {
        for (unsigned i = 0; i < MANY; i++)
            mine[i] = malloc(LARGE);
        for (unsigned i = 0; i < MANY; i++)
            free(mine[i]);
    }
    return NULL;
}

static void pages(void)
{
    const char *dirty = "stats.arenas.0.mutexes.extents_dirty";
    uint64_t before = counter(dirty, "num_ops"), turns = counter(dirty, "num_owner_switch");
    large_blocks(NULL);
    CHECK(counter(dirty, "num_ops") >= before + MANY);
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, large_blocks, NULL);
    pthread_join(threads[0], NULL);
    CHECK(counter(dirty, "num_ops") >= before + 2 * MANY);
    CHECK(counter(dirty, "num_owner_switch") > turns);
    CHECK_EQ(counter("stats.arenas.4096.mutexes.extents_dirty", "num_ops"),
             counter(dirty, "num_ops"));
    pthread_barrier_init(&barrier, NULL, 2);
    for (unsigned i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, rush, blocks[i]);
    for (unsigned i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    uint64_t waits = counter(dirty, "num_wait"), ns = counter(dirty, "total_wait_time");
    CHECK(waits == 0 ? ns == 0 : ns > 0 && ns >= counter(dirty, "max_wait_time"));
    CHECK(counter(dirty, "num_ops") >= waits + counter(dirty, "num_spin_acq"));
    unsigned max = 0;
    size_t length = sizeof max;
    CHECK_EQ(mallctl("stats.arenas.0.mutexes.extents_dirty.max_num_thds", &max, &length, NULL, 0),
             0);
    CHECK((max > 0) == (waits + counter(dirty, "num_spin_acq") > 0));
}

/* The last class is that of 32 KiB, of which few fit into a bin. */
static void centre(void)
{
    unsigned bins = 0;
    size_t length = sizeof bins;
    char last[64];
    CHECK_EQ(mallctl("arenas.nbins", &bins, &length, NULL, 0), 0);
    snprintf(last, sizeof last, "stats.arenas.0.bins.%u.mutex", bins - 1);
    uint64_t before = counter(last, "num_ops");
    for (unsigned i = 0; i < MANY; i++)
        blocks[0][i] = malloc(32 << 10);
    for (unsigned i = 0; i < MANY; i++)
        free(blocks[0][i]);
    CHECK(counter(last, "num_ops") > before);
}

static void arena(void)
{
    unsigned number = 0;
    size_t length = sizeof number;
    char large[64];
    CHECK_EQ(mallctl("arenas.create", &number, &length, NULL, 0), 0);
    snprintf(large, sizeof large, "stats.arenas.%u.mutexes.large", number);
    uint64_t before = counter(large, "num_ops");
    for (unsigned i = 0; i < MANY; i++)
        dallocx(mallocx(LARGE, MALLOCX_ARENA(number)), 0);
    CHECK(counter(large, "num_ops") >= before + MANY);
}

static void reset(void)
{
    CHECK_EQ(mallctl("stats.mutexes.reset", NULL, NULL, NULL, 0), 0);
    CHECK(counter("stats.arenas.0.mutexes.extents_dirty", "num_ops") < MANY);
    CHECK_EQ(counter("stats.arenas.0.mutexes.extents_dirty", "num_wait"), 0);
    CHECK_EQ(counter("stats.mutexes.background_thread", "num_ops"), 0);
}

int main(void)
{
    pages();
    centre();
    arena();
    reset();
    return check_result();
}

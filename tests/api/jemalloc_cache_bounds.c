/* SPDX-License-Identifier: MIT */ /* static-too */
/* What a thread may keep of freed blocks: thread.tcache.enabled, .max and .ncached_max, the options
 * of the same names, and gperftools' limit of all caches together. What may not be kept is not. */
#include <pthread.h>
#include <stdbool.h>

#include "memoir/compat/gperftools/malloc_extension_c.h"
#include "tests/api/arena.h"
#include "tests/api/check.h"
#include "tests/api/stats_text.h"

#pragma weak mallocx
#pragma weak MallocExtension_SetNumericProperty
#pragma weak MallocExtension_GetNumericProperty

enum { MANY = 400, NONE = 99999 };

static size_t bound_of(size_t size)
{
    size_t max = NONE, length = sizeof max;
    CHECK_EQ(mallctl("thread.tcache.ncached_max.read_sizeclass", &max, &length, &size, sizeof size),
             0);
    return max;
}

static int bound(const char *text)
{
    return mallctl("thread.tcache.ncached_max.write", NULL, NULL, &text, sizeof text);
}

static int set_max(size_t size)
{
    return mallctl("thread.tcache.max", NULL, NULL, &size, sizeof size);
}

static bool set_enabled(bool value)
{
    bool before = false;
    size_t length = sizeof before;
    CHECK_EQ(mallctl("thread.tcache.enabled", &before, &length, &value, sizeof value), 0);
    return before;
}

static size_t cached(void)
{
    size_t bytes = 0, length = sizeof bytes;
    CHECK_EQ(mallctl("epoch", NULL, NULL, &(uint64_t){1}, sizeof(uint64_t)), 0);
    CHECK_EQ(mallctl("stats.arenas.0.tcache_bytes", &bytes, &length, NULL, 0), 0);
    return bytes;
}

/* Bytes that stay in the thread's cache of many blocks of a size. */
static size_t kept_of(size_t size)
{
    static void *blocks[MANY];
    CHECK_EQ(mallctl("thread.tcache.flush", NULL, NULL, NULL, 0), 0);
    size_t before = cached();
    for (int round = 0; round < 8; round++) {
        for (int i = 0; i < MANY; i++)
            CHECK((blocks[i] = malloc(size)) != NULL);
        for (int i = 0; i < MANY; i++)
            memset(blocks[i], round, size);
        for (int i = 0; i < MANY; i++)
            free(blocks[i]);
    }
    size_t after = cached();
    return after > before ? after - before : 0;
}

static void *bounds_hold(void *unused)
{
    (void)unused;
    CHECK(kept_of(256) > 256);
    CHECK_EQ(bound("200-300:1|1000-1100:0"), 0);
    CHECK_EQ(bound_of(256), 1);
    CHECK_EQ(bound_of(255), 1);
    CHECK_EQ(bound_of(1024), 0);
    CHECK(bound_of(64) > 1);
    CHECK(kept_of(256) <= 4 * 256); /* one for each colour of heaps */
    CHECK_EQ(kept_of(1024), 0);
    CHECK(kept_of(64) > 64);
    CHECK_EQ(bound("1024-1024:65540"), 0);
    CHECK_EQ(bound_of(1024), 8191);
    CHECK(kept_of(1024) > 0);
    return unused;
}

static void *sizes_are_bounded(void *unused)
{
    (void)unused;
    CHECK_EQ(set_max(512), 0);
    CHECK_EQ(bound_of(1024), 0);
    CHECK_EQ(kept_of(1024), 0);
    CHECK(kept_of(512) > 0);
    CHECK_EQ(bound("2048-6144:123"), 0); /* counts when the size may be cached */
    CHECK_EQ(bound_of(4096), 0);
    CHECK_EQ(set_max(6144), 0);
    CHECK_EQ(bound_of(4096), 123);
    CHECK(set_enabled(false));
    CHECK_EQ(bound_of(64), 0);
    CHECK_EQ(bound("0-112:8"), ENOENT);
    CHECK_EQ(kept_of(64), 0);
    CHECK(!set_enabled(true)); /* as in a new thread */
    CHECK(bound_of(4096) != 123 && bound_of(4096) != 0);
    CHECK(kept_of(64) > 0);
    return unused;
}

static void settings_are_checked(void)
{
    char lengthy[2000];
    size_t before = bound_of(1024), length = sizeof length, size = 64 << 20;
    CHECK_EQ(bound(""), 0);
    CHECK_EQ(bound("1024-256:7"), 0);
    CHECK_EQ(bound("4-1024:7|256-1024"), EINVAL);
    CHECK_EQ(bound("k8-1024:77p"), EINVAL);
    for (size_t i = 0; i + 10 < sizeof lengthy; i += 9)
        memcpy(lengthy + i, "4-1024:3|", 10);
    CHECK_EQ(bound(lengthy), EINVAL);
    CHECK_EQ(bound_of(1024), before);
    CHECK_EQ(mallctl("thread.tcache.ncached_max.read_sizeclass", &length, &length, NULL, 0),
             EINVAL);
    CHECK_EQ(mallctl("thread.tcache.ncached_max.read_sizeclass", NULL, NULL, &size, sizeof size),
             EINVAL);
}

static void in_a_thread(void *(*function)(void *))
{
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, function, NULL), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
}

enum { THREADS = 20, SIZES = 400 };
static pthread_barrier_t all;

static void *fill(void *unused)
{
    for (int i = 0; i < MANY; i++) /* a thread with few calls has no cache */
        free(opaque_ptr(malloc(64)));
    pthread_barrier_wait(&all);
    for (int round = 0; round < 3; round++)
        for (size_t i = 0; i < SIZES; i++) {
            char *block = malloc(i * 80);
            CHECK(block != NULL);
            memset(block, 1, i * 80);
            free(block);
        }
    pthread_barrier_wait(&all);
    pthread_barrier_wait(&all);
    return unused;
}

/* Each thread frees a block of every size: 5 MB if each kept one. */
static void all_caches_have_a_limit(void)
{
    enum { LIMIT = 512 << 10 };
    pthread_t threads[THREADS];
    size_t held = 0;
    CHECK(MallocExtension_SetNumericProperty("tcmalloc.max_total_thread_cache_bytes", LIMIT));
    CHECK_EQ(pthread_barrier_init(&all, NULL, THREADS + 1), 0);
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, fill, NULL), 0);
    pthread_barrier_wait(&all);
    pthread_barrier_wait(&all);
    CHECK(MallocExtension_GetNumericProperty("tcmalloc.current_total_thread_cache_bytes", &held));
    pthread_barrier_wait(&all);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK_AT(held <= 2 * LIMIT, "%zu bytes are held", held);
}

static void options_bound_caches(void)
{
    CHECK_EQ(bound_of(256), 1);
    CHECK_EQ(bound_of(2048), 0);
    CHECK_EQ(bound_of(8192), 0); /* above tcache_max */
    size_t max = 0, length = sizeof max;
    CHECK_EQ(mallctl("arenas.tcache_max", &max, &length, NULL, 0), 0);
    CHECK_EQ(max, 4096);
    CHECK(strstr(stats_text("a"), "\nMaximum thread-cached size class: 4096\n") != NULL);
    CHECK_EQ(kept_of(2048), 0);
    CHECK_EQ(kept_of(8192), 0);
    CHECK(kept_of(512) > 512);
}

int main(int count, char **arguments)
{
    (void)count;
    if (mallocx == NULL || mallctl == NULL)
        return 77;
    if (getenv("MALLOC_CONF") != NULL) {
        options_bound_caches();
        return check_result();
    }
    in_a_thread(bounds_hold);
    in_a_thread(sizes_are_bounded);
    settings_are_checked();
    all_caches_have_a_limit();
    if (check_failures != 0 || is_emulated())
        return check_result();
    setenv("MALLOC_CONF", "tcache_ncached_max:200-300:1|2048-2048:0|8192-8192:1,tcache_max:4096",
           1);
    execv("/proc/self/exe", arguments);
    return 1;
}

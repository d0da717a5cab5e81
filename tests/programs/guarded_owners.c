/* SPDX-License-Identifier: MIT */
/* helper: guarded_owners CASE: what guarded_owners.sh runs with guarded blocks that have an owner:
 * heaps of mimalloc's and arenas of jemalloc's. */
#include <jemalloc/jemalloc.h>
#include <mimalloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "memoir/memoir.h"

#pragma weak memoir_stats
#pragma weak mi_heap_new
#pragma weak mi_heap_malloc
#pragma weak mi_heap_destroy
#pragma weak mi_heap_delete
#pragma weak mi_heap_set_default
#pragma weak mi_heap_contains_block
#pragma weak mi_heap_get_backing
#pragma weak mi_free
#pragma weak mallctl
#pragma weak mallocx
#pragma weak nallocx
#pragma weak rallocx
#pragma weak sallocx
#pragma weak dallocx

static char *volatile block;
static int failures;

#define CHECK(condition)                                   \
    do {                                                   \
        if (!(condition)) {                                \
            printf("line %d: %s\n", __LINE__, #condition); \
            failures++;                                    \
        }                                                  \
    } while (0)

static void heap_overflow(void)
{
    block = mi_heap_malloc(mi_heap_new(), 64);
    block[64] = 1;
}

static void heap_freed_twice(void)
{
    mi_heap_t *heap = mi_heap_new();
    block = mi_heap_malloc(heap, 64);
    mi_free(block);
    mi_free(block);
}

static void heap_destroyed(void)
{
    mi_heap_t *heap = mi_heap_new();
    block = mi_heap_malloc(heap, 64);
    mi_heap_destroy(heap);
    block[3] = 1;
}

/* A write into the slack is found when the heap ends. */
static void heap_damaged(void)
{
    mi_heap_t *heap = mi_heap_new();
    block = mi_heap_malloc(heap, 60);
    block[61] = 1;
    mi_heap_destroy(heap);
}

static void heap_default(void)
{
    mi_heap_set_default(mi_heap_new());
    block = malloc(64);
    block[64] = 1;
}

static unsigned arena_new(void)
{
    unsigned arena = 0;
    size_t length = sizeof arena;
    CHECK(mallctl("arenas.create", &arena, &length, NULL, 0) == 0);
    return arena;
}

static int arena_act(unsigned arena, const char *act)
{
    char name[64];
    snprintf(name, sizeof name, "arena.%u.%s", arena, act);
    return mallctl(name, NULL, NULL, NULL, 0);
}

static unsigned arena_of(void *p)
{
    unsigned arena = 12345;
    size_t length = sizeof arena;
    mallctl("arenas.lookup", &arena, &length, &p, sizeof p);
    return arena;
}

static size_t stat_of(unsigned arena, const char *what)
{
    char name[96];
    size_t value = 0, length = sizeof value;
    uint64_t epoch = 1;
    mallctl("epoch", NULL, NULL, &epoch, sizeof epoch);
    snprintf(name, sizeof name, "stats.arenas.%u.%s", arena, what);
    CHECK(mallctl(name, &value, &length, NULL, 0) == 0);
    return value;
}

static void arena_overflow(void)
{
    block = mallocx(64, MALLOCX_ARENA(arena_new()) | MALLOCX_TCACHE_NONE);
    block[64] = 1;
}

static void arena_reset(void)
{
    unsigned arena = arena_new();
    block = mallocx(64, MALLOCX_ARENA(arena) | MALLOCX_TCACHE_NONE);
    CHECK(arena_act(arena, "reset") == 0);
    block[3] = 1;
}

static void arena_thread(void)
{
    unsigned arena = arena_new();
    CHECK(mallctl("thread.arena", NULL, NULL, &arena, sizeof arena) == 0);
    block = malloc(64);
    block[64] = 1;
}

static void *in_a_thread(void *heap)
{
    static void *kept[50];
    for (size_t i = 0; i < 50; i++)
        kept[i] = mi_heap_malloc(heap, i * 100);
    for (size_t i = 0; i < 50; i += 2)
        mi_free(kept[i]);
    return NULL;
}

/* No error: arenas and heaps count, answer and end as with ordinary blocks. */
static void no_error(void)
{
    unsigned arena = arena_new(), first = 0;
    int flags = MALLOCX_ARENA(arena) | MALLOCX_TCACHE_NONE;
    size_t small = 0, large = 0;
    for (size_t i = 1; i < 400; i++) {
        void *p = mallocx(i * 100, flags);
        CHECK(p != NULL && arena_of(p) == arena);
        memset(p, 1, nallocx(i * 100, flags));
        CHECK(sallocx(p, 0) >= nallocx(i * 100, flags));
        small += i * 100 <= 32768;
        large += i * 100 > 32768;
        if (i % 4 == 0)
            dallocx(rallocx(p, i * 120, flags), flags);
    }
    CHECK(stat_of(arena, "small.nmalloc") >= small && stat_of(arena, "large.nmalloc") >= large);
    CHECK(stat_of(arena, "small.allocated") > 4000000 &&
          stat_of(arena, "large.allocated") > 1000000);
    CHECK(arena_act(arena, "reset") == 0);
    CHECK(stat_of(arena, "small.allocated") == 0 && stat_of(arena, "large.allocated") == 0);
    CHECK(stat_of(arena, "small.nmalloc") == stat_of(arena, "small.ndalloc"));
    CHECK(mallctl("thread.arena", NULL, NULL, &arena, sizeof arena) == 0);
    void *p = malloc(100), *q = realloc(malloc(10), 5000);
    CHECK(arena_of(p) == arena && arena_of(q) == arena);
    CHECK(arena_act(arena, "destroy") != 0);
    CHECK(mallctl("thread.arena", NULL, NULL, &first, sizeof first) == 0);
    CHECK(arena_act(arena, "destroy") == 0);

    struct memoir_stats before = {0}, after = {0};
    memoir_stats(&before, sizeof before);
    for (int round = 0; round < 3; round++) {
        mi_heap_t *heap = mi_heap_new(), *other = mi_heap_new();
        pthread_t thread;
        pthread_create(&thread, NULL, in_a_thread, heap);
        pthread_join(thread, NULL);
        void *stays = mi_heap_malloc(other, 100), *here = mi_heap_malloc(heap, 100);
        CHECK(mi_heap_contains_block(heap, here) && !mi_heap_contains_block(other, here));
        pid_t child = fork();
        if (child == 0) {
            mi_free(here);
            mi_heap_destroy(heap);
            mi_heap_destroy(other);
            _exit(failures);
        }
        int status = 1;
        waitpid(child, &status, 0);
        CHECK(status == 0);
        mi_heap_destroy(heap);
        mi_heap_delete(other);
        CHECK(mi_heap_contains_block(mi_heap_get_backing(), stays));
        mi_heap_destroy(mi_heap_new()); /* perhaps the same one again */
        memset(stays, 1, 100);
        mi_free(stays);
    }
    memoir_stats(&after, sizeof after);
    CHECK(after.live_bytes < before.live_bytes + 10000);
}

int main(int count, char **arguments)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {
        {"heap_overflow", heap_overflow},
        {"heap_freed_twice", heap_freed_twice},
        {"heap_destroyed", heap_destroyed},
        {"heap_damaged", heap_damaged},
        {"heap_default", heap_default},
        {"arena_overflow", arena_overflow},
        {"arena_reset", arena_reset},
        {"arena_thread", arena_thread},
        {"no_error", no_error},
    };
    for (size_t i = 0; count > 1 && i < sizeof cases / sizeof *cases; i++)
        if (strcmp(cases[i].name, arguments[1]) == 0) {
            cases[i].run();
            return failures != 0;
        }
    return 2;
}

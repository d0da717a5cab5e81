/* SPDX-License-Identifier: MIT */ /* static-too */
/* Arenas with extent hooks: all blocks lie in memory that the program's functions gave, each
 * function is called for what it promises, and its refusal is respected. */
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "tests/api/arena.h"
#include "tests/api/check.h"

#pragma weak mallocx
#pragma weak rallocx
#pragma weak xallocx
#pragma weak sallocx
#pragma weak dallocx

enum { GIVEN_MAX = 4096, MANY = 3000 };
static struct {
    char *start;
    size_t size;
} given[GIVEN_MAX];
static size_t given_count, given_bytes;
static struct {
    int alloc, dalloc, destroy, commit, decommit, lazy, forced, split, merge;
} calls;
static bool refuse_alloc, refuse_dalloc, allow_decommit, refuse_split;
static unsigned expected;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *alloc(extent_hooks_t *hooks, void *at, size_t size, size_t align, bool *zero,
                   bool *commit, unsigned arena)
{
    (void)hooks;
    free(malloc(500)); /* hooks may allocate, and not from the arena */
    if (refuse_alloc || at != NULL)
        return NULL;
    int kind = MAP_PRIVATE | MAP_ANONYMOUS;
    char *start = mmap(NULL, size + align, PROT_READ | PROT_WRITE, kind, -1, 0);
    start += -(uintptr_t)start & (align - 1);
    pthread_mutex_lock(&mutex);
    calls.alloc++;
    CHECK_EQ(arena, expected);
    given[given_count].start = start;
    given[given_count++].size = size;
    given_bytes += size;
    pthread_mutex_unlock(&mutex);
    *zero = *commit = true;
    return start;
}

static void gone(size_t size)
{
    pthread_mutex_lock(&mutex);
    given_bytes -= size;
    pthread_mutex_unlock(&mutex);
}

static bool dalloc(extent_hooks_t *hooks, void *at, size_t size, bool committed, unsigned arena)
{
    (void)hooks, (void)committed, (void)arena;
    calls.dalloc++;
    if (refuse_dalloc)
        return true;
    gone(size);
    return munmap(at, size) != 0;
}

static void destroy(extent_hooks_t *hooks, void *at, size_t size, bool committed, unsigned arena)
{
    (void)hooks, (void)committed, (void)arena;
    calls.destroy++;
    gone(size);
    munmap(at, size);
}

static bool commit(extent_hooks_t *hooks, void *at, size_t size, size_t from, size_t length,
                   unsigned arena)
{
    (void)hooks, (void)size, (void)arena;
    calls.commit++;
    return mprotect((char *)at + from, length, PROT_READ | PROT_WRITE) != 0;
}

static bool decommit(extent_hooks_t *hooks, void *at, size_t size, size_t from, size_t length,
                     unsigned arena)
{
    (void)hooks, (void)size, (void)arena;
    calls.decommit++;
    if (!allow_decommit)
        return true;
    madvise((char *)at + from, length, MADV_DONTNEED);
    return mprotect((char *)at + from, length, PROT_NONE) != 0;
}

static bool purge_lazy(extent_hooks_t *hooks, void *at, size_t size, size_t from, size_t length,
                       unsigned arena)
{
    (void)hooks, (void)at, (void)size, (void)from, (void)length, (void)arena;
    calls.lazy++;
    return false;
}

static bool purge_forced(extent_hooks_t *hooks, void *at, size_t size, size_t from, size_t length,
                         unsigned arena)
{
    (void)hooks, (void)at, (void)size, (void)from, (void)length, (void)arena;
    calls.forced++;
    return true;
}

static bool split(extent_hooks_t *hooks, void *at, size_t size, size_t first, size_t second,
                  bool committed, unsigned arena)
{
    (void)hooks, (void)at, (void)committed, (void)arena;
    calls.split++;
    CHECK_EQ(first + second, size);
    return refuse_split;
}

static bool merge(extent_hooks_t *hooks, void *first, size_t size_first, void *second,
                  size_t size_second, bool committed, unsigned arena)
{
    (void)hooks, (void)size_second, (void)committed, (void)arena;
    calls.merge++;
    CHECK((char *)first + size_first == (char *)second);
    return false;
}

static extent_hooks_t hooks = {alloc,      dalloc,       destroy, commit, decommit,
                               purge_lazy, purge_forced, split,   merge};

static bool was_given(const char *p, size_t size)
{
    for (size_t i = 0; i < given_count; i++)
        if (p >= given[i].start && p + size <= given[i].start + given[i].size)
            return true;
    return false;
}

static unsigned create(void)
{
    extent_hooks_t *mine = &hooks;
    size_t length = sizeof expected;
    given_count = given_bytes = 0;
    CHECK_EQ(mallctl("arenas.create", &expected, &length, &mine, sizeof mine), 0);
    return expected;
}

static void blocks_lie_in_lent_memory(void)
{
    static unsigned char *blocks[MANY];
    unsigned arena = create(), found = 0;
    size_t length = sizeof found;
    uint64_t before = live_bytes();
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < MANY; i++) {
            size_t size = i % 40 == 39 ? 50000 + i : i % 3000;
            size_t align = i % 11 == 0 ? 8192 : 16;
            blocks[i] = mallocx(size, MALLOCX_ARENA(arena) | MALLOCX_ALIGN(align) | MALLOCX_ZERO);
            CHECK(blocks[i] != NULL && is_aligned(blocks[i], align));
            size = sallocx(blocks[i], 0);
            CHECK(was_given((char *)blocks[i], size));
            CHECK_EQ(first_other_byte(blocks[i], size, 0), size);
            pattern_fill(blocks[i], size, (unsigned)i);
        }
        CHECK_EQ(mallctl("arenas.lookup", &found, &length, &blocks[7], sizeof blocks[7]), 0);
        CHECK_EQ(found, arena);
        for (size_t i = 0; i < MANY; i++) {
            size_t size = sallocx(blocks[i], 0);
            CHECK_EQ(pattern_differs_at(blocks[i], size, (unsigned)i), size);
            if (i % 2 == 0)
                free(blocks[i]);
            else
                free(realloc(blocks[i], size + 1)); /* moves to the arena of the thread */
        }
        CHECK_EQ(live_bytes(), before);
    }
    CHECK_EQ(arena_act(arena, "destroy"), 0);
    CHECK_EQ(given_bytes, 0);
    CHECK_EQ(live_bytes(), before);
}

static void memory_goes_back(void)
{
    unsigned arena = create();
    memset(&calls, 0, sizeof calls);
    int flags = MALLOCX_ARENA(arena);
    char *p = mallocx(1 << 20, flags);
    CHECK(calls.alloc == 1 && given_bytes == 1 << 20);
    CHECK_EQ(xallocx(p, 1 << 19, 0, flags), 1 << 19); /* the rest is free, */
    CHECK_EQ(calls.split, 1);
    CHECK_EQ(arena_act(arena, "purge"), 0); /* and goes back */
    CHECK(calls.dalloc == 1 && given_bytes == 1 << 19);
    refuse_dalloc = allow_decommit = true;
    free(p);
    CHECK_EQ(arena_act(arena, "purge"), 0);
    CHECK(calls.dalloc == 2 && calls.decommit == 1 && given_bytes == 1 << 19);
    p = mallocx(1 << 18, flags); /* from the memory that was refused */
    memset(p, 1, 1 << 18);
    CHECK(calls.alloc == 1 && calls.commit == 1 && calls.split == 2);
    CHECK_EQ(xallocx(p, 1 << 19, 0, flags), 1 << 19);
    CHECK(calls.merge == 1 && calls.commit == 2);
    memset(p, 1, 1 << 19);
    free(p);
    allow_decommit = false;
    CHECK_EQ(arena_act(arena, "purge"), 0);
    CHECK(calls.forced == 1 && calls.lazy == 1);
    refuse_split = true; /* then a smaller block needs new memory */
    p = mallocx(1 << 18, flags);
    CHECK(p != NULL && calls.alloc == 2);
    refuse_split = false;
    refuse_alloc = true;
    CHECK(mallocx(1 << 22, flags) == NULL);
    refuse_alloc = false;
    CHECK_EQ(arena_act(arena, "reset"), 0);
    CHECK_EQ(arena_act(arena, "destroy"), 0);
    CHECK(calls.destroy >= 1);
    CHECK_EQ(given_bytes, 0);
    refuse_dalloc = false;
}

static void *many_blocks(void *unused)
{
    unsigned char *mine[64] = {NULL};
    unsigned seed = (unsigned)(uintptr_t)&mine;
    CHECK_EQ(mallctl("thread.arena", NULL, NULL, &expected, sizeof expected), 0);
    for (int i = 0; i < 20000; i++) {
        size_t at = (size_t)rand_r(&seed) % 64, max = i % 16 == 0 ? 90000 : 900;
        size_t size = 1 + (size_t)rand_r(&seed) % max;
        if (mine[at] != NULL) {
            CHECK_EQ(mine[at][0], (unsigned char)at);
            free(mine[at]);
        }
        mine[at] = malloc(size);
        mine[at][0] = mine[at][size - 1] = (unsigned char)at;
    }
    for (size_t i = 0; i < 64; i++)
        free(mine[i]);
    return unused;
}

static void threads_share_an_arena(void)
{
    unsigned arena = create();
    pthread_t threads[4];
    uint64_t before = live_bytes();
    for (int i = 0; i < 4; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, many_blocks, NULL), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    CHECK(live_bytes() < before + (1 << 20));
    CHECK_EQ(arena_act(arena, "destroy"), 0);
    CHECK_EQ(given_bytes, 0);
}

static void hooks_can_be_exchanged(void)
{
    unsigned arena = 0;
    size_t length = sizeof arena, pointer = sizeof(void *);
    extent_hooks_t *mine = &hooks, *theirs = NULL;
    char name[64];
    CHECK_EQ(mallctl("arenas.create", &arena, &length, NULL, 0), 0);
    expected = arena;
    given_count = given_bytes = 0;
    void *before = mallocx(100, MALLOCX_ARENA(arena));
    snprintf(name, sizeof name, "arena.%u.extent_hooks", arena);
    CHECK_EQ(mallctl(name, &theirs, &pointer, &mine, pointer), 0);
    CHECK(theirs != NULL && theirs->alloc != NULL);
    char *after = mallocx(100, MALLOCX_ARENA(arena));
    CHECK(was_given(after, 100) && !was_given(before, 1));
    CHECK_EQ(mallctl(name, &mine, &pointer, &theirs, pointer), 0);
    CHECK(mine == &hooks);
    bool zero = false, committed = false; /* those of before are functions that work */
    size_t size = 1 << 16;
    char *extent = theirs->alloc(theirs, NULL, size, size, &zero, &committed, 0);
    CHECK(extent != NULL && is_aligned(extent, size) && zero && committed);
    memset(extent, 1, size);
    CHECK(!theirs->dalloc(theirs, extent, size, true, 0));
    free(before);
    free(after);
    CHECK_EQ(arena_act(arena, "destroy"), 0);
    CHECK_EQ(mallctl("arena.0.extent_hooks", NULL, NULL, &mine, pointer), EFAULT);
}

int main(void)
{
    if (mallocx == NULL || mallctl == NULL)
        return 77;
    blocks_lie_in_lent_memory();
    memory_goes_back();
    threads_share_an_arena();
    hooks_can_be_exchanged();
    return check_result();
}

/* SPDX-License-Identifier: MIT */ /* static-too */
/* jemalloc's arenas: blocks belong to the arena that they were asked of, are counted there, and end
 * with it; threads choose one for all their blocks; numbers of arenas and caches are used again. */
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/wait.h>

#include "tests/api/arena.h"
#include "tests/api/check.h"
#include "tests/api/stats_text.h"

#pragma weak mallocx
#pragma weak rallocx
#pragma weak xallocx
#pragma weak sallocx
#pragma weak dallocx

enum { MANY = 5000 };
static void *blocks[MANY];

static unsigned create(void)
{
    unsigned number = 0;
    size_t length = sizeof number;
    CHECK_EQ(mallctl("arenas.create", &number, &length, NULL, 0), 0);
    return number;
}

static unsigned arena_of(void *p)
{
    unsigned number = 99999;
    size_t length = sizeof number;
    CHECK_EQ(mallctl("arenas.lookup", &number, &length, &p, sizeof p), 0);
    return number;
}

static size_t stat_of(unsigned arena, const char *what)
{
    char name[80];
    uint64_t value = 0;
    size_t length = sizeof value;
    mallctl("epoch", NULL, NULL, &(uint64_t){1}, sizeof(uint64_t));
    snprintf(name, sizeof name, "stats.arenas.%u.%s", arena, what);
    CHECK_AT(mallctl(name, &value, &length, NULL, 0) == 0, "%s", name);
    return value;
}

static size_t size_of(size_t i)
{
    return i % 50 == 49 ? 40000 + i : i % 600;
}

static size_t fill(unsigned arena, size_t count)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        int zero = i % 3 == 0 ? MALLOCX_ZERO : 0, align = i % 7 == 0 ? MALLOCX_ALIGN(64) : 0;
        unsigned char *p = mallocx(size_of(i), MALLOCX_ARENA(arena) | zero | align);
        CHECK(p != NULL && sallocx(p, 0) >= size_of(i));
        CHECK(align == 0 || is_aligned(p, 64));
        CHECK(zero == 0 || first_other_byte(p, sallocx(p, 0), 0) == sallocx(p, 0));
        pattern_fill(p, size_of(i), (unsigned)i);
        bytes += sallocx(p, 0);
        blocks[i] = p;
    }
    return bytes;
}

static void blocks_belong_to_their_arena(void)
{
    unsigned one = create(), two = create();
    CHECK(one != two && one != 0);
    void *mine = mallocx(100, MALLOCX_ARENA(one)), *other = mallocx(100, MALLOCX_ARENA(two));
    void *plain = malloc(100), *large = mallocx(1 << 20, MALLOCX_ARENA(two));
    CHECK_EQ(arena_of(mine), one);
    CHECK_EQ(arena_of(other), two);
    CHECK_EQ(arena_of(large), two);
    CHECK_EQ(arena_of(plain), 0);
    mine = rallocx(mine, 3000, MALLOCX_ARENA(two));
    CHECK_EQ(arena_of(mine), two);
    large = rallocx(large, 3 << 20, MALLOCX_ARENA(one));
    CHECK_EQ(arena_of(large), one);
    free(mine);
    dallocx(other, 0);
    free(plain);
    free(large);
    CHECK(mallocx(100, MALLOCX_ARENA(4000)) == NULL);
    CHECK_EQ(arena_act(0, "reset"), EFAULT);
    CHECK_EQ(arena_act(0, "destroy"), EFAULT);
    CHECK_EQ(arena_act(4000, "reset"), EFAULT);
    CHECK_EQ(arena_act(one, "destroy"), 0);
    CHECK_EQ(arena_act(two, "destroy"), 0);
}

static void an_arena_ends_as_a_whole(void)
{
    unsigned arena = create();
    free(mallocx(1, MALLOCX_ARENA(arena))); /* what it keeps for itself */
    uint64_t before = live_bytes();
    for (int round = 0; round < 3; round++) {
        size_t bytes = fill(arena, MANY);
        CHECK_EQ(stat_of(arena, "small.allocated") + stat_of(arena, "large.allocated"), bytes);
        CHECK_EQ(live_bytes(), before + bytes);
        for (size_t i = 0; i < MANY; i += 2) {
            CHECK_EQ(pattern_differs_at(blocks[i], size_of(i), (unsigned)i), size_of(i));
            bytes -= sallocx(blocks[i], 0);
            free(blocks[i]);
        }
        CHECK_EQ(stat_of(arena, "small.allocated") + stat_of(arena, "large.allocated"), bytes);
        CHECK_EQ(arena_act(arena, "reset"), 0);
        CHECK_EQ(live_bytes(), before);
        CHECK_EQ(stat_of(arena, "small.nmalloc"), stat_of(arena, "small.ndalloc"));
        CHECK_EQ(stat_of(arena, "large.nmalloc"), stat_of(arena, "large.ndalloc"));
    }
    fill(arena, MANY);
    size_t small = stat_of(arena, "small.nmalloc"), gone = stat_of(4097, "small.nmalloc");
    CHECK_EQ(arena_act(arena, "destroy"), 0);
    CHECK_EQ(live_bytes(), before);
    CHECK_EQ(stat_of(4097, "small.nmalloc"), gone + small);
    CHECK_EQ(arena_act(arena, "purge"), EFAULT);
    CHECK_EQ(create(), arena); /* its number again, with nothing in it */
    CHECK_EQ(stat_of(arena, "small.nmalloc"), 0);
    CHECK_EQ(arena_act(arena, "destroy"), 0);
}

static unsigned thread_arena(unsigned next)
{
    unsigned before = 0;
    size_t length = sizeof before;
    CHECK_EQ(mallctl("thread.arena", &before, &length, &next, sizeof next), 0);
    return before;
}

static void *allocate_in(void *number)
{
    unsigned arena = *(unsigned *)number;
    CHECK_EQ(thread_arena(arena), 0);
    for (int i = 0; i < 1000; i++) {
        void *p = malloc(100 + (size_t)i), *q = mallocx(10, MALLOCX_ARENA(0));
        CHECK_EQ(arena_of(p), arena);
        CHECK_EQ(arena_of(q), 0);
        free(q);
        p = realloc(p, 2000 + (size_t)i * 100);
        CHECK_EQ(arena_of(p), arena);
        free(p);
    }
    unsigned users = 0;
    size_t length = sizeof users;
    char name[64];
    stat_of(arena, "small.nmalloc"); /* a new epoch */
    snprintf(name, sizeof name, "stats.arenas.%u.nthreads", arena);
    CHECK_EQ(mallctl(name, &users, &length, NULL, 0), 0);
    CHECK_EQ(users, 1);
    CHECK_EQ(arena_act(arena, "destroy"), EFAULT); /* it is a thread's */
    return malloc(77);
}

static void threads_have_arenas(void)
{
    unsigned arena = create();
    pthread_t thread;
    void *left = NULL;
    CHECK_EQ(pthread_create(&thread, NULL, allocate_in, &arena), 0);
    pthread_join(thread, &left);
    CHECK_EQ(arena_of(left), arena);
    free(left);
    CHECK_EQ(thread_arena(arena), 0);
    pid_t child = fork();
    if (child == 0) {
        void *p = malloc(50);
        bool same = arena_of(p) == arena && thread_arena(0) == arena;
        bool ended = arena_act(arena, "destroy") == 0;
        _exit(same && ended && check_failures == 0 ? 0 : 1);
    }
    int status = 1;
    waitpid(child, &status, 0);
    CHECK_EQ(status, 0);
    CHECK_EQ(thread_arena(0), arena);
    CHECK_EQ(arena_act(arena, "destroy"), 0);
    void *p = malloc(50);
    CHECK_EQ(arena_of(p), 0);
    free(p);
}

/* What `stats.arenas.<i>.lextents.<j>` says of the size that 100,000 bytes belong to. */
static size_t large_stat(unsigned arena, const char *what)
{
    char name[60];
    for (unsigned i = 0;; i++) {
        size_t size = 0, length = sizeof size;
        snprintf(name, sizeof name, "arenas.lextent.%u.size", i);
        if (!CHECK_EQ(mallctl(name, &size, &length, NULL, 0), 0))
            return 0;
        snprintf(name, sizeof name, "lextents.%u.%s", i, what);
        if (size >= 100000)
            return stat_of(arena, name);
    }
}

static void large_blocks_are_counted_by_size(void)
{
    unsigned arena = create();
    size_t others = large_stat(0, "nmalloc"), gone = large_stat(4097, "nmalloc");
    void *one = mallocx(100000, MALLOCX_ARENA(arena)), *two = mallocx(99000, MALLOCX_ARENA(arena));
    void *longer = mallocx(2000000, MALLOCX_ARENA(arena)), *plain = malloc(100000);
    CHECK_EQ(large_stat(arena, "nmalloc"), 2);
    CHECK_EQ(large_stat(arena, "curlextents"), 2);
    CHECK_EQ(large_stat(0, "nmalloc"), others + 1);
    free(one);
    CHECK_EQ(large_stat(arena, "ndalloc"), 1);
    CHECK_EQ(large_stat(arena, "curlextents"), 1);
    two = rallocx(two, 3000000, MALLOCX_ARENA(arena));
    CHECK_EQ(large_stat(arena, "curlextents"), 0);
    const char *printed = stats_text("g");
    char heading[40];
    snprintf(heading, sizeof heading, "\narenas[%u]:\n", arena);
    CHECK(strstr(printed, "\nMerged arenas stats:\n") != NULL);
    CHECK(strstr(printed, "\narenas[0]:\n") != NULL && strstr(printed, heading) != NULL);
    CHECK(strstr(printed, "\nlarge:          size ind ") != NULL);
    CHECK_EQ(arena_act(arena, "destroy"), 0);
    CHECK_EQ(large_stat(4097, "nmalloc"), gone + 2);
    CHECK_EQ(large_stat(4097, "curlextents"), 0);
    free(plain);
    (void)longer;
    (void)two;
}

static void spans_with_room_are_counted(void)
{
    unsigned arena = create();
    CHECK_EQ(stat_of(arena, "bins.7.nonfull_slabs"), 0); /* of 128 bytes */
    for (int i = 0; i < MANY; i++)
        blocks[i] = mallocx(128, MALLOCX_ARENA(arena) | MALLOCX_TCACHE_NONE);
    for (int i = 0; i < MANY; i++)
        if (i % 2 == 0)
            dallocx(blocks[i], MALLOCX_TCACHE_NONE);
    mallctl("thread.tcache.flush", NULL, NULL, NULL, 0);
    CHECK(stat_of(arena, "bins.7.nonfull_slabs") >= 3); /* spans have at most 256 blocks */
    CHECK_EQ(arena_act(arena, "destroy"), 0);
}

static bool cache_enabled(bool now)
{
    bool before = false;
    size_t length = sizeof before;
    CHECK_EQ(mallctl("thread.tcache.enabled", &before, &length, &now, sizeof now), 0);
    return before;
}

static void *switch_cache(void *unused)
{
    CHECK(cache_enabled(false));
    CHECK(!cache_enabled(false));
    CHECK(!cache_enabled(true));
    CHECK(cache_enabled(true));
    return unused;
}

static void caches_have_numbers(void)
{
    unsigned one, two, again;
    size_t length = sizeof one;
    CHECK_EQ(mallctl("tcache.create", &one, &length, NULL, 0), 0);
    CHECK_EQ(mallctl("tcache.create", &two, &length, NULL, 0), 0);
    CHECK(one != two);
    free(mallocx(100, MALLOCX_TCACHE(one)));
    CHECK_EQ(mallctl("tcache.flush", NULL, NULL, NULL, 0), EINVAL);
    CHECK_EQ(mallctl("tcache.destroy", NULL, NULL, NULL, 0), EINVAL);
    CHECK_EQ(mallctl("tcache.flush", NULL, NULL, &one, sizeof one), 0);
    CHECK_EQ(mallctl("tcache.destroy", NULL, NULL, &one, sizeof one), 0);
    CHECK_EQ(mallctl("tcache.destroy", NULL, NULL, &one, sizeof one), EFAULT);
    CHECK_EQ(mallctl("tcache.create", &again, &length, NULL, 0), 0);
    CHECK_EQ(again, one);
    mallctl("tcache.destroy", NULL, NULL, &one, sizeof one);
    mallctl("tcache.destroy", NULL, NULL, &two, sizeof two);
    pthread_t thread; /* from its first call on */
    CHECK_EQ(pthread_create(&thread, NULL, switch_cache, NULL), 0);
    pthread_join(thread, NULL);
    switch_cache(NULL);
}

static void settings_are_kept(void)
{
    unsigned arena = create();
    char name[64];
    ssize_t ms = 0, next = 123;
    size_t length = sizeof ms;
    snprintf(name, sizeof name, "arena.%u.dirty_decay_ms", arena);
    CHECK_EQ(mallctl(name, NULL, NULL, &next, sizeof next), 0);
    CHECK_EQ(mallctl(name, &ms, &length, NULL, 0), 0);
    CHECK_EQ(ms, 123);
    next = -2;
    CHECK_EQ(mallctl(name, NULL, NULL, &next, sizeof next), EFAULT);
    const char *word = "primary";
    snprintf(name, sizeof name, "arena.%u.dss", arena);
    CHECK_EQ(mallctl(name, NULL, NULL, &word, sizeof word), 0);
    CHECK_EQ(mallctl(name, &word, &length, NULL, 0), 0);
    CHECK_EQ(strcmp(word, "primary"), 0);
    size_t limit = (size_t)sysconf(_SC_PAGESIZE) + 1, kept = 0;
    snprintf(name, sizeof name, "arena.%u.retain_grow_limit", arena);
    CHECK_EQ(mallctl(name, NULL, NULL, &limit, sizeof limit), 0);
    CHECK_EQ(mallctl(name, &kept, &length, NULL, 0), 0);
    CHECK_EQ(kept, limit - 1);
    limit = 1;
    CHECK_EQ(mallctl(name, NULL, NULL, &limit, sizeof limit), EFAULT);
    CHECK_EQ(arena_act(arena, "destroy"), 0);
}

/* With options, in this program once more. */
static void options_make_arenas_and_spans(void)
{
    unsigned count = 0;
    size_t length = sizeof count, bytes = 0, page = (size_t)sysconf(_SC_PAGESIZE);
    CHECK_EQ(mallctl("arenas.narenas", &count, &length, NULL, 0), 0);
    CHECK_EQ(count, 4); /* and one for very large blocks */
    CHECK_EQ(arena_act(2, "reset"), EFAULT);
    void *p = mallocx(100, MALLOCX_ARENA(2));
    CHECK_EQ(arena_of(p), 2);
    free(p);
    CHECK_EQ(create(), 4);
    length = sizeof bytes;
    CHECK_EQ(mallctl("arenas.bin.7.slab_size", &bytes, &length, NULL, 0), 0); /* of 128 bytes */
    CHECK_EQ(bytes, 2 * page);
    for (int i = 0; i < MANY; i++)
        blocks[i] = memset(malloc(128), i, 128);
    for (int i = 0; i < MANY; i++) {
        CHECK_EQ(first_other_byte(blocks[i], 128, (unsigned char)i), 128);
        free(blocks[i]);
    }
}

int main(int count, char **arguments)
{
    (void)count;
    if (mallocx == NULL || mallctl == NULL)
        return 77;
    if (getenv("MALLOC_CONF") != NULL) {
        options_make_arenas_and_spans();
        return check_result();
    }
    blocks_belong_to_their_arena();
    an_arena_ends_as_a_whole();
    threads_have_arenas();
    large_blocks_are_counted_by_size();
    spans_with_room_are_counted();
    caches_have_numbers();
    settings_are_kept();
    if (check_failures != 0 || is_emulated())
        return check_result();
    setenv("MALLOC_CONF", "narenas:3,slab_sizes:128-128:2|200-4096:17", 1);
    execv("/proc/self/exe", arguments);
    return 1;
}

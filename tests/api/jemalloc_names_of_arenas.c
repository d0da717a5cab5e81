/* SPDX-License-Identifier: MIT */ /* static-too */
/* What jemalloc's arenas are called and when they are there; the arena of very large blocks, and
 * what becomes of such extents; limits that jemalloc refuses or rounds; functions whose names have
 * the commit of a release in them. */
#include <stdbool.h>

#include "tests/api/arena.h"
#include "tests/api/check.h"

struct sized {
    void *block;
    size_t size;
};
CHECK_WEAK struct sized smallocx_54eaed1d8b56b1aa528be3bdd1877e59c56fa90c(size_t size, int flags);
CHECK_WEAK struct sized smallocx_81034ce1f1373e37dc865038e1bc8eeecf559ce8(size_t size, int flags);
CHECK_WEAK void (*je_test_hooks_arena_new_hook)(void);

#pragma weak mallocx
#pragma weak sallocx
#pragma weak dallocx

enum { NONE = 99999 };
static const size_t mega = 1 << 20;

static unsigned number_at(const char *name)
{
    unsigned value = NONE;
    size_t length = sizeof value;
    CHECK_AT(mallctl(name, &value, &length, NULL, 0) == 0, "%s", name);
    return value;
}

static unsigned arena_of(void *p)
{
    unsigned number = NONE;
    size_t length = sizeof number;
    CHECK_EQ(mallctl("arenas.lookup", &number, &length, &p, sizeof p), 0);
    return number;
}

static bool is_initialized(unsigned arena)
{
    char name[64];
    bool value = false;
    size_t length = sizeof value;
    snprintf(name, sizeof name, "arena.%u.initialized", arena);
    CHECK_EQ(mallctl(name, &value, &length, NULL, 0), 0);
    return value;
}

static void next_epoch(void)
{
    CHECK_EQ(mallctl("epoch", NULL, NULL, &(uint64_t){1}, sizeof(uint64_t)), 0);
}

static bool is_called(unsigned arena, const char *wanted)
{
    char name[64], text[32] = "", *to = text;
    size_t length = sizeof to;
    snprintf(name, sizeof name, "arena.%u.name", arena);
    CHECK_EQ(mallctl(name, &to, &length, NULL, 0), 0);
    return strcmp(text, wanted) == 0;
}

static void arenas_begin_with_an_epoch(void)
{
    enum { DESTROYED = 4097 };
    char wanted[32];
    CHECK(!is_initialized(DESTROYED));
    unsigned arena = number_at("arenas.create");
    snprintf(wanted, sizeof wanted, "manual_%u", arena);
    CHECK(is_called(arena, wanted) && is_called(0, "auto_0"));
    char *nowhere = NULL;
    size_t length = sizeof nowhere;
    CHECK_EQ(mallctl("arena.0.name", &nowhere, &length, NULL, 0), EINVAL);
    CHECK(!is_initialized(arena));
    next_epoch();
    CHECK(is_initialized(arena));
    CHECK_EQ(arena_act(arena, "destroy"), 0);
    CHECK(is_initialized(DESTROYED));
    CHECK(!is_initialized(arena));
}

static uint64_t large_blocks_in(unsigned arena)
{
    char name[64];
    uint64_t value = 0;
    size_t length = sizeof value;
    next_epoch();
    snprintf(name, sizeof name, "stats.arenas.%u.large.nmalloc", arena);
    CHECK_EQ(mallctl(name, &value, &length, NULL, 0), 0);
    return value;
}

static void very_large_blocks_have_an_arena(void)
{
    unsigned oversize = number_at("opt.narenas"), manual = number_at("arenas.create");
    CHECK(number_at("arenas.narenas") > oversize);
    CHECK(is_called(oversize, "auto_oversize"));
    uint64_t before = large_blocks_in(oversize), rest = large_blocks_in(0);
    void *small = malloc(8), *large = malloc(mega), *very_large = malloc(8 * mega);
    void *owned = mallocx(8 * mega, MALLOCX_ARENA(manual));
    CHECK_EQ(arena_of(small), 0);
    CHECK_EQ(arena_of(large), 0);
    CHECK_EQ(arena_of(very_large), oversize);
    CHECK_EQ(arena_of(owned), manual);
    CHECK_EQ(large_blocks_in(oversize), before + 1);
    CHECK_EQ(large_blocks_in(0), rest + 1);
    dallocx(owned, 0);
    free(very_large);
    free(large);
    free(small);
    CHECK_EQ(arena_act(manual, "destroy"), 0);
}

static size_t largest_back;
static struct extent_hooks_s *default_hooks;

static bool note_dalloc(extent_hooks_t *hooks, void *at, size_t size, bool committed,
                        unsigned arena)
{
    (void)hooks;
    largest_back = size > largest_back ? size : largest_back;
    return default_hooks->dalloc(default_hooks, at, size, committed, arena);
}

static void very_large_extents_go_back(void)
{
    char name[64];
    size_t length = sizeof default_hooks, threshold = mega;
    CHECK_EQ(mallctl("arena.0.extent_hooks", &default_hooks, &length, NULL, 0), 0);
    static extent_hooks_t hooks;
    hooks = *default_hooks;
    hooks.dalloc = note_dalloc;
    extent_hooks_t *own = &hooks;
    unsigned arena = NONE;
    length = sizeof arena;
    CHECK_EQ(mallctl("arenas.create", &arena, &length, &own, sizeof own), 0);
    snprintf(name, sizeof name, "arena.%u.oversize_threshold", arena);
    CHECK_EQ(mallctl(name, NULL, NULL, &threshold, sizeof threshold), 0);
    dallocx(mallocx(mega / 2, MALLOCX_ARENA(arena)), 0);
    CHECK(largest_back < mega / 2);
    dallocx(mallocx(2 * mega, MALLOCX_ARENA(arena)), 0);
    CHECK(largest_back >= 2 * mega);
    snprintf(name, sizeof name, "arena.%u.dirty_decay_ms", arena); /* never: nothing goes back */
    CHECK_EQ(mallctl(name, NULL, NULL, &(ssize_t){-1}, sizeof(ssize_t)), 0);
    largest_back = 0;
    dallocx(mallocx(3 * mega, MALLOCX_ARENA(arena)), 0);
    CHECK_EQ(largest_back, 0);
    CHECK_EQ(arena_act(arena, "destroy"), 0);
}

static void limits_are_refused_or_rounded(void)
{
    char name[64];
    size_t value = 0, length = sizeof value, page = 0;
    CHECK_EQ(mallctl("max_background_threads", NULL, NULL, &value, sizeof value), EINVAL);
    CHECK_EQ(mallctl("arenas.page", &page, &length, NULL, 0), 0);
    unsigned arena = number_at("arenas.create");
    snprintf(name, sizeof name, "arena.%u.retain_grow_limit", arena);
    value = 14 * page - 1; /* sizes are 8, 10, 12, 14 and 16 pages there */
    CHECK_EQ(mallctl(name, NULL, NULL, &value, sizeof value), 0);
    CHECK_EQ(mallctl(name, &value, &length, NULL, 0), 0);
    CHECK_EQ(value, 12 * page);
    value = 2 * page + 1;
    CHECK_EQ(mallctl(name, NULL, NULL, &value, sizeof value), 0);
    CHECK_EQ(mallctl(name, &value, &length, NULL, 0), 0);
    CHECK_EQ(value, 2 * page);
    const char *none = NULL, *line = "two\nlines";
    CHECK_EQ(mallctl("thread.prof.name", NULL, NULL, &none, sizeof none), EFAULT);
    CHECK_EQ(mallctl("thread.prof.name", NULL, NULL, &line, sizeof line), EFAULT);
    CHECK_EQ(arena_act(arena, "destroy"), 0);
}

static unsigned made;

static void note_made(void)
{
    made++;
}

static void names_with_a_commit(void)
{
    struct sized a = smallocx_54eaed1d8b56b1aa528be3bdd1877e59c56fa90c(100, 0);
    struct sized b = smallocx_81034ce1f1373e37dc865038e1bc8eeecf559ce8(100, MALLOCX_ALIGN(256));
    CHECK(a.block != NULL && a.size >= 100 && a.size == sallocx(a.block, 0));
    CHECK(b.block != NULL && is_aligned(b.block, 256) && b.size == sallocx(b.block, 0));
    dallocx(a.block, 0);
    dallocx(b.block, 0);
    a = smallocx_54eaed1d8b56b1aa528be3bdd1877e59c56fa90c(opaque_size(SIZE_MAX / 2), 0);
    CHECK(a.block == NULL && a.size == 0);
    je_test_hooks_arena_new_hook = note_made;
    unsigned arena = number_at("arenas.create");
    je_test_hooks_arena_new_hook = NULL;
    CHECK_EQ(made, 1);
    CHECK_EQ(arena_act(arena, "destroy"), 0);
}

static void system_names_can_not_be_written(void)
{
    const char *name = "mine";
    CHECK_EQ(mallctl("thread.prof.name", NULL, NULL, &name, sizeof name), ENOENT);
    size_t length = sizeof name;
    CHECK_EQ(mallctl("thread.prof.name", &name, &length, NULL, 0), 0);
}

static void large_blocks_are_profiled_by_size(void)
{
    enum { COUNT = 50, SIZE = 100000 }; /* sizes are 40, 48, 56, 64, 80, 96 and 112 KiB at first */
    static void *blocks[COUNT];
    uint64_t sums[2] = {0, 0}, before[2] = {0, 0};
    size_t length = sizeof sums;
    CHECK_EQ(mallctl("prof.stats.lextents.6.live", before, &length, NULL, 0), 0);
    for (int i = 0; i < COUNT; i++)
        blocks[i] = opaque_ptr(malloc(SIZE));
    CHECK_EQ(mallctl("prof.stats.lextents.6.live", sums, &length, NULL, 0), 0);
    CHECK_EQ(sums[0] - before[0], COUNT * SIZE);
    CHECK_EQ(sums[1] - before[1], COUNT);
    for (int i = 0; i < COUNT; i++)
        free(blocks[i]);
}

int main(int count, char **arguments)
{
    (void)count;
    if (mallocx == NULL || mallctl == NULL)
        return 77;
    if (getenv("MALLOC_CONF") != NULL) {
        system_names_can_not_be_written();
        large_blocks_are_profiled_by_size();
        return check_result();
    }
    arenas_begin_with_an_epoch();
    very_large_blocks_have_an_arena();
    very_large_extents_go_back();
    limits_are_refused_or_rounded();
    if (smallocx_54eaed1d8b56b1aa528be3bdd1877e59c56fa90c != NULL)
        names_with_a_commit();
    else
        CHECK(!"smallocx of 5.3.0 is there");
    if (check_failures != 0 || is_emulated())
        return check_result();
    setenv("MALLOC_CONF", "prof:true,prof_stats:true,lg_prof_sample:0,prof_sys_thread_name:true",
           1);
    execv("/proc/self/exe", arguments);
    return 1;
}

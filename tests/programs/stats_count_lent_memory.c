/* SPDX-License-Identifier: MIT */
/* helper
 * Blocks in memory that the program provides: in an arena of jemalloc's with an alloc hook, and in
 * an arena of mimalloc's. The statistics of all interfaces are compared with each other, and those
 * of the parts with their sum. A line with NO names each disagreement. With an argument it waits
 * after the line "ready"; without one, it ends the arena and compares again. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "memoir/compat/jemalloc/jemalloc.h"
#include "memoir/memoir.h"

enum { SMALL = 6000, SIZE = 1000, LARGE = 40, MIB = 1 << 20, REGION = 64 << 20 };

static __typeof__(&mallctl) ctl;
static void *small[SMALL], *large[LARGE], *second[SMALL], *plain;

static void *find(const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    if (found == NULL) {
        printf("NO function %s\n", name);
        exit(1);
    }
    return found;
}

static void *map(size_t size)
{
    return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void *lend(extent_hooks_t *hooks, void *at, size_t size, size_t align, bool *zero,
                  bool *commit, unsigned arena)
{
    (void)hooks, (void)arena;
    *zero = *commit = true;
    return at != NULL || align > 4096 ? NULL : map(size);
}

static size_t value(const char *format, unsigned arena)
{
    static const size_t lengths[] = {sizeof(size_t), sizeof(unsigned), sizeof(bool)};
    char name[128];
    snprintf(name, sizeof name, format, arena);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        size_t value = 0, length = lengths[i];
        if (ctl(name, &value, &length, NULL, 0) == 0)
            return value;
    }
    printf("NO %s\n", name);
    return 0;
}

static size_t property(const char *name)
{
    int (*get)(const char *, size_t *) = find("MallocExtension_GetNumericProperty");
    size_t value = 0;
    get(name, &value);
    return value;
}

static void equal(const char *what, size_t a, size_t b)
{
    if (a != b)
        printf("NO %s: %zu and %zu\n", what, a, b);
}

static void at_least(const char *what, size_t a, size_t b)
{
    if (a < b)
        printf("NO %s: %zu is below %zu\n", what, a, b);
}

/* The sum over all arenas and what is said of all of them. */
static void sums(void)
{
    static const char *const names[] = {
        "small.allocated", "large.allocated", "small.nmalloc", "small.ndalloc",   "large.nmalloc",
        "large.ndalloc",   "pactive",         "pdirty",        "bins.20.nmalloc",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char name[64];
        size_t sum = 0;
        snprintf(name, sizeof name, "stats.arenas.%%u.%s", names[i]);
        for (unsigned arena = 0; arena < value("arenas.narenas", 0); arena++)
            if (value("arena.%u.initialized", arena))
                sum += value(name, arena);
        sum += value(name, MALLCTL_ARENAS_DESTROYED);
        equal(names[i], sum, value(name, MALLCTL_ARENAS_ALL));
    }
}

static size_t json_number(const char *json, const char *key)
{
    const char *at = strstr(json, key);
    at = at == NULL ? NULL : strstr(at, "\"current\": ");
    return at == NULL ? 0 : strtoull(at + strlen("\"current\": "), NULL, 10);
}

static void compare(void)
{
    static char json[64 << 10];
    char *(*mimalloc)(size_t, char *) = find("mi_stats_get_json");
    bool (*native)(struct memoir_stats *, size_t) = find("memoir_stats");
    struct memoir_stats now;
    uint64_t epoch = 1;
    setvbuf(stdout, NULL, _IONBF, 0); /* nothing below allocates */
    ctl("epoch", NULL, NULL, &epoch, sizeof epoch);
    mimalloc(sizeof json, json);
    memset(&now, 0, sizeof now);
    native(&now, sizeof now);
    size_t live = value("stats.allocated", 0), active = value("stats.active", 0);
    equal("allocated, jemalloc's and memoir's", live, now.live_bytes);
    equal("allocated, jemalloc's and gperftools'", live,
          property("generic.current_allocated_bytes"));
    equal("allocated, jemalloc's and mimalloc's", live, json_number(json, "\"malloc_requested\""));
    at_least("stats.active", active, live);
    at_least("stats.resident", value("stats.resident", 0), active);
    at_least("stats.mapped", value("stats.mapped", 0), active);
    at_least("mapped_bytes", now.mapped_bytes, active);
    at_least("resident_bytes", now.resident_bytes, 30 * MIB);
    at_least("generic.heap_size", property("generic.heap_size"), active);
    at_least("generic.total_physical_bytes", property("generic.total_physical_bytes"), live);
    equal("pages that are kept", now.dirty_bytes, property("tcmalloc.pageheap_free_bytes"));
    at_least("page_committed", json_number(json, "\"page_committed\""), live);
    at_least("committed", json_number(json, "\"committed\""), live);
    at_least("reserved", json_number(json, "\"reserved\""), live);
    sums();
}

/* A heap of an arena has what it gave out. */
static void compare_heap(void *heap, size_t bytes)
{
    static char json[64 << 10];
    char *(*stats)(const void *, size_t, char *) = find("mi_heap_stats_get_json");
    stats(heap, sizeof json, json);
    at_least("a heap's bytes", json_number(json, "\"malloc_requested\""), bytes);
}

static void fill(unsigned arena, void *heap)
{
    void *(*in_arena)(size_t, int) = find("mallocx");
    void (*give)(void *, int) = find("dallocx");
    void *(*in_heap)(void *, size_t) = find("mi_heap_malloc");
    int flags = MALLOCX_ARENA(arena) | MALLOCX_TCACHE_NONE;
    for (int i = 0; i < SMALL; i++) {
        memset(small[i] = in_arena(SIZE, flags), 1, SIZE);
        memset(second[i] = in_heap(heap, SIZE), 1, SIZE);
    }
    for (int i = 0; i < LARGE; i++)
        memset(large[i] = in_arena(MIB, flags), 1, MIB);
    for (int i = 0; i < SMALL; i += 2)
        give(small[i], 0);
    for (int i = 0; i < LARGE; i += 4)
        give(large[i], 0);
}

int main(int argc, char **argv)
{
    static extent_hooks_t hooks = {.alloc = lend}, *mine = &hooks;
    bool (*manage)(void *, size_t, bool, bool, bool, int, bool, int *) =
        find("mi_manage_os_memory_ex");
    void *(*heap_in)(int) = find("mi_heap_new_in_arena");
    unsigned arena = 0;
    size_t length = sizeof arena;
    int region = 0;
    ctl = (__typeof__(ctl))find("mallctl");
    ctl("arenas.create", &arena, &length, &mine, sizeof mine);
    manage(map(REGION), REGION, true, false, true, -1, true, &region);
    void *heap = heap_in(region);
    memset(plain = malloc(SIZE), 1, SIZE);
    fill(arena, heap);
    compare();
    compare_heap(heap, (size_t)SMALL * SIZE);
    if (argc > 1) {
        puts("ready");
        pause();
    }
    char name[64];
    snprintf(name, sizeof name, "arena.%u.destroy", arena);
    ctl(name, NULL, NULL, NULL, 0);
    for (int i = 0; i < SMALL; i++)
        free(second[i]);
    memset(large[0] = malloc(36 * MIB), 1, 36 * MIB);
    compare();
    puts("compared");
    return 0;
}

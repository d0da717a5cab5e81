/* SPDX-License-Identifier: MIT */ /* static-too */
/* The JSON of malloc_stats_print has the keys that readers of jemalloc's look for: mutexes of the
 * process, of each arena and of each bin, what was purged, delays, what threads cache, spans that
 * are neither full nor empty, free runs by length. The letters x, e and h leave mutexes, runs and
 * the huge page allocator out. Braces and brackets match. */
#include <stdbool.h>

#include "tests/api/arena.h"
#include "tests/api/check.h"
#include "tests/api/stats_text.h"

static bool matches(const char *at)
{
    char stack[64];
    size_t depth = 0;
    bool quoted = false;
    for (; *at != '\0'; at++) {
        if (*at == '"')
            quoted = !quoted;
        else if (!quoted && (*at == '{' || *at == '[') && depth < sizeof stack)
            stack[depth++] = *at == '{' ? '}' : ']';
        else if (!quoted && (*at == '}' || *at == ']') && (depth == 0 || stack[--depth] != *at))
            return false;
        if (!quoted && ((*at == ',' && (at[1] == ',' || at[1] == '}' || at[1] == ']')) ||
                        (*at == '{' && at[1] == ',')))
            return false;
    }
    return depth == 0;
}

/* The sum over an array's key, from the first one of its name behind `from` on. */
static uint64_t sum_of(const char *from, const char *array, const char *name)
{
    char wanted[64];
    uint64_t sum = 0;
    const char *at = strstr(from, array), *end = at == NULL ? NULL : strchr(at, ']');
    snprintf(wanted, sizeof wanted, "\"%s\":", name);
    while (end != NULL && (at = strstr(at, wanted)) != NULL && at < end) {
        at += strlen(wanted);
        sum += strtoull(at, NULL, 10);
    }
    return sum;
}

static void half_full_spans_and_free_runs_are_counted(void)
{
    enum { BLOCKS = 4096, SIZE = 512 };
    static void *blocks[BLOCKS];
    for (size_t i = 0; i < BLOCKS; i++)
        blocks[i] = malloc(SIZE);
    for (size_t i = 0; i < BLOCKS; i += 2)
        free(blocks[i]);
    free(opaque_ptr(malloc(10 << 20)));
    mallctl("thread.tcache.flush", NULL, NULL, NULL, 0);
    const char *at = strstr(stats_text("Jx"), "\"0\":{");
    if (!CHECK(at != NULL))
        return;
    uint64_t nonfull = sum_of(at, "\"bins\":[", "nonfull_slabs");
    CHECK_AT(nonfull > 10, "%lu", (unsigned long)nonfull);
    uint64_t spans = sum_of(at, "\"bins\":[", "curslabs");
    CHECK_AT(spans >= nonfull, "%lu %lu", (unsigned long)spans, (unsigned long)nonfull);
    uint64_t free_bytes =
        sum_of(at, "\"extents\":[", "dirty_bytes") + sum_of(at, "\"extents\":[", "retained_bytes");
    CHECK_AT(free_bytes >= 10 << 20, "%lu", (unsigned long)free_bytes);
    for (size_t i = 1; i < BLOCKS; i += 2)
        free(blocks[i]);
}

int main(void)
{
    if (malloc_stats_print == NULL || mallctl == NULL)
        return 77;
    static const char *const keys[] = {
        "\"mutexes\":{\"background_thread\":{\"num_ops\":",
        "\"mutexes\":{\"large\":{\"num_ops\":",
        "\"mutex\":{\"num_ops\":",
        "\"num_spin_acq\":",
        "\"max_num_thds\":",
        "\"tcache_bytes\":",
        "\"dirty_npurge\":",
        "\"muzzy_purged\":",
        "\"dirty_decay_ms\":",
        "\"uptime_ns\":",
        "\"dss\":\"",
        "\"nfills\":",
        "\"curslabs\":",
        "\"extent_avail\":",
        "\"opt_safety_checks\":",
        "\"hpa_dirty_mult\":\"0.25\"",
        "\"nonfull_slabs\":",
        "\"extents\":[{\"ndirty\":",
        "\"retained_bytes\":",
        "\"sec_bytes\":0",
        "\"hpa_shard\":{\"npageslabs\":0",
        "\"empty_slabs\":{\"npageslabs_huge\":0",
    };
    free(opaque_ptr(malloc(100)));
    const char *all = stats_text("J");
    CHECK(matches(all));
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        CHECK_AT(strstr(all, keys[i]) != NULL, "%s", keys[i]);
    const char *without = stats_text("Jx");
    CHECK(matches(without));
    CHECK(strstr(without, "\"mutex\":") == NULL && strstr(without, "\"mutexes\":") == NULL);
    without = stats_text("Jeh");
    CHECK(matches(without));
    CHECK(strstr(without, "\"extents\":") == NULL &&
          strstr(without, "\"hpa_shard\":{\"np") == NULL);
    half_full_spans_and_free_runs_are_counted();
    return check_result();
}

/* SPDX-License-Identifier: MIT */ /* static-too */
/* The JSON of malloc_stats_print has the keys that readers of jemalloc's look for: mutexes of the
 * process, of each arena and of each bin, what was purged, delays, what threads cache. The letter x
 * leaves the mutexes out. Braces and brackets match. */
#include <stdbool.h>

#include "tests/api/arena.h"
#include "tests/api/check.h"

#pragma weak malloc_stats_print

static char text[4 << 20];
static size_t used;

static void collect(void *opaque, const char *part)
{
    (void)opaque;
    size_t length = strlen(part);
    if (CHECK(used + length < sizeof text))
        memcpy(text + used, part, length + 1);
    used += length;
}

static const char *print(const char *options)
{
    used = 0;
    malloc_stats_print(collect, NULL, options);
    return text;
}

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
    };
    free(opaque_ptr(malloc(100)));
    const char *all = print("J");
    CHECK(matches(all));
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        CHECK_AT(strstr(all, keys[i]) != NULL, "%s", keys[i]);
    const char *without = print("Jx");
    CHECK(matches(without));
    CHECK(strstr(without, "\"mutex\":") == NULL && strstr(without, "\"mutexes\":") == NULL);
    return check_result();
}

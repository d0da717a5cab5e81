#!/bin/sh
# SPDX-License-Identifier: MIT
# Every numeric property of gperftools' MallocExtension that Debian's libtcmalloc has: whether it can be
# read, whether it can be set and what it reads back, what 64 MiB of blocks add to it while they live and
# once they are freed, are the same with memoir. Names that no release has are unknown to both.
. "$(dirname "$0")/common.sh"
cd "$place" || exit 2
theirs=
for library in /usr/lib/*/libtcmalloc.so.4; do [ ! -e "$library" ] || theirs=$library; done
[ -n "$theirs" ] || skip "libtcmalloc.so.4 is not installed (libgoogle-perftools4)"
cat >properties.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int MallocExtension_GetNumericProperty(const char *, size_t *) __attribute__((weak));
int MallocExtension_SetNumericProperty(const char *, size_t) __attribute__((weak));
void MallocExtension_ReleaseFreeMemory(void) __attribute__((weak));

enum { BLOCKS = 64, SIZE = 1 << 20 };
static void *blocks[BLOCKS];

static const char *const names[] = {
    "generic.current_allocated_bytes", "generic.heap_size", "generic.total_physical_bytes", "tcmalloc.slack_bytes",
    "tcmalloc.central_cache_free_bytes", "tcmalloc.transfer_cache_free_bytes", "tcmalloc.thread_cache_free_bytes",
    "tcmalloc.pageheap_free_bytes", "tcmalloc.pageheap_unmapped_bytes", "tcmalloc.pageheap_committed_bytes",
    "tcmalloc.pageheap_scavenge_count", "tcmalloc.pageheap_commit_count", "tcmalloc.pageheap_total_commit_bytes",
    "tcmalloc.pageheap_decommit_count", "tcmalloc.pageheap_total_decommit_bytes", "tcmalloc.pageheap_reserve_count",
    "tcmalloc.pageheap_total_reserve_bytes", "tcmalloc.max_total_thread_cache_bytes",
    "tcmalloc.current_total_thread_cache_bytes", "tcmalloc.aggressive_memory_decommit", "tcmalloc.heap_limit_mb",
    "tcmalloc.min_per_thread_cache_bytes", "tcmalloc.sample_parameter", "tcmalloc.impl.thread_cache_count",
    "tcmalloc.no", "generic", "", "generic.heap_size ", "Generic.heap_size", "jemalloc.heap_size"};
enum { NAMES = sizeof names / sizeof names[0] };

static size_t get(const char *name)
{
    size_t value = 123456789;
    return MallocExtension_GetNumericProperty(name, &value) ? value : 0;
}

/* About how much of the 64 MiB: none, some, all; addresses are reserved in larger steps. */
static const char *share(size_t now, size_t before)
{
    long long mib = ((long long)now - (long long)before) >> 20;
    return mib >= 58 ? "all" : mib > 5 ? "some" : mib >= -5 ? "none" : mib >= -58 ? "-some" : "-all";
}

static void set(const char *name, size_t value)
{
    int done = MallocExtension_SetNumericProperty(name, value);
    printf("set %s %zu: %d, then %zu\n", name, value, done, done ? get(name) : 0);
}

int main(void)
{
    static size_t before[NAMES], live[NAMES], freed[NAMES], released[NAMES];
    /* Nothing is returned by itself meanwhile; the heap is as large as it will be. */
    MallocExtension_SetNumericProperty("tcmalloc.aggressive_memory_decommit", 0);
    for (int i = 0; i < NAMES; i++) {
        size_t value = 77;
        int done = MallocExtension_GetNumericProperty(names[i], &value);
        printf("get %s: %d%s\n", names[i], done, !done && value != 77 ? ", and it wrote" : "");
    }
    set("tcmalloc.max_total_thread_cache_bytes", 1 << 20);
    set("tcmalloc.max_total_thread_cache_bytes", 100 << 20);
    set("tcmalloc.max_total_thread_cache_bytes", 1000);
    set("tcmalloc.max_total_thread_cache_bytes", (size_t)2 << 30);
    set("tcmalloc.max_total_thread_cache_bytes", 32 << 20);
    set("tcmalloc.aggressive_memory_decommit", 1);
    set("tcmalloc.aggressive_memory_decommit", 0);
    set("tcmalloc.aggressive_memory_decommit", 7);
    set("tcmalloc.aggressive_memory_decommit", 0);
    set("tcmalloc.heap_limit_mb", 4096);
    set("tcmalloc.heap_limit_mb", 0);
    set("generic.heap_size", 5);
    set("tcmalloc.no", 5);
    for (int i = 0; i < NAMES; i++)
        before[i] = get(names[i]);
    for (int i = 0; i < BLOCKS; i++)
        memset(blocks[i] = malloc(SIZE), 1, SIZE);
    for (int i = 0; i < NAMES; i++)
        live[i] = get(names[i]);
    for (int i = 0; i < BLOCKS; i++)
        free(blocks[i]);
    for (int i = 0; i < NAMES; i++)
        freed[i] = get(names[i]);
    MallocExtension_ReleaseFreeMemory();
    for (int i = 0; i < NAMES; i++)
        released[i] = get(names[i]);
    for (int i = 0; i < NAMES; i++)
        printf("%s: live %s, freed %s, released %s\n", names[i], share(live[i], before[i]), share(freed[i], live[i]),
               share(released[i], freed[i]));
    return 0;
}
C
build -fno-builtin properties.c -o properties
# What Debian's release does not have is not compared.
newer='min_per_thread_cache_bytes\|sample_parameter\|impl.thread_cache_count'
LD_PRELOAD=$theirs ./properties 2>&1 | grep -v "$newer" >theirs || fail "theirs: $(cat theirs)"
preload ./properties 2>&1 | grep -v "$newer" >ours || fail "ours: $(cat ours)"
[ "$(wc -l <theirs)" -ge 60 ] || fail "too few answers: $(cat theirs)"
diff theirs ours >difference || fail "other answers (< gperftools', > ours): $(cat difference)"
finish

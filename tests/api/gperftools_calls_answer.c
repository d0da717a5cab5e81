/* SPDX-License-Identifier: MIT */ /* static-too */
/* gperftools' calls: the heap profiler sees every block between start and stop, numbers its files,
 * and answers with its text; tc_malloc and its family share the heap; properties tell of it. */
#include "memoir/compat/gperftools/heap-profiler.h"
#include "memoir/compat/gperftools/malloc_extension_c.h"
#include "memoir/compat/gperftools/tcmalloc.h"

#include "tests/api/check.h"

#pragma weak HeapProfilerStart
#pragma weak HeapProfilerStop
#pragma weak HeapProfilerDump
#pragma weak IsHeapProfilerRunning
#pragma weak GetHeapProfile
#pragma weak MallocExtension_GetNumericProperty
#pragma weak MallocExtension_SetNumericProperty
#pragma weak MallocExtension_GetStats
#pragma weak MallocExtension_GetAllocatedSize
#pragma weak MallocExtension_GetEstimatedAllocatedSize
#pragma weak MallocExtension_GetOwnership
#pragma weak MallocExtension_ReleaseFreeMemory
#pragma weak tc_malloc
#pragma weak tc_free
#pragma weak tc_realloc
#pragma weak tc_malloc_size
#pragma weak tc_version
#pragma weak tc_mallinfo
#pragma weak tc_set_new_mode

enum { COUNT = 50, SIZE = 3000 };

/* The first line: "heap profile: OBJECTS: BYTES [OBJECTS: BYTES] @ heapprofile". */
static void read_totals(const char *text, long totals[4])
{
    char kind[32] = "";
    CHECK_EQ(sscanf(text, "heap profile: %ld: %ld [%ld: %ld] @ %31s", &totals[0], &totals[1],
                    &totals[2], &totals[3], kind),
             5);
    CHECK(strcmp(kind, "heapprofile") == 0);
}

static void profiler_sees_what_is_between(void)
{
    void *blocks[COUNT];
    long totals[4] = {0};
    CHECK_EQ(IsHeapProfilerRunning(), 0);
    char *text = GetHeapProfile();
    CHECK(text != NULL && text[0] == '\0');
    free(text);
    HeapProfilerDump("nothing runs");
    CHECK(access("profile.0001.heap", R_OK) != 0);

    void *earlier = opaque_ptr(malloc(SIZE));
    HeapProfilerStart("profile");
    CHECK_EQ(IsHeapProfilerRunning(), 1);
    HeapProfilerStart("another");
    for (int i = 0; i < COUNT; i++)
        blocks[i] = opaque_ptr(malloc(SIZE));
    free(earlier);
    for (int i = 0; i < COUNT / 2; i++)
        free(blocks[i]);
    text = GetHeapProfile();
    read_totals(text, totals);
    CHECK_EQ(totals[0], COUNT / 2);
    CHECK_EQ(totals[1], COUNT / 2 * SIZE);
    CHECK_EQ(totals[2], COUNT);
    CHECK_EQ(totals[3], COUNT * SIZE);
    CHECK(strstr(text, "\nMAPPED_LIBRARIES:\n") != NULL);
    free(text);
    HeapProfilerDump("half of it");
    CHECK_EQ(access("profile.0001.heap", R_OK), 0);
    HeapProfilerDump("again");
    CHECK_EQ(access("profile.0002.heap", R_OK), 0);
    HeapProfilerStop();
    CHECK_EQ(IsHeapProfilerRunning(), 0);
    HeapProfilerStart("profile"); /* the numbers go on, and what was is forgotten */
    HeapProfilerDump("third");
    CHECK_EQ(access("profile.0003.heap", R_OK), 0);
    text = GetHeapProfile();
    read_totals(text, totals);
    CHECK_EQ(totals[0], 0);
    free(text);
    HeapProfilerStop();
    for (int i = COUNT / 2; i < COUNT; i++)
        free(blocks[i]);
    unlink("profile.0001.heap");
    unlink("profile.0002.heap");
    unlink("profile.0003.heap");
}

static size_t property(const char *name)
{
    size_t value = 0;
    CHECK_EQ(MallocExtension_GetNumericProperty(name, &value), 1);
    return value;
}

/* How often the heap grew, and how often pages went back to the kernel. */
static void counts_move(void)
{
    size_t commits = property("tcmalloc.pageheap_commit_count");
    size_t reserves = property("tcmalloc.pageheap_reserve_count");
    size_t decommits = property("tcmalloc.pageheap_decommit_count");
    CHECK(commits > 0 && reserves > 0);
    char *block = malloc(64 << 20);
    if (CHECK(block != NULL))
        memset(block, 1, 64 << 20);
    CHECK(property("tcmalloc.pageheap_commit_count") > commits);
    CHECK(property("tcmalloc.pageheap_reserve_count") > reserves);
    free(block);
    MallocExtension_ReleaseFreeMemory();
    CHECK(property("tcmalloc.pageheap_decommit_count") > decommits);
}

static void properties_tell_of_the_heap(void)
{
    size_t before = 0, after = 0, value = 123;
    CHECK_EQ(MallocExtension_GetNumericProperty("generic.current_allocated_bytes", &before), 1);
    void *block = opaque_ptr(tc_malloc(5 << 20));
    CHECK_EQ(MallocExtension_GetNumericProperty("generic.current_allocated_bytes", &after), 1);
    CHECK_EQ(after - before, MallocExtension_GetAllocatedSize(block));
    CHECK_EQ(MallocExtension_GetNumericProperty("generic.heap_size", &value), 1);
    CHECK(value >= after);
    value = 123;
    CHECK_EQ(MallocExtension_GetNumericProperty("no.such.property", &value), 0);
    CHECK_EQ(value, 123);
    counts_move();
    CHECK_EQ(MallocExtension_SetNumericProperty("tcmalloc.max_total_thread_cache_bytes", 1 << 20),
             1);
    CHECK_EQ(MallocExtension_GetNumericProperty("tcmalloc.max_total_thread_cache_bytes", &value),
             1);
    CHECK_EQ(value, 1 << 20);
    CHECK_EQ(MallocExtension_SetNumericProperty("generic.heap_size", 1), 0);
    CHECK_EQ(MallocExtension_GetOwnership(block), MallocExtension_kOwned);
    CHECK_EQ(MallocExtension_GetOwnership(&value), MallocExtension_kNotOwned);
    free(block);
    MallocExtension_ReleaseFreeMemory();
    char stats[4096];
    MallocExtension_GetStats(stats, sizeof stats);
    CHECK(strstr(stats, "Bytes in use by application\nMALLOC: + ") != NULL);
    MallocExtension_GetStats(stats, 10);
    CHECK(strlen(stats) < 10);
}

static void names_of_tcmalloc_share_the_heap(void)
{
    int major = 0, minor = 0;
    const char *patch = NULL;
    void *block = tc_malloc(100);
    CHECK_EQ(tc_malloc_size(block), malloc_usable_size(block));
    CHECK_EQ(MallocExtension_GetEstimatedAllocatedSize(100), malloc_usable_size(block));
    block = tc_realloc(block, 1000);
    free(block);
    tc_free(malloc(10));
    CHECK(strncmp(tc_version(&major, &minor, &patch), "gperftools 2.", 13) == 0);
    CHECK(major == 2 && minor == 10 && patch != NULL);
    CHECK_EQ(tc_set_new_mode(1), 0);
    CHECK_EQ(tc_set_new_mode(0), 1);
}

int main(void)
{
    if (!CHECK(HeapProfilerStart != NULL && tc_malloc != NULL &&
               MallocExtension_GetNumericProperty != NULL))
        return check_result();
    names_of_tcmalloc_share_the_heap();
    properties_tell_of_the_heap();
    profiler_sees_what_is_between();
    return check_result();
}

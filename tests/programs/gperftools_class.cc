// SPDX-License-Identifier: MIT
// helper
// A program that uses gperftools' C++ class MallocExtension in every way. It prints what must be
// the same with gperftools' library and with memoir's.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <typeinfo>

#include <gperftools/malloc_extension.h>

static size_t property(const char *name)
{
    size_t value = 0;
    if (!MallocExtension::instance()->GetNumericProperty(name, &value)) {
        printf("no property %s\n", name);
        exit(1);
    }
    return value;
}

static void answer(const char *question, bool yes)
{
    printf("%s: %s\n", question, yes ? "yes" : "NO");
}

struct Source : SysAllocator {
    void *Alloc(size_t, size_t *, size_t)
    {
        return NULL;
    }
};

struct Mine : MallocExtension {
    int released;
    Mine() : released(0)
    {
    }
    void ReleaseToSystem(size_t bytes)
    {
        released += bytes == ~(size_t)0;
    }
    bool GetNumericProperty(const char *name, size_t *value)
    {
        *value = strlen(name);
        return true;
    }
};

static void count_range(void *count, const base::MallocRange *range)
{
    if (range->type == base::MallocRange::INUSE && range->length > 0)
        ++*(int *)count;
}

static void numbers(MallocExtension *all)
{
    enum { COUNT = 1000, SIZE = 20000 };
    static void *blocks[COUNT];
    size_t before = property("generic.current_allocated_bytes");
    for (int i = 0; i < COUNT; i++)
        blocks[i] = malloc(SIZE);
    size_t grown = property("generic.current_allocated_bytes") - before;
    answer("allocated bytes grow with the heap", grown >= COUNT * SIZE && grown < 2 * COUNT * SIZE);
    answer("the heap is larger", property("generic.heap_size") >= grown);
    answer("a size", all->GetAllocatedSize(blocks[0]) >= SIZE);
    answer("an estimate", all->GetEstimatedAllocatedSize(SIZE) == all->GetAllocatedSize(blocks[0]));
    answer("owned", all->GetOwnership(blocks[0]) == MallocExtension::kOwned);
    answer("not owned", all->GetOwnership(&before) == MallocExtension::kNotOwned);
    answer("verified", all->VerifyAllMemory() && all->VerifyMallocMemory(blocks[0]));
    int ranges = 0;
    all->Ranges(&ranges, count_range);
    answer("ranges", ranges > 0);
    for (int i = 0; i < COUNT; i++)
        free(blocks[i]);
    for (int i = 0; i < COUNT; i++)
        free(malloc(100));
    answer("a thread's cache", all->GetThreadCacheSize() > 0);
    std::vector<MallocExtension::FreeListInfo> lists;
    all->GetFreeListSizes(&lists);
    size_t bytes = 0;
    for (size_t i = 0; i < lists.size(); i++)
        if (strncmp(lists[i].type, "tcmalloc.", 9) == 0 && lists[i].min_object_size > 0)
            bytes += lists[i].total_bytes_free;
    answer("lists of free memory", bytes >= COUNT * SIZE);
    all->MarkThreadIdle();
    answer("no cache when idle", all->GetThreadCacheSize() == 0);
    all->MarkThreadBusy();
    answer("set", all->SetNumericProperty("tcmalloc.max_total_thread_cache_bytes", 16 << 20) &&
                      property("tcmalloc.max_total_thread_cache_bytes") == 16 << 20);
    answer("a least bound", all->SetNumericProperty("tcmalloc.max_total_thread_cache_bytes", 0) &&
                                property("tcmalloc.max_total_thread_cache_bytes") == 512 << 10);
    answer("unknown", !all->SetNumericProperty("no.such", 1));
}

enum { GROWN = 300 << 20 };

__attribute__((noinline)) static void *larger(void)
{
    void *volatile block = realloc(malloc(1 << 20), GROWN);
    return block;
}

static bool is_larger(uintptr_t address)
{
    return address - (uintptr_t)larger < 100;
}

// The call that made the heap larger is in the first line, which is about the latest one.
static void grow(MallocExtension *all)
{
    free(larger());
    std::string growth;
    all->GetHeapGrowthStacks(&growth);
    answer("growth", growth.compare(0, 13, "heap profile:") == 0 &&
                         growth.find("@ growth\n") != std::string::npos &&
                         growth.find("\nMAPPED_LIBRARIES:\n") != std::string::npos);
    const char *line = strchr(growth.c_str(), '\n');
    bool found = false;
    if (line != NULL && strtoull(strchr(line, ':') + 1, NULL, 10) >= GROWN)
        for (char *at = (char *)strchr(line, '@') + 1; *at == ' ';)
            found |= is_larger(strtoull(at, &at, 16));
    answer("the call that made the heap larger", found);
    void **traces = all->ReadHeapGrowthStackTraces();
    found = traces != NULL && (size_t)traces[0] == 1 && (size_t)traces[1] >= GROWN;
    bool called = false;
    for (size_t i = 0; found && i < (size_t)traces[2]; i++)
        called |= is_larger((uintptr_t)traces[3 + i]);
    answer("its stack", called);
    delete[] traces;
}

static void texts(MallocExtension *all)
{
    static char text[64 << 10];
    all->GetStats(text, sizeof text);
    answer("a table", strstr(text, "Bytes in use by application") && strstr(text, "PageHeap: "));
    std::string sample("before ");
    all->GetHeapSample(&sample);
    answer("a sample", sample.compare(0, 20, "before heap profile:") == 0 &&
                           sample.find("MAPPED_LIBRARIES:") != std::string::npos);
    sample += " after";
    grow(all);
    int period = 0;
    void **traces = all->ReadStackTraces(&period);
    size_t entries = 0, objects = 0;
    for (void **at = traces; at != NULL && at[0] != 0; at += 3 + (size_t)at[2], entries++)
        objects += (size_t)at[0];
    answer("traces", traces != NULL && entries > 0 && objects >= entries);
    delete[] traces;
}

// Memory goes back in whole runs; what was too much is less next time.
static void release(MallocExtension *all)
{
    const size_t size = 1 << 20;
    void *a = malloc(size), *b = malloc(size);
    all->ReleaseFreeMemory();
    size_t first = property("tcmalloc.pageheap_unmapped_bytes");
#define UNMAPPED(more) (property("tcmalloc.pageheap_unmapped_bytes") == first + (more))
    all->ReleaseFreeMemory();
    all->ReleaseToSystem(size);
    answer("nothing to release", UNMAPPED(0));
    free(a);
    all->ReleaseToSystem(size / 2);
    answer("a run", UNMAPPED(size));
    all->ReleaseToSystem(size / 4);
    answer("already done", UNMAPPED(size));
    free(b);
    all->ReleaseToSystem(size / 2);
    answer("two runs", UNMAPPED(2 * size));
    a = malloc(size);
    free(a);
    answer("used again", UNMAPPED(size));
    all->ReleaseToSystem(size / 2);
    all->ReleaseToSystem(size / 4);
    all->ReleaseToSystem(1);
    answer("a byte is a run", UNMAPPED(2 * size));
    all->SetMemoryReleaseRate(3);
    answer("rate", all->GetMemoryReleaseRate() == 3);
}

static void derived(MallocExtension *all)
{
    Mine mine;
    MallocExtension::Register(&mine);
    MallocExtension *now = MallocExtension::instance();
    answer("registered", now == &mine && property("seven..") == 7);
    now->ReleaseFreeMemory();
    answer("what a class does not define",
           mine.released == 1 && now->GetThreadCacheSize() == 0 && now->GetOwnership(&mine) == 0);
    answer("type", dynamic_cast<Mine *>(now) == &mine && typeid(*now) == typeid(Mine));
    MallocExtension::Register(all);
    SysAllocator *source = new Source;
    SysAllocator *system = all->GetSystemAllocator();
    all->SetSystemAllocator(source);
    answer("a source of memory", all->GetSystemAllocator() == source);
    all->SetSystemAllocator(system);
    delete source;
}

int main()
{
    MallocExtension::Initialize();
    puts("answers"); // stdio has its memory now
    MallocExtension *all = MallocExtension::instance();
    release(all);
    numbers(all);
    void *volatile kept = malloc(64 << 20);
    texts(all);
    derived(all);
    free(kept);
    return 0;
}

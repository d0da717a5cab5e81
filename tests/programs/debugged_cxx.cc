// SPDX-License-Identifier: MIT
// helper: debugged_cxx [wrong]: what debugged_cxx.sh runs with gperftools' debug allocator.
#include <gperftools/malloc_extension.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace app
{
template <class T> struct box {
    __attribute__((noinline)) T *make(const std::string &text)
    {
        T *made = new T[text.size()];
        __asm__ volatile("" : "+r"(made));
        return made;
    }
    __attribute__((noinline)) void drop(T *made)
    {
        free(made);
        __asm__ volatile("");
    }
};
} // namespace app

struct wanted {
    uintptr_t address;
    base::MallocRange::Type type;
    size_t length;
};

static void look(void *arg, const base::MallocRange *range)
{
    wanted *want = static_cast<wanted *>(arg);
    if (want->address - range->address < range->length) {
        want->type = range->type;
        want->length = range->length;
    }
}

static wanted range_of(void *block)
{
    wanted want = {reinterpret_cast<uintptr_t>(block), base::MallocRange::UNKNOWN, 0};
    MallocExtension::instance()->Ranges(&want, look);
    return want;
}

extern "C" __attribute__((noinline)) void *grow_here()
{
    void *block = malloc(10000);
    __asm__ volatile("" : "+r"(block));
    return block;
}

int main(int count, char **)
{
    if (count > 1) {
        app::box<int> box;
        box.drop(box.make("five!"));
        return 0;
    }
    char *large = static_cast<char *>(malloc(1 << 20)), *small = static_cast<char *>(malloc(100));
    wanted live = range_of(large + 5000);
    bool whole = live.type == base::MallocRange::INUSE && live.length >= 1 << 20;
    printf("live %s\n", whole ? "yes" : "NO");
    printf("small %s\n", range_of(small).type == base::MallocRange::INUSE ? "yes" : "NO");
    free(large);
    wanted gone = range_of(large + 5000);
    bool ended = gone.type == base::MallocRange::FREE || gone.type == base::MallocRange::UNMAPPED;
    printf("freed %s\n", ended && gone.length >= 1 << 20 ? "yes" : "NO");

    static void *kept[2000];
    for (void *&block : kept)
        block = grow_here();
    void **traces = MallocExtension::instance()->ReadHeapGrowthStackTraces();
    uintptr_t bytes = 0, first = reinterpret_cast<uintptr_t>(&grow_here);
    for (void **at = traces; at[0] != nullptr; at += 3 + reinterpret_cast<uintptr_t>(at[2])) {
        uintptr_t depth = reinterpret_cast<uintptr_t>(at[2]);
        uintptr_t pc = depth == 0 ? 0 : reinterpret_cast<uintptr_t>(at[3]);
        if (pc - first < 200)
            bytes += reinterpret_cast<uintptr_t>(at[1]);
    }
    delete[] traces;
    printf("growth %s\n", bytes > 14000000 && bytes < 40000000 ? "yes" : "NO");
    for (void *block : kept)
        free(block);
    return 0;
}

/* SPDX-License-Identifier: MIT */ /* static-too */
/* jemalloc's experimental hooks. Those for calls get each call with its name and arguments, a
 * realloc that moves as an allocation and then a free, and none of the calls that they make
 * themselves; those for samples get sampled blocks alone; an event comes for every N bytes; a
 * stack of the program's own is in the dump; and a dump may go to a device. */
#include "memoir/compat/jemalloc/jemalloc.h"

#include "tests/api/check.h"

#pragma weak mallctl
#pragma weak mallocx
#pragma weak rallocx
#pragma weak xallocx
#pragma weak dallocx
#pragma weak sdallocx

enum { ALLOC, DALLOC, EXPAND };
static struct {
    int kind, call;
    void *block;
    size_t before, after;
    uintptr_t result, args[4];
} last[8];
static unsigned count;

static void note(int kind, int call, void *block, uintptr_t result, const uintptr_t *args, int max)
{
    free(opaque_ptr(malloc(opaque_size(100)))); /* has no hooks */
    if (count < 8) {
        last[count].kind = kind;
        last[count].call = call;
        last[count].block = block;
        last[count].result = result;
        memcpy(last[count].args, args, (size_t)max * sizeof *args);
    }
    count++;
}

static void on_alloc(void *extra, int call, void *block, uintptr_t result, uintptr_t args[3])
{
    CHECK(extra == &count);
    note(ALLOC, call, block, result, args, 3);
}

static void on_dalloc(void *extra, int call, void *block, uintptr_t args[3])
{
    CHECK(extra == &count);
    note(DALLOC, call, block, 0, args, 3);
}

static void on_expand(void *extra, int call, void *block, size_t before, size_t after,
                      uintptr_t result, uintptr_t args[4])
{
    CHECK(extra == &count);
    if (count < 8) {
        last[count].before = before;
        last[count].after = after;
    }
    note(EXPAND, call, block, result, args, 4);
}

struct hooks {
    void (*alloc)(void *, int, void *, uintptr_t, uintptr_t[3]);
    void (*dalloc)(void *, int, void *, uintptr_t[3]);
    void (*expand)(void *, int, void *, size_t, size_t, uintptr_t, uintptr_t[4]);
    void *extra;
};

static int install(void **handle)
{
    struct hooks hooks = {on_alloc, on_dalloc, on_expand, &count};
    size_t length = sizeof *handle;
    return mallctl("experimental.hooks.install", handle, &length, &hooks, sizeof hooks);
}

static int uninstall(void *handle)
{
    return mallctl("experimental.hooks.remove", NULL, NULL, &handle, sizeof handle);
}

/* That there was one call alone since the last look, this one. */
static void was(int line, int kind, int call, const void *block, uintptr_t first, uintptr_t second)
{
    CHECK_AT(count == 1 && last[0].kind == kind && last[0].call == call && last[0].block == block &&
                 last[0].args[0] == first && last[0].args[1] == second,
             "line %d: %u calls, kind %d, call %d", line, count, last[0].kind, last[0].call);
    count = 0;
}
#define WAS(...) was(__LINE__, __VA_ARGS__)

static void calls_have_hooks(void)
{
    void *handle = NULL, *more[4], *block = NULL;
    size_t big = opaque_size(1 << 20);
    CHECK_EQ(install(&handle), 0);
    char *p = opaque_ptr(malloc(opaque_size(100)));
    WAS(ALLOC, 0, p, 100, 0);
    CHECK_EQ(posix_memalign(&block, 64, opaque_size(200)), 0);
    CHECK(count == 1 && last[0].call == 1 && last[0].block == block && last[0].result == 0 &&
          last[0].args[0] == (uintptr_t)&block && last[0].args[1] == 64 && last[0].args[2] == 200);
    count = 0;
    free(block);
    WAS(DALLOC, 0, block, (uintptr_t)block, 0);
    block = opaque_ptr(aligned_alloc(64, opaque_size(128)));
    WAS(ALLOC, 2, block, 64, 128);
    free(block);
    WAS(DALLOC, 0, block, (uintptr_t)block, 0);
    block = opaque_ptr(calloc(opaque_size(3), 50));
    WAS(ALLOC, 3, block, 3, 50);
    CHECK_EQ(((char *)block)[149], 0);
    block = realloc(block, opaque_size(145)); /* stays */
    CHECK(count == 1 && last[0].kind == EXPAND && last[0].call == 0 && last[0].before == 160 &&
          last[0].after == 160 && last[0].args[1] == 145);
    count = 0;
    uintptr_t before = (uintptr_t)block;
    block = realloc(block, opaque_size(5000)); /* moves */
    CHECK(count == 2 && last[0].kind == ALLOC && last[0].call == 7 && last[0].block == block &&
          last[1].kind == DALLOC && last[1].call == 3 && (uintptr_t)last[1].block == before);
    count = 0;
    before = (uintptr_t)block;
    CHECK(realloc(block, 0) == NULL);
    WAS(DALLOC, 3, (void *)before, before, 0);
    block = opaque_ptr(realloc(opaque_ptr(NULL), opaque_size(77)));
    WAS(ALLOC, 7, block, 0, 77);
    dallocx(block, 0);
    WAS(DALLOC, 1, block, (uintptr_t)block, 0);
    block = opaque_ptr(mallocx(big, MALLOCX_ZERO));
    WAS(ALLOC, 6, block, big, MALLOCX_ZERO);
    CHECK_EQ(xallocx(block, big / 2, 0, 0), big / 2);
    CHECK(count == 1 && last[0].kind == EXPAND && last[0].call == 2 && last[0].before == big &&
          last[0].after == big / 2 && last[0].result == big / 2);
    count = 0;
    before = (uintptr_t)block;
    ((char *)block)[99] = 'y';
    block = rallocx(block, 100, 0);
    CHECK(count == 2 && last[0].kind == ALLOC && last[0].call == 8 && last[0].block == block &&
          last[1].kind == DALLOC && last[1].call == 4 && (uintptr_t)last[1].block == before);
    CHECK_EQ(((char *)block)[99], 'y');
    count = 0;
    sdallocx(block, 100, 0);
    WAS(DALLOC, 2, block, (uintptr_t)block, 100);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(install(&more[i]), 0);
    CHECK_EQ(install(&more[3]), EAGAIN);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(uninstall(more[i]), 0);
    count = 0;
    CHECK_EQ(uninstall(handle), 0);
    CHECK_EQ(uninstall(handle), EINVAL);
    free(p);
    CHECK_EQ(count, 0);
}

static const void *sampled, *sampled_end;
static size_t sampled_size, sampled_usable;
static unsigned sampled_frames;

static void on_sample(const void *block, size_t size, void **frames, unsigned frame_count,
                      size_t usable)
{
    sampled = block;
    sampled_size = size;
    sampled_frames = frame_count > 0 && frames[0] != NULL ? frame_count : 0;
    sampled_usable = usable;
}

static void on_sample_free(const void *block, size_t usable)
{
    sampled_end = block;
    CHECK(usable > 0);
}

static int set(const char *name, const void *value, size_t size)
{
    return mallctl(name, NULL, NULL, (void *)value, size);
}

static void samples_have_hooks(void)
{
    size_t every = 0, few = 40;
    void (*begin)(const void *, size_t, void **, unsigned, size_t) = on_sample;
    void (*end)(const void *, size_t) = on_sample_free;
    CHECK_EQ(set("prof.reset", &few, sizeof few), 0);
    CHECK_EQ(set("experimental.hooks.prof_sample", &begin, sizeof begin), 0);
    CHECK_EQ(set("experimental.hooks.prof_sample_free", &end, sizeof end), 0);
    void *block = opaque_ptr(malloc(opaque_size(300)));
    free(block);
    CHECK(sampled == NULL && sampled_end == NULL);
    CHECK_EQ(set("prof.reset", &every, sizeof every), 0);
    block = opaque_ptr(malloc(opaque_size(300)));
    CHECK(sampled == block && sampled_frames > 1);
    CHECK_EQ(sampled_size, 300);
    CHECK_EQ(sampled_usable, 320);
    uintptr_t before = (uintptr_t)block;
    block = opaque_ptr(realloc(block, opaque_size(100 << 10)));
    CHECK(sampled == block && (uintptr_t)sampled_end == before);
    before = (uintptr_t)block;
    free(block);
    CHECK((uintptr_t)sampled_end == before);
    begin = NULL;
    end = NULL;
    CHECK_EQ(set("experimental.hooks.prof_sample", &begin, sizeof begin), 0);
    CHECK_EQ(set("experimental.hooks.prof_sample_free", &end, sizeof end), 0);
    sampled = NULL;
    free(opaque_ptr(malloc(opaque_size(300))));
    CHECK(sampled == NULL);
}

static unsigned walks;

static void own_stack(void **frames, unsigned *frame_count, unsigned max)
{
    CHECK(max > 3);
    frames[0] = (void *)0x1001;
    frames[1] = (void *)0x2002;
    *frame_count = 2;
    walks++;
}

static void stacks_are_the_programs(void)
{
    void (*first)(void **, unsigned *, unsigned) = NULL,
                                       (*none)(void **, unsigned *, unsigned) = NULL;
    void (*ours)(void **, unsigned *, unsigned) = own_stack;
    void *frames[64];
    unsigned found = 0;
    size_t length = sizeof first;
    char name[] = "/tmp/memoir-hooks-XXXXXX", text[1 << 16];
    CHECK_EQ(set("experimental.hooks.prof_backtrace", &none, sizeof none), EINVAL);
    CHECK_EQ(mallctl("experimental.hooks.prof_backtrace", &first, &length, &ours, sizeof ours), 0);
    void *block = opaque_ptr(malloc(opaque_size(300)));
    CHECK(walks > 0);
    int fd = mkstemp(name);
    const char *path = name;
    CHECK(fd >= 0 && close(fd) == 0 && unlink(name) == 0);
    CHECK_EQ(set("prof.dump", &path, sizeof path), 0);
    FILE *file = fopen(name, "r");
    size_t read = file == NULL ? 0 : fread(text, 1, sizeof text - 1, file);
    text[read] = '\0';
    CHECK(strstr(text, " 0x2002\n  t*: 1: 320 ") != NULL);
    if (file != NULL)
        fclose(file);
    unlink(name);
    CHECK_EQ(set("experimental.hooks.prof_backtrace", &first, sizeof first), 0);
    walks = 0;
    free(block);
    free(opaque_ptr(malloc(opaque_size(300))));
    CHECK_EQ(walks, 0);
    if (CHECK(first != NULL))
        first(frames, &found, 64);
    CHECK(found > 0 && found < 64);
    path = "/dev/null";
    CHECK_EQ(set("prof.dump", &path, sizeof path), 0);
    CHECK(access(path, W_OK) == 0);
}

static unsigned events[2];
static uint64_t event_allocated;

static void on_event(bool allocated, uint64_t allocated_bytes, uint64_t freed_bytes)
{
    (void)freed_bytes;
    free(opaque_ptr(malloc(opaque_size(1 << 20)))); /* has no events */
    events[!allocated]++;
    event_allocated = allocated_bytes;
}

static void bytes_have_events(void)
{
    struct {
        void (*hook)(bool, uint64_t, uint64_t);
        uint64_t interval;
        bool alloc_only;
    } event = {on_event, 0, false};
    CHECK_EQ(set("experimental.hooks.thread_event", &event, sizeof event), EINVAL);
    event.interval = 64 << 10;
    CHECK_EQ(set("experimental.hooks.thread_event", &event, sizeof event), 0);
    CHECK_EQ(set("experimental.hooks.thread_event", NULL, 0), EINVAL);
    events[0] = events[1] = 0;
    for (int i = 0; i < 1024; i++)
        free(
            opaque_ptr(malloc(opaque_size(1024)))); /* 1 MiB: 16 times, and the event's own bytes */
    CHECK_AT(events[0] >= 15 && events[1] >= 15, "%u and %u events", events[0], events[1]);
    CHECK(event_allocated >= 1 << 20);
    unsigned alloc_before = events[0];
    free(opaque_ptr(malloc(16)));
    CHECK(events[0] <= alloc_before + 1);
    event.hook = NULL;
    CHECK_EQ(set("experimental.hooks.thread_event", &event, sizeof event), EINVAL);
}

int main(void)
{
    if (!CHECK(mallctl != NULL && mallocx != NULL && rallocx != NULL && xallocx != NULL))
        return check_result();
    calls_have_hooks();
    samples_have_hooks();
    stacks_are_the_programs();
    bytes_have_events();
    return check_result();
}

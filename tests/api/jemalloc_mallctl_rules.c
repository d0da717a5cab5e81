/* SPDX-License-Identifier: MIT */ /* static-too */
/* mallctl: what each way of calling it wrongly returns, that a value of the wrong size is cut and
 * its length told, and what the names about the profiler, the thread, the heap and its locks, and
 * experiments answer. */
#include "memoir/compat/jemalloc/jemalloc.h"

#include <pthread.h>

#include "tests/api/check.h"

#pragma weak mallctl
#pragma weak mallctlnametomib
#pragma weak mallctlbymib
#pragma weak je_mallctl

static int get_size(const char *name, size_t *value)
{
    size_t length = sizeof *value;
    return mallctl(name, value, &length, NULL, 0);
}

static size_t size_of(const char *name)
{
    size_t value = 0;
    CHECK_AT(get_size(name, &value) == 0, "name is %s", name);
    return value;
}

static void calls_are_checked(void)
{
    char room[64];
    size_t length = sizeof room, size = 0;
    bool flag = true;
    uint64_t epoch = 1;

    errno = ERRNO_UNTOUCHED;
    CHECK_EQ(mallctl("no.such.name", NULL, NULL, NULL, 0), ENOENT);
    CHECK_EQ(mallctl("prof", NULL, NULL, NULL, 0), ENOENT);
    CHECK_EQ(mallctl("prof.active.more", NULL, NULL, NULL, 0), ENOENT);
    CHECK_EQ(mallctl("arenas.bin.99999.size", room, &length, NULL, 0), ENOENT);
    CHECK_EQ(mallctl("version", NULL, NULL, &flag, sizeof flag), EPERM);
    CHECK_EQ(mallctl("opt.prof", NULL, NULL, &flag, sizeof flag), EPERM);
    CHECK_EQ(mallctl("prof.dump", room, &length, NULL, 0), EPERM);
    CHECK_EQ(mallctl("thread.tcache.flush", room, &length, NULL, 0), EPERM);
    CHECK_EQ(mallctl("prof.active", NULL, NULL, &epoch, sizeof epoch), EINVAL);
    CHECK_EQ(mallctl("epoch", NULL, NULL, &flag, sizeof flag), EINVAL);
    CHECK_EQ(mallctl("prof.prefix", NULL, NULL, NULL, 0), EFAULT);
    CHECK_EQ(mallctl("arena.0.reset", NULL, NULL, NULL, 0), EFAULT);
    CHECK_EQ(mallctl("thread.arena", NULL, NULL, &(unsigned){4000}, sizeof(unsigned)), EFAULT);

    length = 3; /* less than a size_t: what fits is copied, */
    memset(room, 'x', sizeof room);
    CHECK_EQ(mallctl("arenas.page", room, &length, NULL, 0), EINVAL);
    CHECK_EQ(length, 3);
    CHECK(room[1] == (char)(sysconf(_SC_PAGESIZE) >> 8) && room[3] == 'x');
    length = sizeof room; /* more than that: all of it is, */
    CHECK_EQ(mallctl("arenas.page", room, &length, NULL, 0), EINVAL);
    CHECK_EQ(length, sizeof size);
    memcpy(&size, room, sizeof size);
    CHECK_EQ(size, sysconf(_SC_PAGESIZE));
    CHECK_EQ(mallctl("arenas.page", NULL, NULL, NULL, 0), 0); /* and no room at all is fine. */
    CHECK_EQ(errno, ERRNO_UNTOUCHED);
}

static void names_can_be_looked_up_once(void)
{
    size_t mib[7], parts = 7, size, length = sizeof size;
    CHECK_EQ(mallctlnametomib("arenas.bin.0.size", mib, &parts), 0);
    CHECK_EQ(parts, 4);
    for (mib[2] = 0; mib[2] < 3; mib[2]++) {
        CHECK_EQ(mallctlbymib(mib, parts, &size, &length, NULL, 0), 0);
        CHECK_EQ(size, 16 * (mib[2] + 1));
    }
    mib[2] = 5000;
    CHECK_EQ(mallctlbymib(mib, parts, &size, &length, NULL, 0), ENOENT);
    CHECK_EQ(mallctlbymib(mib, parts - 1, &size, &length, NULL, 0), ENOENT);
    CHECK_EQ(mallctlnametomib("arenas.nothing", mib, &parts), ENOENT);
    parts = 7;
    mib[3] = 42;
    CHECK_EQ(mallctlnametomib("arenas.bin.0", mib, &parts), 0); /* the beginning of names */
    CHECK_EQ(parts, 3);
    CHECK_EQ(mib[3], 42);
    CHECK_EQ(mallctlbymib(mib, parts, &size, &length, NULL, 0), ENOENT);
    CHECK_EQ(mallctlnametomib("arenas.bi", mib, &parts), ENOENT);
    parts = 7;
    bool flag;
    length = sizeof flag;
    CHECK_EQ(mallctlnametomib("opt.abort", mib, &parts), 0);
    CHECK_EQ(mallctlbymib(mib, parts, &flag, &length, NULL, 0), 0);
    CHECK(!flag);
}

static void statistics_wait_for_an_epoch(void)
{
    uint64_t epoch = 1, before = 0;
    size_t length = sizeof before;
    CHECK_EQ(mallctl("epoch", &before, &length, &epoch, sizeof epoch), 0);
    size_t allocated = size_of("stats.allocated");
    void *block = opaque_ptr(malloc(10 << 20));
    CHECK_EQ(size_of("stats.allocated"), allocated);
    CHECK_EQ(mallctl("epoch", &epoch, &length, &epoch, sizeof epoch), 0);
    CHECK_EQ(epoch, before + 1);
    CHECK_EQ(size_of("opt.dirty_decay_ms"), size_of("arenas.dirty_decay_ms"));
    size_t now = size_of("stats.allocated"), active = size_of("stats.active");
    CHECK(now >= allocated + (10 << 20) && now < allocated + (11 << 20));
    CHECK(now <= active && active <= size_of("stats.resident") &&
          active <= size_of("stats.mapped"));
    CHECK_EQ(active % (size_t)sysconf(_SC_PAGESIZE), 0);
    CHECK_EQ(size_of("stats.arenas.4096.large.allocated") +
                 size_of("stats.arenas.4096.small.allocated"),
             now);
    free(block);
}

/* Those of a class, too; and they add up to the sum of the same epoch. */
static void classes_wait_for_an_epoch(void)
{
    enum { COUNT = 100 };
    uint64_t epoch = 1;
    void *blocks[COUNT];
    CHECK_EQ(mallctl("epoch", NULL, NULL, &epoch, sizeof epoch), 0);
    size_t before = size_of("stats.arenas.0.bins.3.nmalloc");
    size_t live = size_of("stats.arenas.0.bins.3.curregs");
    for (int i = 0; i < COUNT; i++)
        blocks[i] = opaque_ptr(malloc(size_of("arenas.bin.3.size")));
    CHECK_EQ(size_of("stats.arenas.0.bins.3.nmalloc"), before);
    CHECK_EQ(mallctl("epoch", NULL, NULL, &epoch, sizeof epoch), 0);
    CHECK_EQ(size_of("stats.arenas.0.bins.3.nmalloc"), before + COUNT);
    CHECK_EQ(size_of("stats.arenas.0.bins.3.curregs"), live + COUNT);
    for (int i = 0; i < COUNT; i++)
        free(blocks[i]);
    CHECK_EQ(mallctl("epoch", NULL, NULL, &epoch, sizeof epoch), 0);
    size_t small = 0, length = sizeof(unsigned);
    unsigned classes;
    CHECK_EQ(mallctl("arenas.nbins", &classes, &length, NULL, 0), 0);
    for (unsigned i = 0; i < classes; i++) {
        char size[64], count[64];
        snprintf(size, sizeof size, "arenas.bin.%u.size", i);
        snprintf(count, sizeof count, "stats.arenas.0.bins.%u.curregs", i);
        small += size_of(size) * size_of(count);
    }
    CHECK_EQ(size_of("stats.arenas.0.small.allocated"), small);
}

static void threads_count_for_themselves(void)
{
    uint64_t allocated = size_of("thread.allocated"), freed = size_of("thread.deallocated");
    uint64_t *where, *freed_where;
    size_t length = sizeof where, peak;
    CHECK_EQ(mallctl("thread.allocatedp", &where, &length, NULL, 0), 0);
    CHECK_EQ(mallctl("thread.deallocatedp", &freed_where, &length, NULL, 0), 0);
    CHECK_EQ(mallctl("thread.peak.reset", NULL, NULL, NULL, 0), 0);
    void *block = opaque_ptr(malloc(1 << 20));
    CHECK_EQ(*where, allocated + malloc_usable_size(block)); /* a large one is seen at once */
    CHECK_EQ(size_of("thread.allocated"), *where);
    for (int i = 0; i < 10000; i++) /* small ones soon */
        free(opaque_ptr(malloc(100)));
    peak = size_of("thread.peak.read");
    CHECK(peak >= 1 << 20 && peak < 2 << 20);
    freed = size_of("thread.deallocated");
    size_t usable = malloc_usable_size(block);
    free(block);
    CHECK_EQ(*freed_where, freed + usable);
    CHECK_EQ(size_of("thread.deallocated"), freed + usable);
    CHECK_EQ(mallctl("thread.tcache.flush", NULL, NULL, NULL, 0), 0);
    CHECK_EQ(mallctl("thread.idle", NULL, NULL, NULL, 0), 0);
}

static bool swap_flag(const char *name, bool value)
{
    bool before = !value;
    size_t length = sizeof before;
    CHECK_AT(mallctl(name, &before, &length, &value, sizeof value) == 0, "name is %s", name);
    return before;
}

static void *inactive_thread(void *unused)
{
    bool active = true;
    size_t length = sizeof active;
    CHECK_EQ(mallctl("thread.prof.active", &active, &length, NULL, 0), 0);
    CHECK(!active);
    return unused;
}

static void profiler_is_switched(void)
{
    const char *name = "worker one", *got = NULL, *bad = "bad\nname", *nothing = NULL;
    size_t length = sizeof got, rate = 12;
    swap_flag("prof.active", false);
    CHECK(!swap_flag("prof.active", true));
    CHECK(swap_flag("prof.active", true));
    CHECK(swap_flag("thread.prof.active", false));
    CHECK(!swap_flag("thread.prof.active", true));
    CHECK(swap_flag("prof.thread_active_init", false));
    pthread_t thread;
    if (pthread_create(&thread, NULL, inactive_thread, NULL) == 0)
        pthread_join(thread, NULL);
    CHECK(!swap_flag("prof.thread_active_init", true));
    CHECK_EQ(mallctl("prof.reset", NULL, NULL, &rate, sizeof rate), 0);
    CHECK_EQ(size_of("prof.lg_sample"), 12);
    CHECK_EQ(mallctl("prof.reset", NULL, NULL, NULL, 0), 0);
    CHECK_EQ(size_of("prof.lg_sample"), 12);
    CHECK_EQ(size_of("prof.interval"), 0);
    CHECK_EQ(mallctl("thread.prof.name", NULL, NULL, &name, sizeof name), 0);
    CHECK_EQ(mallctl("thread.prof.name", &got, &length, NULL, 0), 0);
    CHECK(got != NULL && strcmp(got, name) == 0);
    CHECK_EQ(mallctl("thread.prof.name", &got, &length, &name, sizeof name), EPERM);
    CHECK_EQ(mallctl("thread.prof.name", NULL, NULL, &bad, sizeof bad), EFAULT);
    CHECK_EQ(mallctl("thread.prof.name", NULL, NULL, &nothing, sizeof nothing), EFAULT);
}

static char dumped[64];

static void note_dump(const char *name)
{
    free(opaque_ptr(malloc(100)));
    snprintf(dumped, sizeof dumped, "%s", name);
}

/* The program is told the name of each dump. */
static void dumps_are_told_of(void)
{
    const char *path = "dump_with_hook.heap", *name = "experimental.hooks.prof_dump";
    void (*hook)(const char *) = note_dump, (*none)(const char *) = NULL;
    size_t length = sizeof hook;
    CHECK_EQ(mallctl(name, NULL, NULL, &hook, sizeof hook), 0);
    CHECK_EQ(mallctl("prof.dump", NULL, NULL, &path, sizeof path), 0);
    CHECK(strcmp(dumped, path) == 0);
    unlink(path);
    CHECK_EQ(mallctl(name, &hook, &length, &none, sizeof none), 0);
    CHECK(hook == note_dump);
    dumped[0] = '\0';
    CHECK_EQ(mallctl("prof.dump", NULL, NULL, &path, sizeof path), 0);
    CHECK(dumped[0] == '\0');
    unlink(path);
    CHECK_EQ(mallctl(name, NULL, NULL, NULL, 0), EINVAL);
}

static void dumps_are_written(void)
{
    char path[] = "dump_by_name.heap", prefix[] = "by_prefix", missing[] = "no/such/folder/x";
    const char *name = path, *start = prefix;
    swap_flag("prof.active", true);
    CHECK_EQ(mallctl("prof.dump", NULL, NULL, &name, sizeof name), 0);
    CHECK_EQ(access(path, R_OK), 0);
    unlink(path);
    name = missing;
    CHECK_EQ(mallctl("prof.dump", NULL, NULL, &name, sizeof name), EFAULT);
    CHECK_EQ(mallctl("prof.prefix", NULL, NULL, &start, sizeof start), 0);
    CHECK_EQ(je_mallctl("prof.dump", NULL, NULL, NULL, 0), 0);
    char expected[64];
    snprintf(expected, sizeof expected, "by_prefix.%d.1.m1.heap", (int)getpid());
    if (access(expected, R_OK) != 0)
        snprintf(expected, sizeof expected, "by_prefix.%d.0.m0.heap", (int)getpid());
    CHECK_EQ(access(expected, R_OK), 0);
    unlink(expected);
    start = "";
    CHECK_EQ(mallctl("prof.prefix", NULL, NULL, &start, sizeof start), 0);
    CHECK_EQ(mallctl("prof.dump", NULL, NULL, NULL, 0), EFAULT);
}

static void experiments_answer(void)
{
    void *blocks[4], *block = opaque_ptr(malloc(opaque_size(100))), *outside = &blocks;
    void *large = opaque_ptr(malloc(opaque_size(1 << 20)));
    struct {
        void *current;
        size_t free, blocks, bytes, all_free, all_blocks;
    } one;
    struct {
        size_t free, blocks, bytes;
    } some[3];
    void *asked[] = {block, large, outside};
    size_t length = sizeof one, filled = 0;
    CHECK_EQ(mallctl("experimental.utilization.query", &one, &length, &block, sizeof block), 0);
    CHECK(one.blocks > 1 && one.free < one.blocks && one.bytes >= one.blocks * 100);
    CHECK(one.all_blocks >= one.blocks && one.all_free >= one.free);
    length = sizeof one - 1;
    CHECK_EQ(mallctl("experimental.utilization.query", &one, &length, &block, sizeof block),
             EINVAL);
    CHECK_EQ(mallctl("experimental.utilization.query", NULL, NULL, &block, sizeof block), EINVAL);
    length = sizeof some;
    CHECK_EQ(mallctl("experimental.utilization.batch_query", some, &length, asked, sizeof asked),
             0);
    CHECK(some[0].blocks == one.blocks && some[0].bytes == one.bytes);
    CHECK(some[1].free == 0 && some[1].blocks == 1 && some[1].bytes >= 1 << 20);
    CHECK(some[2].free == 0 && some[2].blocks == 0 && some[2].bytes == 0);
    CHECK_EQ(mallctl("experimental.utilization.batch_query", some, &length, asked, 8), EINVAL);
    free(block);
    free(large);

    struct {
        void **blocks;
        size_t count, size;
        int flags;
    } wish = {blocks, 4, 1000, MALLOCX_ZERO | MALLOCX_LG_ALIGN(7)};
    length = sizeof filled;
    CHECK_EQ(mallctl("experimental.batch_alloc", &filled, &length, &wish, sizeof wish), 0);
    CHECK_EQ(filled, 4);
    for (size_t i = 0; i < filled; i++) {
        CHECK(is_aligned(blocks[i], 128) && first_other_byte(blocks[i], 1000, 0) == 1000);
        free(blocks[i]);
    }
    wish.size = SIZE_MAX / 2; /* what there is no memory for is not filled */
    CHECK_EQ(mallctl("experimental.batch_alloc", &filled, &length, &wish, sizeof wish), 0);
    CHECK_EQ(filled, 0);
    CHECK_EQ(mallctl("experimental.batch_alloc", NULL, NULL, &wish, sizeof wish), EINVAL);
    CHECK_EQ(mallctl("experimental.batch_alloc", &filled, &length, &wish, 8), EINVAL);
}

static void locks_are_not_counted(void)
{
    uint64_t value = 1;
    uint32_t short_value = 1;
    size_t mib[7], parts = 7, length = sizeof value;
    CHECK_EQ(mallctl("stats.mutexes.ctl.num_ops", &value, &length, NULL, 0), 0);
    CHECK_EQ(value, 0);
    value = 1;
    CHECK_EQ(mallctlnametomib("stats.arenas.0.mutexes.base.max_wait_time", mib, &parts), 0);
    CHECK_EQ(parts, 6);
    CHECK_EQ(mallctlbymib(mib, parts, &value, &length, NULL, 0), 0);
    CHECK_EQ(value, 0);
    length = sizeof short_value;
    CHECK_EQ(mallctl("stats.arenas.4096.bins.3.mutex.max_num_thds", &short_value, &length, NULL, 0),
             0);
    CHECK_EQ(short_value, 0);
    CHECK_EQ(mallctl("stats.mutexes.base.num_ops", NULL, NULL, NULL, 0), ENOENT);
    CHECK_EQ(mallctl("stats.mutexes.ct.num_ops", NULL, NULL, NULL, 0), ENOENT);
    CHECK_EQ(mallctl("stats.mutexes..num_ops", NULL, NULL, NULL, 0), ENOENT);
    CHECK_EQ(mallctl("stats.arenas.0.bins.9999.mutex.num_ops", NULL, NULL, NULL, 0), ENOENT);
    CHECK_EQ(mallctl("stats.arenas.0x.bins.1.mutex.num_ops", NULL, NULL, NULL, 0), ENOENT);
}

/* A listener that allocates, in many parts. */
struct heard {
    size_t length;
    char text[20000];
};

static void hear(void *opaque, const char *text)
{
    struct heard *heard = opaque;
    size_t length = strlen(text);
    free(opaque_ptr(malloc(opaque_size(3000))));
    if (CHECK(heard->length + length < sizeof heard->text))
        memcpy(heard->text + heard->length, text, length + 1);
    heard->length += length;
}

static unsigned heard_times(const struct heard *heard, const char *what)
{
    unsigned times = 0;
    for (const char *at = heard->text; (at = strstr(at, what)) != NULL; at++)
        times++;
    return times;
}

static void recent_blocks_are_told(void)
{
    static struct heard heard;
    struct {
        void (*write)(void *opaque, const char *text);
        void *opaque;
    } listener = {hear, &heard};
    ssize_t max = 7, before = -5, bad = -2;
    size_t length = sizeof before, rate = 0;
    void *blocks[9];
    CHECK_EQ(mallctl("experimental.prof_recent.alloc_max", &before, &length, &max, sizeof max), 0);
    CHECK_EQ(before, 0);
    CHECK_EQ(mallctl("experimental.prof_recent.alloc_max", NULL, NULL, &bad, sizeof bad), EINVAL);
    CHECK_EQ(mallctl("experimental.prof_recent.alloc_max", NULL, NULL, &max, 4), EINVAL);
    CHECK_EQ(size_of("experimental.prof_recent.alloc_max"), 7);
    swap_flag("prof.active", true);
    CHECK_EQ(mallctl("prof.reset", NULL, NULL, &rate, sizeof rate), 0);
    for (size_t i = 0; i < 9; i++)
        blocks[i] = opaque_ptr(malloc(opaque_size(4321 + i)));
    free(blocks[8]);
    blocks[7] = opaque_ptr(realloc(blocks[7], 70000));
    CHECK_EQ(mallctl("experimental.prof_recent.alloc_dump", NULL, NULL, &listener, sizeof listener),
             0);
    CHECK_EQ(heard.text[0], '{');
    CHECK_EQ(heard.text[heard.length - 1], '}');
    CHECK_EQ(heard_times(&heard, "{\"size\":"), 7);
    CHECK_EQ(heard_times(&heard, "\"released\":true"), 2);
    CHECK_EQ(heard_times(&heard, "\"dalloc_time\":"), 2);
    CHECK_EQ(heard_times(&heard, "{\"size\":4323,"), 0); /* it and what was before are gone */
    CHECK_EQ(heard_times(&heard, "{\"size\":4324,"), 1);
    CHECK_EQ(heard_times(&heard, "{\"size\":70000,"), 1);
    CHECK_EQ(heard_times(&heard, "_trace\":[]"), 0);
    CHECK_EQ(mallctl("experimental.prof_recent.alloc_dump", NULL, NULL, NULL, 0), EINVAL);
    CHECK_EQ(mallctl("experimental.prof_recent.alloc_dump", &before, &length, &listener,
                     sizeof listener),
             EPERM);
    max = 0;
    CHECK_EQ(mallctl("experimental.prof_recent.alloc_max", NULL, NULL, &max, sizeof max), 0);
    memset(&heard, 0, sizeof heard);
    CHECK_EQ(mallctl("experimental.prof_recent.alloc_dump", NULL, NULL, &listener, sizeof listener),
             0);
    CHECK(strstr(heard.text, "\"recent_alloc_max\":0,\"recent_alloc\":[]}") != NULL);
    rate = 19;
    CHECK_EQ(mallctl("prof.reset", NULL, NULL, &rate, sizeof rate), 0);
    for (size_t i = 0; i < 8; i++)
        free(blocks[i]);
}

int main(void)
{
    if (!CHECK(mallctl != NULL && mallctlnametomib != NULL && mallctlbymib != NULL))
        return check_result();
    calls_are_checked();
    names_can_be_looked_up_once();
    statistics_wait_for_an_epoch();
    classes_wait_for_an_epoch();
    threads_count_for_themselves();
    profiler_is_switched();
    dumps_are_written();
    dumps_are_told_of();
    experiments_answer();
    locks_are_not_counted();
    recent_blocks_are_told();
    return check_result();
}

/* SPDX-License-Identifier: MIT */ /* static-too */
/* mallctl: what each way of calling it wrongly returns, that a value of the wrong size is cut and
 * its length told, and what the names about the profiler, the thread and the heap answer. */
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
    CHECK_EQ(size_of("stats.arenas.0.large.allocated") +
                 size_of("stats.arenas.4096.small.allocated"),
             now);
    free(block);
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
    CHECK_EQ(mallctl("thread.prof.name", NULL, NULL, &bad, sizeof bad), EINVAL);
    CHECK_EQ(mallctl("thread.prof.name", NULL, NULL, &nothing, sizeof nothing), EFAULT);
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

int main(void)
{
    if (!CHECK(mallctl != NULL && mallctlnametomib != NULL && mallctlbymib != NULL))
        return check_result();
    calls_are_checked();
    names_can_be_looked_up_once();
    statistics_wait_for_an_epoch();
    threads_count_for_themselves();
    profiler_is_switched();
    dumps_are_written();
    return check_result();
}

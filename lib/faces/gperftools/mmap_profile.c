/* SPDX-License-Identifier: MIT */
/*
 * See mmap_profile.h. Only in programs that ask for it are references to mmap and its family
 * pointed at the functions here, which call libc's. Mappings of libc itself are not seen, as in
 * gperftools.
 *
 * Regions lie in a table without a lock: a row is claimed, filled, and claimed again by the thread
 * that unmaps it. If a region is unmapped in part, the rest becomes a new region of the unmapping
 * caller.
 */
#include "lib/faces/gperftools/mmap_profile.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/types.h>

#include "base/compiler.h"
#include "base/message.h"
#include "base/os.h"
#include "lib/alloc/alloc.h"
#include "lib/api/api.h"
#include "lib/control/control.h"
#include "lib/heap/observer.h"
#include "lib/watch/watch.h"

enum { REGIONS = 8192 };
enum { FREE, BUSY, USED };

struct region {
    uintptr_t start, end;
    struct record record;
    uint32_t state;
};

static struct region *regions;
static bool recorded, log_calls;

static void *own_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);
static int own_munmap(void *at, size_t size);
static void *own_mremap(void *at, size_t before, size_t size, int flags, ...);
static void *own_sbrk(intptr_t more);

enum { BIND_MMAP, BIND_MMAP64, BIND_MUNMAP, BIND_MREMAP, BIND_SBRK };
static struct binding bindings[] = {
    [BIND_MMAP] = {"mmap", (void *)own_mmap, NULL},
    [BIND_MMAP64] = {"mmap64", (void *)own_mmap, NULL},
    [BIND_MUNMAP] = {"munmap", (void *)own_munmap, NULL},
    [BIND_MREMAP] = {"mremap", (void *)own_mremap, NULL},
    [BIND_SBRK] = {"sbrk", (void *)own_sbrk, NULL},
};

void mmap_profile_start(bool record, bool only, bool log)
{
    if (deepbind_apply == NULL)
        return;
    log_calls = log;
    recorded = record;
    regions = os_map(REGIONS * sizeof *regions);
    if (regions != NULL && deepbind_apply(bindings, COUNT_OF(bindings)) && only) {
        track_set_threads_active(false);
        control_reset(); /* what constructors of libraries have allocated by now */
    }
}

void mmap_profile_loaded(void)
{
    if (unlikely(regions != NULL))
        deepbind_apply(bindings, COUNT_OF(bindings));
}

static bool claim(struct region *region, uint32_t from)
{
    return load_relaxed(&region->state) == from &&
           __atomic_compare_exchange_n(&region->state, &from, BUSY, false, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED);
}

static void record_begin(struct record *record, size_t size, const struct caller *caller)
{
    record->site = 0;
    if (!cold_begin(NULL))
        return;
    track_begin(record, caller, CLASS_COUNT, size, size, 0, SAMPLER_EXACT_NUMBER);
    cold_end();
}

static void record_end(struct record *record, size_t size, const struct caller *caller)
{
    if (!cold_begin(NULL))
        return;
    track_end(record, caller, size, size, false);
    cold_end();
}

static void region_add(uintptr_t start, uintptr_t end, const struct caller *caller)
{
    struct region *region = regions;
    if (!recorded || start >= end)
        return;
    while (region < regions + REGIONS && !claim(region, FREE))
        region++;
    if (region == regions + REGIONS)
        return;
    region->start = start;
    region->end = end;
    bool active = track_thread_active();
    track_set_thread_active(true);
    record_begin(&region->record, end - start, caller);
    track_set_thread_active(active);
    store_release(&region->state, USED);
}

static void region_remove(uintptr_t start, uintptr_t end, const struct caller *caller)
{
    for (struct region *region = regions; region < regions + REGIONS; region++) {
        if (!claim(region, USED))
            continue;
        uintptr_t from = region->start, to = region->end;
        if (from >= end || to <= start) {
            store_release(&region->state, USED);
            continue;
        }
        record_end(&region->record, to - from, caller);
        store_release(&region->state, FREE);
        if (from < start)
            region_add(from, start, caller);
        if (to > end)
            region_add(end, to, caller);
    }
}

static void say(const char *call, const void *at, size_t size, const void *result)
{
    if (log_calls)
        message_format("%s(start=%p, len=%zu) = %p\n", call, at, size, result);
}

static uintptr_t rounded(uintptr_t end)
{
    uintptr_t page = os_page_size();
    return (end + page - 1) & ~(page - 1);
}

static __attribute__((noinline)) void *own_mmap(void *at, size_t size, int protection, int flags,
                                                int fd, off_t offset)
{
    struct caller caller = CALLER_HERE;
    void *(*next)(void *, size_t, int, int, int, off_t) =
        (void *(*)(void *, size_t, int, int, int, off_t))bindings[BIND_MMAP].libcs;
    void *got = next(at, size, protection, flags, fd, offset);
    int error = errno;
    if (got != MAP_FAILED) {
        uintptr_t end = rounded((uintptr_t)got + size);
        if (flags & MAP_FIXED)
            region_remove((uintptr_t)got, end, &caller);
        region_add((uintptr_t)got, end, &caller);
    }
    say("mmap", at, size, got);
    errno = error;
    return got;
}

static __attribute__((noinline)) int own_munmap(void *at, size_t size)
{
    struct caller caller = CALLER_HERE;
    int (*next)(void *, size_t) = (int (*)(void *, size_t))bindings[BIND_MUNMAP].libcs;
    /* Before the call: afterwards the address may be another thread's. */
    region_remove((uintptr_t)at, rounded((uintptr_t)at + size), &caller);
    int result = next(at, size);
    int error = errno;
    say("munmap", at, size, NULL);
    errno = error;
    return result;
}

static __attribute__((noinline)) void *own_mremap(void *at, size_t before, size_t size, int flags,
                                                  ...)
{
    struct caller caller = CALLER_HERE;
    void *(*next)(void *, size_t, size_t, int, ...) =
        (void *(*)(void *, size_t, size_t, int, ...))bindings[BIND_MREMAP].libcs;
    va_list list;
    va_start(list, flags);
    void *target = flags & MREMAP_FIXED ? va_arg(list, void *) : NULL;
    va_end(list);
    void *got = next(at, before, size, flags, target);
    int error = errno;
    if (got != MAP_FAILED) {
        region_remove((uintptr_t)at, rounded((uintptr_t)at + before), &caller);
        region_add((uintptr_t)got, rounded((uintptr_t)got + size), &caller);
    }
    say("mremap", at, size, got);
    errno = error;
    return got;
}

static __attribute__((noinline)) void *own_sbrk(intptr_t more)
{
    struct caller caller = CALLER_HERE;
    void *(*next)(intptr_t) = (void *(*)(intptr_t))bindings[BIND_SBRK].libcs;
    void *got = next(more);
    int error = errno;
    if (got != (void *)-1 && more > 0)
        region_add((uintptr_t)got, (uintptr_t)got + (uintptr_t)more, &caller);
    else if (got != (void *)-1 && more < 0)
        region_remove((uintptr_t)got + (uintptr_t)more, (uintptr_t)got, &caller);
    if (more != 0)
        say("sbrk", NULL, (size_t)more, got);
    errno = error;
    return got;
}

/* SPDX-License-Identifier: MIT */
/*
 * See lib/alloc/outside.h. One lock and a table of regions that is searched from the start: simple,
 * because only programs that have filled their address space get here. A block is found by the
 * region that its address is in, so a wrong pointer is never taken for a block.
 */
#include "lib/alloc/outside.h"

#include <stdint.h>
#include <string.h>

#include "base/compiler.h"
#include "base/os.h"
#include "lib/window/window.h"

enum {
    STEP_SHIFT = 6,
    STEP = 1 << STEP_SHIFT, /* bytes that a bit stands for */
    SHARED_MAX = 64 << 10,  /* larger blocks have a region of their own */
    REGION_MAX = 4 << 20,   /* tried first, then a quarter of it and so on: holes are short here */
    REGION_MIN = 64 << 10,  /* shared ones; a smaller hole serves one block */
    REGIONS_FIRST = 64,     /* in static memory: no other may be had when the first is needed */
    STATIC_STEPS = REGION_MIN / STEP, /* bits for one shared region without a mapping */
};

/* The same limit as inside of the window: 8 TiB. */
static const size_t BYTES_MAX = ((size_t)1 << 43) - 1;

struct region {
    char *start;
    size_t bytes;           /* of the mapping; 0: this place is free */
    uint64_t *first, *used; /* NULL: one block */
    uint32_t steps, free;
    char *block; /* of a region with one block, which may begin later than the region */
};

struct lock outside_lock = {.rank = LOCK_OUTSIDE};

static BULK struct region few[REGIONS_FIRST];
static struct region *regions = few;
static size_t room = REGIONS_FIRST, count;
static size_t mapped;
static uint64_t static_bits[2 * STATIC_STEPS / 64];
static bool static_taken;

static char *small_locked(size_t steps, size_t align);
static char *shared_take(struct region *region, size_t steps, size_t align);
static bool bit(const uint64_t *bits, size_t at);
static void bit_flip(uint64_t *bits, size_t at);
static struct region *region_make(size_t bytes, bool shared);
static struct region *place_locked(void);
static bool bits_make(struct region *region, uint32_t steps);
static size_t whole_pages(size_t bytes);
static size_t bits_bytes(uint32_t steps);
static void bits_drop(struct region *region);
static void region_drop(struct region *region);
static char *large_locked(size_t size, size_t align);

void *outside_take(size_t size, size_t align, bool *zero)
{
    size = size == 0 ? 1 : size;
    if (size > BYTES_MAX || align > BYTES_MAX)
        return NULL;
    char *block = NULL;
    *zero = false;
    uint64_t signals;
    os_signals_set(UINT64_MAX, &signals); /* what the lock protects is not repaired after a jump */
    lock_take(&outside_lock);
    if (size <= SHARED_MAX / 2 && align <= SHARED_MAX / 2)
        block = small_locked((size + STEP - 1) >> STEP_SHIFT, align < STEP ? STEP : align);
    if (block == NULL) {
        block = large_locked(size, align);
        *zero = true;
    }
    lock_give(&outside_lock);
    os_signals_set(signals, NULL);
    return block;
}

static char *small_locked(size_t steps, size_t align)
{
    for (size_t i = 0; i < count; i++)
        if (regions[i].bytes != 0 && regions[i].first != NULL) {
            char *block = shared_take(&regions[i], steps, align);
            if (block != NULL)
                return block;
        }
    for (size_t bytes = REGION_MAX; bytes >= REGION_MIN; bytes /= 4) {
        struct region *region = region_make(bytes, true);
        if (region != NULL) {
            char *block = shared_take(region, steps, align);
            if (block != NULL)
                return block;
            region_drop(region); /* too short for the alignment */
        }
    }
    return NULL;
}

/* Takes the first free steps that fit. */
static char *shared_take(struct region *region, size_t steps, size_t align)
{
    size_t end = region->steps, at = 0;
    if (region->free < steps)
        return NULL;
    while (at + steps <= end) {
        if (at % 64 == 0 && region->used[at / 64] == ~UINT64_C(0)) {
            at += 64;
            continue;
        }
        uintptr_t address = (uintptr_t)region->start + (at << STEP_SHIFT);
        at += ((0 - address) & (align - 1)) >> STEP_SHIFT;
        size_t got = 0;
        while (got < steps && at + got < end && !bit(region->used, at + got))
            got++;
        if (got == steps) {
            /* First: a child that is forked among these lines may take the steps for a part of the
             * block before them, and free them with it. */
            region->free -= (uint32_t)steps;
            for (size_t i = 0; i < steps; i++)
                bit_flip(region->used, at + i);
            bit_flip(region->first, at);
            return region->start + (at << STEP_SHIFT);
        }
        at += got + 1;
    }
    return NULL;
}

static bool bit(const uint64_t *bits, size_t at)
{
    return bits[at / 64] >> (at % 64) & 1;
}

static void bit_flip(uint64_t *bits, size_t at)
{
    bits[at / 64] ^= UINT64_C(1) << (at % 64);
}

static struct region *region_make(size_t bytes, bool shared)
{
    struct region *region = arena_limited(bytes) ? NULL : place_locked();
    if (region == NULL || (shared && !bits_make(region, (uint32_t)(bytes >> STEP_SHIFT))))
        return NULL;
    region->start = region->block = os_map(bytes);
    if (region->start == NULL) {
        bits_drop(region);
        return NULL;
    }
    store_release(&region->bytes, bytes);
    add_relaxed(&mapped, bytes);
    arena_beside((ptrdiff_t)bytes);
    return region;
}

/* A free place in the table of regions, or NULL. */
static struct region *place_locked(void)
{
    for (size_t i = 0; i < count; i++)
        if (regions[i].bytes == 0)
            return &regions[i];
    if (count == room) {
        struct region *more = os_map(2 * room * sizeof *more);
        if (more == NULL)
            return NULL;
        memcpy(more, regions, count * sizeof *more);
        struct region *old = regions;
        store_release(&regions, more);
        if (old != few)
            os_unmap(old, room * sizeof *old);
        room *= 2;
    }
    regions[count] = (struct region){0};
    return &regions[count++];
}

static bool bits_make(struct region *region, uint32_t steps)
{
    uint64_t *bits = NULL;
    if (steps <= STATIC_STEPS && !static_taken) {
        static_taken = true;
        bits = static_bits;
        memset(bits, 0, sizeof static_bits);
    } else if ((bits = os_map(whole_pages(bits_bytes(steps)))) == NULL) {
        return false;
    }
    region->first = bits;
    region->used = bits + steps / 64;
    region->steps = region->free = steps;
    return true;
}

static size_t whole_pages(size_t bytes)
{
    size_t page = os_page_size();
    return (bytes + page - 1) & ~(page - 1);
}

static size_t bits_bytes(uint32_t steps)
{
    return (size_t)2 * (steps / 64) * sizeof(uint64_t);
}

static void bits_drop(struct region *region)
{
    if (region->first == static_bits)
        static_taken = false;
    else if (region->first != NULL)
        os_unmap(region->first, whole_pages(bits_bytes(region->steps)));
    region->first = region->used = NULL;
}

static void region_drop(struct region *region)
{
    size_t bytes = region->bytes;
    add_relaxed(&mapped, -bytes);
    arena_beside(-(ptrdiff_t)bytes);
    store_relaxed(&region->bytes, 0);
    os_unmap(region->start, bytes);
    bits_drop(region);
}

static char *large_locked(size_t size, size_t align)
{
    size_t page = os_page_size(), extra = align > page ? align - page : 0;
    struct region *region = region_make(whole_pages(size) + extra, false);
    if (region == NULL)
        return NULL;
    uintptr_t start = (uintptr_t)region->start;
    region->block = (char *)((start + align - 1) & ~(uintptr_t)(align - 1));
    return region->block;
}

static struct region *find_locked(const void *p)
{
    for (size_t i = 0; i < count; i++)
        if ((uintptr_t)p - (uintptr_t)regions[i].start < regions[i].bytes)
            return &regions[i];
    return NULL;
}

/* How many steps the block that begins at step `at` has; 0 if none begins there. */
static size_t steps_at(const struct region *region, size_t at)
{
    size_t steps = bit(region->first, at);
    while (steps > 0 && at + steps < region->steps && bit(region->used, at + steps) &&
           !bit(region->first, at + steps))
        steps++;
    return steps;
}

static size_t size_locked(const struct region *region, const void *p)
{
    size_t offset = (size_t)((const char *)p - region->start);
    if (region->first == NULL)
        return p == region->block ? region->bytes - offset : 0;
    return offset % STEP != 0 ? 0 : steps_at(region, offset >> STEP_SHIFT) << STEP_SHIFT;
}

size_t outside_size(const void *p)
{
    if (load_relaxed(&mapped) == 0)
        return 0;
    /* A signal handler that interrupted its own thread here can't wait for it. Other blocks are as
     * they were. */
    bool interrupted = lock_held >> LOCK_OUTSIDE & 1;
    if (!interrupted)
        lock_take(&outside_lock);
    const struct region *region = find_locked(p);
    size_t size = region == NULL ? 0 : size_locked(region, p);
    if (!interrupted)
        lock_give(&outside_lock);
    return size;
}

bool outside_give(void *p)
{
    uint64_t signals;
    os_signals_set(UINT64_MAX, &signals);
    lock_take(&outside_lock);
    struct region *region = find_locked(p);
    size_t size = region == NULL ? 0 : size_locked(region, p);
    if (size != 0 && region->first != NULL) {
        size_t at = (size_t)((char *)p - region->start) >> STEP_SHIFT, steps = size >> STEP_SHIFT;
        bit_flip(region->first, at);
        for (size_t i = 0; i < steps; i++)
            bit_flip(region->used, at + i);
        region->free += (uint32_t)steps;
    }
    if (size != 0 && (region->first == NULL || region->free == region->steps))
        region_drop(region);
    lock_give(&outside_lock);
    os_signals_set(signals, NULL);
    return size != 0;
}

size_t outside_mapped(void)
{
    return load_relaxed(&mapped);
}

size_t outside_resident(size_t parts_max)
{
    size_t bytes = 0;
    if (load_relaxed(&mapped) == 0)
        return 0;
    lock_take(&outside_lock);
    for (size_t i = 0; i < count; i++)
        if (regions[i].bytes != 0)
            bytes += os_resident(regions[i].start, regions[i].bytes, parts_max);
    lock_give(&outside_lock);
    return bytes;
}

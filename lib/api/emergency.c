/* SPDX-License-Identifier: MIT */
/* See lib/api/emergency.h. No lock: its owner might be the very thread that was interrupted. */
#include "lib/api/emergency.h"

#include <stdint.h>
#include <string.h>

#include "base/compiler.h"
#include "base/os.h"

enum {
    REGIONS = 64,         /* blocks are never reused: 64 MiB at most, large ones aside */
    FIRST = 16 << 10,     /* static: a handler may come when nothing can be mapped */
    REGION_MIN = 1 << 20, /* bytes */
    HEADER = 16,
};

struct region {
    char *start;
    size_t size, used;
};

static BULK _Alignas(16) char first[FIRST];
static struct region first_region = {first, FIRST, 0};
static BULK struct region more_regions[REGIONS - 1];
static unsigned count = 1;
static struct region *region_at(unsigned number);
static void *region_take(struct region *region, size_t size, size_t align);

void *emergency_take(size_t size, size_t align)
{
    align = align < HEADER ? HEADER : align;
    size = (size + HEADER - 1) & ~(size_t)(HEADER - 1);
    size = size == 0 ? HEADER : size;
    size_t need = size + align + HEADER;
    if (size > PTRDIFF_MAX / 2 || align > PTRDIFF_MAX / 4)
        return NULL;
    for (unsigned i = 0; i < load_relaxed(&count) && i < REGIONS; i++) {
        void *block = region_take(region_at(i), size, align);
        if (block != NULL)
            return block;
    }
    unsigned mine = __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
    if (mine >= REGIONS) {
        store_relaxed(&count, REGIONS);
        return NULL;
    }
    size_t bytes = (need + REGION_MIN - 1) & ~(size_t)(REGION_MIN - 1);
    char *start = os_map(bytes);
    if (start == NULL)
        return NULL;
    struct region *region = region_at(mine);
    region->size = bytes;
    store_release(&region->start, start);
    return region_take(region, size, align);
}

bool emergency_owns(const void *p)
{
    for (unsigned i = 0; i < load_relaxed(&count) && i < REGIONS; i++) {
        const char *start = load_acquire(&region_at(i)->start);
        if (start != NULL && (uintptr_t)p - (uintptr_t)start < region_at(i)->size)
            return true;
    }
    return false;
}

size_t emergency_size(const void *p)
{
    size_t size;
    memcpy(&size, (const char *)p - HEADER, sizeof size);
    return size;
}

/* regions that exist or are about to */

static struct region *region_at(unsigned number)
{
    return number == 0 ? &first_region : &more_regions[number - 1];
}

static void *region_take(struct region *region, size_t size, size_t align)
{
    char *start = load_acquire(&region->start);
    size_t need = size + align + HEADER;
    if (start == NULL || need > region->size)
        return NULL;
    size_t at = __atomic_fetch_add(&region->used, need, __ATOMIC_RELAXED);
    if (at > region->size - need) {
        __atomic_fetch_sub(&region->used, need, __ATOMIC_RELAXED);
        return NULL;
    }
    uintptr_t block = ((uintptr_t)start + at + HEADER + align - 1) & ~(uintptr_t)(align - 1);
    memcpy((char *)block - HEADER, &size, sizeof size);
    return (void *)block;
}

/* SPDX-License-Identifier: MIT */
/*
 * See lib/leak/apart.h. Only the kernel knows which memory that is: the program unmaps, moves and
 * splits it, and what is mapped at the same address later is ordinary memory. The kernel tells it
 * together with the resident size of each mapping, for which it walks through all page tables. So
 * it is asked before the threads stand still, and only in programs that have called madvise for
 * such memory; again while they stand if one of them was in such a call since.
 */
#include "lib/leak/apart.h"

#include <sys/mman.h>

#include "base/compiler.h"
#include "base/file/maps.h"
#include "base/os.h"
#include "base/os_thread.h"
#include "lib/leak/roots.h"
#include "lib/leak/touched.h"

enum {
    RANGES_MAX = 1 << 16, /* 1 MiB of address space, touched as far as needed */
    BYTES_MAX = 1 << 27,  /* copied at most, for threads stand still */
};

static uint32_t begun, ended; /* calls of madvise for that */

/* What the visitors below need. */
struct taking {
    struct apart *apart;
    int memory;
};

static void range_add(struct apart *apart, uintptr_t start, uintptr_t end);
static touched_visitor count_bytes, take_bytes;
static void ranges_each(const struct apart *apart, const struct touched *touched,
                        touched_visitor *visit, void *context);

bool apart_advises(int advice)
{
    if (advice != MADV_DONTFORK && advice != MADV_WIPEONFORK)
        return false;
    __atomic_fetch_add(&begun, 1, __ATOMIC_SEQ_CST);
    return true;
}

void apart_advised(void)
{
    __atomic_fetch_add(&ended, 1, __ATOMIC_SEQ_CST);
}

void apart_look(struct apart *apart)
{
    struct maps maps;
    struct map map;
    uint32_t calls = load_acquire(&ended);
    *apart = (struct apart){.known = load_acquire(&begun) == 0, .calls = calls};
    if (apart->known)
        return;
    apart->ranges_room = RANGES_MAX * sizeof *apart->ranges;
    apart->ranges = os_map(apart->ranges_room);
    if (apart->ranges == NULL || !maps_open_flags(&maps))
        return;
    apart->known = true;
    while (maps_next(&maps, &map)) {
        bool holds = roots_may_hold(&map); /* first: it needs the path */
        if (maps_is_apart(&maps) && holds)
            range_add(apart, map.start, map.end);
    }
    maps_close(&maps);
}

/* Leaves out the stacks of our own threads: children do not get these either. */
static void range_add(struct apart *apart, uintptr_t start, uintptr_t end)
{
    uintptr_t starts[OS_THREADS_MAX], ends[OS_THREADS_MAX];
    unsigned rooms = os_thread_rooms(starts, ends);
    for (unsigned i = 0; i < rooms; i++)
        if (starts[i] < end && ends[i] > start) {
            if (starts[i] > start)
                range_add(apart, start, starts[i]);
            if (ends[i] < end)
                range_add(apart, ends[i], end);
            return;
        }
    if (apart->ranges_count == RANGES_MAX)
        apart->known = false;
    else
        apart->ranges[apart->ranges_count++] = (struct scan_range){start, end};
}

bool apart_take(struct apart *apart)
{
    struct touched touched;
    struct taking taking = {.apart = apart};
    if (load_acquire(&begun) != apart->calls) {
        apart_free(apart);
        apart_look(apart);
    }
    if (!apart->known || apart->ranges_count == 0)
        return apart->known;
    touched_open(&touched);
    ranges_each(apart, &touched, count_bytes, &apart->room);
    bool good = apart->room <= BYTES_MAX;
    if (good && apart->room > 0) {
        apart->words = os_map(apart->room);
        taking.memory = os_memory_open();
        good = apart->words != NULL && taking.memory != -1;
        if (good)
            ranges_each(apart, &touched, take_bytes, &taking);
        os_memory_close(taking.memory);
    }
    touched_close(&touched);
    return good;
}

void apart_free(struct apart *apart)
{
    if (apart->words != NULL)
        os_unmap(apart->words, apart->room);
    if (apart->ranges != NULL)
        os_unmap(apart->ranges, apart->ranges_room);
    *apart = (struct apart){0};
}

static void ranges_each(const struct apart *apart, const struct touched *touched,
                        touched_visitor *visit, void *context)
{
    for (unsigned i = 0; i < apart->ranges_count; i++)
        touched_each(touched, apart->ranges[i].start, apart->ranges[i].end, TOUCHED_ALL, visit,
                     context);
}

static void count_bytes(void *sum, uintptr_t start, uintptr_t end)
{
    *(size_t *)sum += end - start;
}

static void take_bytes(void *context, uintptr_t start, uintptr_t end)
{
    struct taking *taking = context;
    struct apart *apart = taking->apart;
    if (end - start > apart->room - apart->bytes)
        return;
    ssize_t got =
        os_memory_read(taking->memory, (char *)apart->words + apart->bytes, end - start, start);
    if (got > 0)
        apart->bytes += (size_t)got & ~(sizeof(uintptr_t) - 1);
}

/* SPDX-License-Identifier: MIT */
/* See lib/leak/closed.h. With `harden`, free runs are among them, which costs time only. */
#include "lib/leak/closed.h"

#include <signal.h>

#include "base/file/maps.h"
#include "base/os.h"
#include "base/os_thread.h"
#include "lib/alloc/alloc.h"

static size_t find_parts(struct closed_part *parts, size_t max);
static void on_fault(int number, siginfo_t *info, void *context);

bool closed_open(struct closed *closed)
{
    *closed = (struct closed){NULL, 0, 0};
    size_t count = find_parts(NULL, 0);
    if (count == 0)
        return true;
    closed->room = count * sizeof *closed->parts;
    closed->parts = os_map(closed->room);
    if (closed->parts == NULL)
        return false;
    size_t found = find_parts(closed->parts, count);
    count = found < count ? found : count;
    while (closed->count < count) {
        const struct closed_part *part = &closed->parts[closed->count];
        if (!os_access((void *)(window.base + part->from), part->bytes, true))
            return false;
        closed->count++;
    }
    return true;
}

void closed_end(struct closed *closed, bool again)
{
    for (size_t i = 0; again && i < closed->count; i++)
        os_access((void *)(window.base + closed->parts[i].from), closed->parts[i].bytes, false);
    if (closed->parts != NULL)
        os_unmap(closed->parts, closed->room);
}

/* Notes the parts as far as there is room; returns how many there are. */
static size_t find_parts(struct closed_part *parts, size_t max)
{
    struct maps maps;
    struct map map;
    size_t count = 0;
    if (!maps_open(&maps))
        return 0;
    while (maps_next(&maps, &map)) {
        uintptr_t start, to;
        /* One that begins before the window is not the program's: qemu reports a hole so. */
        if (map.readable || map.writable || map.start < window.base ||
            !arena_part(map.start, &start, &to) || start > map.start)
            continue;
        to = map.end < to ? map.end : to;
        if (count < max)
            parts[count] = (struct closed_part){map.start - window.base, to - map.start};
        count++;
    }
    maps_close(&maps);
    return count;
}

void closed_read_as_zero(void)
{
    struct sigaction before;
    uint64_t faults = UINT64_C(1) << (SIGSEGV - 1) | UINT64_C(1) << (SIGBUS - 1);
    if (os_handler_replace(SIGSEGV, on_fault, &before) &&
        os_handler_replace(SIGBUS, on_fault, &before))
        os_signals_set(~faults, NULL);
}

/* In the copy alone. A fault elsewhere ends it, as one that no mapping mends. */
static void on_fault(int number, siginfo_t *info, void *context)
{
    size_t page = os_page_size();
    uintptr_t at = (uintptr_t)info->si_addr & ~(uintptr_t)(page - 1);
    (void)number;
    (void)context;
    if (at < window.base || at - window.base >= load_acquire(&window.granules) * GRANULE ||
        !os_map_over((void *)at, page))
        os_exit(1);
}

/* SPDX-License-Identifier: MIT */
/*
 * mimalloc's arenas and subprocesses. An arena is a region (mimalloc_region.h), and heaps can be
 * made in it. A reservation without a number needs none: addresses are found when they are needed,
 * unless nothing else may be used. A subprocess is an owner (lib/alloc/owner.h) that is the default
 * of its threads.
 */
#include <errno.h>
#include <string.h>

#include "lib/alloc/alloc.h"
#include "lib/api/api.h"
#include "lib/faces/mimalloc/mimalloc.h"
#include "lib/faces/mimalloc/mimalloc_region.h"
#include "lib/watch/watch.h"

enum { ARENA_ALIGN = 64 << 10, ARENA_MIN = 64 << 10, HUGE_SHIFT = 30 };

static BULK struct owner first_process; /* only its address is used, as a handle of release 3 */

struct owner *mi_heap_main(void);

#pragma GCC diagnostic ignored "-Wunused-parameter"

static void tell(void *arena, int number);
static bool set_aside(const char *what, const struct region_wish *wish, void *arena);

FUNCTION(int, mi_reserve_os_memory_ex,
         (size_t size, bool commit, bool large, bool exclusive, void *arena))
{
    struct region_wish wish = {.bytes = size, .exclusive = exclusive};
    return set_aside("mi_reserve_os_memory_ex", &wish, arena) ? 0 : ENOMEM;
}

FUNCTION(int, mi_reserve_os_memory, (size_t size, bool commit, bool large))
{
    return mi_reserve_os_memory_ex(size, commit, large, false, NULL);
}

FUNCTION(bool, mi_manage_memory,
         (void *start, size_t size, bool committed, bool pinned, bool zero, int node,
          bool exclusive, region_commit *commit, void *arg, void *arena))
{
    struct region_wish wish = {.start = start,
                               .bytes = size,
                               .committed = committed,
                               .zero = zero,
                               .exclusive = exclusive,
                               .commit = commit,
                               .arg = arg};
    tell(arena, 0);
    return start != NULL && set_aside("mi_manage_memory", &wish, arena);
}

FUNCTION(bool, mi_manage_os_memory_ex,
         (void *start, size_t size, bool committed, bool large, bool zero, int node, bool exclusive,
          void *arena))
{
    return mi_manage_memory(start, size, committed, large, zero, node, exclusive, NULL, NULL,
                            arena);
}

FUNCTION(bool, mi_manage_os_memory,
         (void *start, size_t size, bool committed, bool large, bool zero, int node))
{
    return mi_manage_os_memory_ex(start, size, committed, large, zero, node, false, NULL);
}

/* Pages of 1 GiB, of which the system must have some: on any node. */
FUNCTION(int, mi_reserve_huge_os_pages_at_ex,
         (size_t pages, int node, size_t ms, bool exclusive, void *arena))
{
    struct region_wish wish = {.bytes = pages << HUGE_SHIFT, .exclusive = exclusive, .large = true};
    tell(arena, 0);
    if (pages == 0)
        return 0;
    return pages < PTRDIFF_MAX >> HUGE_SHIFT && set_aside("mi_reserve_huge_os_pages", &wish, arena)
               ? 0
               : ENOMEM;
}

FUNCTION(int, mi_reserve_huge_os_pages_at, (size_t pages, int node, size_t ms))
{
    return mi_reserve_huge_os_pages_at_ex(pages, node, ms, false, NULL);
}

FUNCTION(int, mi_reserve_huge_os_pages_interleave, (size_t pages, size_t nodes, size_t ms))
{
    return mi_reserve_huge_os_pages_at_ex(pages, -1, ms, false, NULL);
}

FUNCTION(int, mi_reserve_huge_os_pages, (size_t pages, double seconds, size_t *reserved))
{
    int error = mi_reserve_huge_os_pages_at_ex(pages, -1, 0, false, NULL);
    if (reserved != NULL)
        *reserved = error == 0 ? pages : 0;
    return error;
}

FUNCTION(void *, mi_arena_area, (intptr_t arena, size_t *size))
{
    size_t bytes;
    void *start = region_area((int)arena, &bytes);
    if (size != NULL)
        *size = bytes;
    return start;
}

FUNCTION(bool, mi_arena_contains, (intptr_t arena, const void *p))
{
    size_t bytes;
    const char *start = region_area((int)arena, &bytes);
    return start != NULL && (uintptr_t)p - (uintptr_t)start < bytes;
}

/* Arena numbers are ints in release 2 and pointers in release 3. */
static void tell(void *arena, int number)
{
    void *handle = (void *)(intptr_t)number;
    if (arena != NULL && mimalloc_release() >= 3)
        memcpy(arena, &handle, sizeof handle);
    else if (arena != NULL)
        memcpy(arena, &number, sizeof number);
}

static bool set_aside(const char *what, const struct region_wish *wish, void *arena)
{
    int number = region_new(wish);
    tell(arena, number);
    if (number == 0)
        mimalloc_warning("%s: no memory, or less than 64 KiB of it (%zu bytes at %p)", what,
                         wish->bytes, wish->start);
    return number != 0;
}

FUNCTION(size_t, mi_arena_min_alignment, (void))
{
    return ARENA_ALIGN;
}

FUNCTION(size_t, mi_arena_min_size, (void))
{
    return ARENA_MIN;
}

FUNCTION(struct owner *, mi_heap_new_in_arena, (intptr_t arena))
{
    return region_heap_new((int)arena, false);
}

/* The window, in the place of all other arenas, and the regions. */
static void print_arenas(void)
{
    char buffer[1024];
    struct print text;
    struct account account;
    if (!init_done())
        return;
    account_take(&account);
    print_start(&text, buffer, sizeof buffer);
    print_format(&text, "%sarena 0 at %p: %llu KiB, in use: %llu KiB\n",
                 mimalloc_release() >= 3 ? "" : "mimalloc: ", (void *)window.base,
                 (unsigned long long)account.mapped_bytes / 1024,
                 (unsigned long long)account.live_bytes / 1024);
    size_t bytes, used;
    for (int number = 1; region_used(number, &used); number++) {
        void *start = region_area(number, &bytes);
        print_format(&text, "%sarena %d at %p: %zu KiB, in use: %zu KiB\n",
                     mimalloc_release() >= 3 ? "" : "mimalloc: ", number, start, bytes / 1024,
                     used / 1024);
        if (number % 8 == 0)
            mimalloc_print(&text, NULL, NULL);
    }
    mimalloc_print(&text, NULL, NULL);
}

FUNCTION(void, mi_arenas_print, (void))
{
    print_arenas();
}

FUNCTION(void, mi_debug_show_arenas, (void))
{
    print_arenas();
}

FUNCTION(struct owner *, mi_subproc_main, (void))
{
    return mimalloc_release() >= 3 ? &first_process : NULL;
}

FUNCTION(struct owner *, mi_subproc_new, (void))
{
    return cold_owned_new(false);
}

static bool is_main(const struct owner *process)
{
    return process == NULL || process == &first_process;
}

/* Called by a thread before it allocates anything. */
FUNCTION(void, mi_subproc_add_current_thread, (struct owner * process))
{
    if (!is_main(process))
        cold_owned_default(process);
}

FUNCTION(struct owner *, mi_subproc_current, (void))
{
    struct owner *owner = heap_self == NULL ? NULL : heap_self->default_owner;
    return owner == NULL ? &first_process : owner;
}

/* Its threads have ended; what they left stays. */
FUNCTION(void, mi_subproc_delete, (struct owner * process))
{
    if (!is_main(process) && process->alive && !process->deleted)
        cold_owned_delete(process);
}

/* The same, and all its blocks are freed. */
FUNCTION(void, mi_subproc_destroy, (struct owner * process))
{
    struct caller caller = CALLER_HERE;
    if (!is_main(process) && process->alive && !process->deleted)
        cold_owned_destroy(process, &caller);
}

FUNCTION(bool, mi_subproc_visit_heaps,
         (struct owner * process, bool (*visit)(struct owner *heap, void *arg), void *arg))
{
    if (visit == NULL)
        return false;
    if (!is_main(process))
        return visit(process, arg);
    if (!visit(mi_heap_main(), arg))
        return false;
    for (struct owner *owner = owner_first(); owner != NULL; owner = owner->all)
        if (owner->alive && !owner->deleted && !visit(owner, arg))
            return false;
    return true;
}

bool mi_heap_stats_get(const struct owner *heap, size_t *stats);
char *mi_heap_stats_get_json(const struct owner *heap, size_t size, char *buffer);
void mi_heap_stats_print_out(const struct owner *heap, mimalloc_output *out, void *arg);

static struct owner *heap_in(struct owner *process)
{
    return is_main(process) ? mi_heap_main() : process;
}

FUNCTION(bool, mi_subproc_stats_get, (struct owner * process, size_t *stats))
{
    return mi_heap_stats_get(heap_in(process), stats);
}

FUNCTION(bool, mi_subproc_stats_get_exclusive, (struct owner * process, size_t *stats))
{
    return mi_heap_stats_get(heap_in(process), stats);
}

FUNCTION(char *, mi_subproc_stats_get_json, (struct owner * process, size_t size, char *buffer))
{
    return mi_heap_stats_get_json(heap_in(process), size, buffer);
}

FUNCTION(void, mi_subproc_stats_print_out,
         (struct owner * process, mimalloc_output *out, void *arg))
{
    mi_heap_stats_print_out(heap_in(process), out, arg);
}

FUNCTION(void, mi_subproc_heap_stats_print_out,
         (struct owner * process, mimalloc_output *out, void *arg))
{
    mi_heap_stats_print_out(heap_in(process), out, arg);
}

/* Of builds of mimalloc with MI_GUARDED; and a sum that needs no merging. */
#define ACCEPTED(name, args)   \
    FUNCTION(void, name, args) \
    {                          \
    }
ACCEPTED(mi_heap_guarded_set_sample_rate, (struct owner * heap, size_t rate, size_t seed))
ACCEPTED(mi_heap_guarded_set_size_bound, (struct owner * heap, size_t min, size_t max))
ACCEPTED(mi_theap_guarded_set_sample_rate, (struct owner * heap, size_t rate, size_t seed))
ACCEPTED(mi_theap_guarded_set_size_bound, (struct owner * heap, size_t min, size_t max))
ACCEPTED(mi_heap_stats_merge_to_subproc, (struct owner * heap))

/* SPDX-License-Identifier: MIT */
/* The calls of include/memoir/memoir.h that are about leaks. */
#include "include/memoir/memoir.h"

#include <string.h>

#include "base/compiler.h"
#include "base/message.h"
#include "base/os.h"
#include "lib/api/api.h"
#include "lib/control/control.h"
#include "lib/heap/observer.h"
#include "lib/watch/watch.h"

enum { FRAMES_MAX = 1024 }; /* more than heap.depth allows */

struct room {
    void *frames[FRAMES_MAX];
};

static NOINLINE bool leaks_tell(struct memoir_leaks *out, size_t size,
                                void (*each)(const struct memoir_leak *leak, void *context),
                                void *context, const struct roots_thread *here);
static struct memoir_leak_sum sum_of(const struct scan_sum *sum);
static void rows_tell(const struct scan_result *result,
                      void (*each)(const struct memoir_leak *leak, void *context), void *context);
static bool refuse(void);

/* Its frame counts as the program's: it has nothing but what is noted here. Other variables would
 * lie where dead frames left old pointers. */
EXPORT bool memoir_leaks(struct memoir_leaks *out, size_t size,
                         void (*each)(const struct memoir_leak *leak, void *context), void *context)
{
    struct roots_thread here = {0};
    roots_here(&here);
    return leaks_tell(out, size, each, context, &here);
}

static NOINLINE bool leaks_tell(struct memoir_leaks *out, size_t size,
                                void (*each)(const struct memoir_leak *leak, void *context),
                                void *context, const struct roots_thread *here)
{
    struct leak_request request = leaks_request();
    request.here = here;
    const struct leak_scan *scan = init_done() ? leaks_find(&request) : NULL;
    if (scan == NULL)
        return refuse();
    const struct scan_result *result = &scan->result;
    struct memoir_leaks leaks = {
        .definite = sum_of(&result->definite),
        .indirect = sum_of(&result->indirect),
        .possible = sum_of(&result->possible),
        .reachable = sum_of(&result->reachable),
        .took_us = scan->took_us,
        .stood_us = scan->stood_us,
        .threads = scan->threads,
        .silent_threads = scan->silent,
        .own_bytes = scan->own_bytes,
        .copied_bytes = scan->copied_bytes,
        .in_place = scan->in_place,
    };
    if (size > sizeof leaks)
        memset((char *)out + sizeof leaks, 0, size - sizeof leaks);
    memcpy(out, &leaks, size < sizeof leaks ? size : sizeof leaks);
    if (each != NULL)
        rows_tell(result, each, context);
    leak_last_end();
    return true;
}

EXPORT bool memoir_leak_ignore(const void *block)
{
    return leaks_ignore(block);
}

EXPORT bool memoir_leak_unignore(const void *block)
{
    return leaks_ignore_end(block);
}

EXPORT bool memoir_leak_root(const void *start, size_t size)
{
    return leaks_root(start, size);
}

EXPORT bool memoir_leak_unroot(const void *start, size_t size)
{
    return leaks_root_end(start, size);
}

EXPORT void memoir_leak_disable(void)
{
    track_set_thread_kept(1);
}

EXPORT void memoir_leak_enable(void)
{
    track_set_thread_kept(-1);
}

static struct memoir_leak_sum sum_of(const struct scan_sum *sum)
{
    return (struct memoir_leak_sum){sum->blocks, sum->bytes};
}

static uint32_t stack_fill(struct room *room, const struct scan_row *row)
{
    uint32_t count = 0, stack = track_stack(row->site);
    while (room != NULL && stack > STACK_OTHER && count < FRAMES_MAX) {
        uintptr_t pc = 0;
        stacks_node(stack, &stack, &pc);
        room->frames[count++] = (void *)pc;
    }
    return count;
}

static void rows_tell(const struct scan_result *result,
                      void (*each)(const struct memoir_leak *leak, void *context), void *context)
{
    struct room *room = os_map(sizeof *room);
    for (unsigned i = 0; i < SCAN_ROWS; i++) {
        const struct scan_row *row = &result->rows[i];
        if (!row->used)
            continue;
        struct memoir_leak leak = {
            .definite = sum_of(&row->definite),
            .indirect = sum_of(&row->indirect),
            .possible = sum_of(&row->possible),
            .owned = sum_of(&row->owned),
            .requested_bytes = row->requested_bytes,
            .cycles = row->cycles,
            .example = (const void *)row->example,
            .example_bytes = row->size,
            .stack = room == NULL ? NULL : room->frames,
            .frames = stack_fill(room, row),
        };
        each(&leak, context);
    }
    if (room != NULL)
        os_unmap(room, sizeof *room);
}

static bool refuse(void)
{
    message_format("memoir: memoir_leaks: %s\n", leaks_refusal());
    return false;
}

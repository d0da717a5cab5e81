/* SPDX-License-Identifier: MIT */
/* The text of LeakSanitizer: leaks by stack, direct ones first, the largest first, and a summary.
 * Blocks that an indirect leak hangs on are not told: a stack is what both have in common. */
#include "base/message.h"
#include "base/os.h"
#include "lib/faces/lsan/lsan.h"
#include "lib/heap/observer.h"
#include "lib/watch/watch.h"

enum { FRAMES_MAX = 256 }; /* the highest heap.depth */

static unsigned leaks_gather(struct leaks_stack *leaks, const struct scan_result *result);
static bool is_suppressed(const struct leaks_stack *leak);
static void leak_print(const struct leaks_stack *leak, const struct scan_result *result);

uint64_t lsan_report(const struct leak_scan *scan)
{
    size_t room = (size_t)2 * SCAN_ROWS * sizeof(struct leaks_stack);
    struct leaks_stack *leaks = os_map(room);
    uint64_t bytes = 0, objects = 0;
    unsigned count = leaks == NULL ? 0 : leaks_gather(leaks, &scan->result), counted = 0, shown = 0;
    for (unsigned i = 0; i < count; i++) {
        leaks[i].suppressed = is_suppressed(&leaks[i]);
        bytes += leaks[i].suppressed ? 0 : leaks[i].bytes;
        objects += leaks[i].suppressed ? 0 : leaks[i].objects;
        counted += !leaks[i].suppressed;
    }
    bool some = lsan_options.leaks_max > 0 && counted > lsan_options.leaks_max;
    if (objects > 0)
        message_format("\n=================================================================\n"
                       "==%d==ERROR: LeakSanitizer: detected memory leaks\n\n",
                       (int)os_pid());
    if (some)
        message_format("The %u top leak(s):\n", lsan_options.leaks_max);
    for (unsigned i = 0; i < count; i++)
        if (!leaks[i].suppressed &&
            (lsan_options.leaks_max == 0 || shown++ < lsan_options.leaks_max))
            leak_print(&leaks[i], &scan->result);
    if (some)
        message_format("Omitting %u more leak(s).\n", counted - lsan_options.leaks_max);
    if (lsan_options.print_suppressions)
        lsan_suppress_print();
    if (objects > 0)
        message_format("SUMMARY: LeakSanitizer: %lu byte(s) leaked in %lu allocation(s).\n",
                       (unsigned long)bytes, (unsigned long)objects);
    if (leaks != NULL)
        os_unmap(leaks, room);
    return bytes;
}

static unsigned leaks_gather(struct leaks_stack *leaks, const struct scan_result *result)
{
    unsigned count = 0;
    for (unsigned i = 0; i < SCAN_ROWS; i++) {
        const struct scan_row *row = &result->rows[i];
        uint32_t stack = row->used ? track_stack(row->site) : 0;
        if (row->definite.blocks > 0)
            leaks[count++] = (struct leaks_stack){
                .stack = stack, .bytes = row->definite_requested, .objects = row->definite.blocks};
        if (row->indirect.blocks > 0)
            leaks[count++] =
                (struct leaks_stack){.stack = stack,
                                     .indirect = true,
                                     .bytes = row->requested_bytes - row->definite_requested,
                                     .objects = row->indirect.blocks};
    }
    return leaks_by_stack(leaks, count);
}

static bool is_suppressed(const struct leaks_stack *leak)
{
    struct code_name name;
    unsigned frames = 0;
    for (uint32_t node = leak->stack; node > STACK_OTHER && frames < FRAMES_MAX; frames++) {
        uintptr_t pc = 0;
        stacks_node(node, &node, &pc);
        leaks_name(pc, false, &name);
        if (lsan_suppress_fits(name.function, name.module, leak->objects, leak->bytes))
            return true;
    }
    return false;
}

static void leak_print(const struct leaks_stack *leak, const struct scan_result *result)
{
    unsigned frames = 0;
    message_format("%s leak of %lu byte(s) in %lu object(s) allocated from:\n",
                   leak->indirect ? "Indirect" : "Direct", (unsigned long)leak->bytes,
                   (unsigned long)leak->objects);
    for (uint32_t node = leak->stack; node > STACK_OTHER && frames < FRAMES_MAX; frames++) {
        struct code_name name;
        uintptr_t pc = 0;
        stacks_node(node, &node, &pc);
        leaks_name(pc, false, &name);
        message_format("    #%u 0x%lx %s%s (%s+0x%lx)\n", frames, (unsigned long)pc,
                       name.function[0] != '\0' ? "in " : "", name.function,
                       name.module[0] != '\0' ? name.module : "<unknown module>",
                       (unsigned long)name.offset);
    }
    if (frames == 0)
        message_format("    <empty stack>\n");
    message_format("\n");
    if (!lsan_options.report_objects)
        return;
    message_format("Objects leaked above:\n");
    for (unsigned i = 0; i < result->lost_count && i < SCAN_LOST_MAX; i++)
        if (track_stack(result->lost[i].site) == leak->stack)
            message_format("0x%lx (%lu bytes)\n", (unsigned long)result->lost[i].start,
                           (unsigned long)result->lost[i].requested);
    message_format("\n");
}

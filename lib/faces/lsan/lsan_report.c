/* SPDX-License-Identifier: MIT */
/* The text of LeakSanitizer: leaks by stack, direct ones first, the largest first, and a summary.
 * Blocks that an indirect leak hangs on are not told: a stack is what both have in common. */
#include <fcntl.h>
#include <string.h>

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
        lsan_say("\n=================================================================\n"
                 "==%d==ERROR: LeakSanitizer: detected memory leaks\n\n",
                 (int)os_pid());
    if (some)
        lsan_say("The %u top leak(s):\n", lsan_options.leaks_max);
    for (unsigned i = 0; i < count; i++)
        if (!leaks[i].suppressed &&
            (lsan_options.leaks_max == 0 || shown++ < lsan_options.leaks_max))
            leak_print(&leaks[i], &scan->result);
    if (some)
        lsan_say("Omitting %u more leak(s).\n", counted - lsan_options.leaks_max);
    if (lsan_options.print_suppressions)
        lsan_suppress_print();
    if (objects > 0)
        lsan_say("SUMMARY: LeakSanitizer: %lu byte(s) leaked in %lu allocation(s).\n",
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
    lsan_say("%s leak of %lu byte(s) in %lu object(s) allocated from:\n",
             leak->indirect ? "Indirect" : "Direct", (unsigned long)leak->bytes,
             (unsigned long)leak->objects);
    for (uint32_t node = leak->stack; node > STACK_OTHER && frames < FRAMES_MAX; frames++) {
        struct code_name name;
        uintptr_t pc = 0;
        stacks_node(node, &node, &pc);
        leaks_name(pc, false, &name);
        lsan_say("    #%u 0x%lx %s%s (%s+0x%lx)\n", frames, (unsigned long)pc,
                 name.function[0] != '\0' ? "in " : "", name.function,
                 name.module[0] != '\0' ? name.module : "<unknown module>",
                 (unsigned long)name.offset);
    }
    if (frames == 0)
        lsan_say("    <empty stack>\n");
    lsan_say("\n");
    if (!lsan_options.report_objects)
        return;
    lsan_say("Objects leaked above:\n");
    for (unsigned i = 0; i < result->lost_count && i < SCAN_LOST_MAX; i++)
        if (track_stack(result->lost[i].site) == leak->stack)
            lsan_say("0x%lx (%lu bytes)\n", (unsigned long)result->lost[i].start,
                     (unsigned long)result->lost[i].requested);
    lsan_say("\n");
}

/* The file of this process's reports, or -1: standard error. One of the parent's is not shared. */
static int log_open(void)
{
    static int fd = -1;
    static pid_t owner;
    char path[sizeof lsan_options.log_path + 16];
    struct print name;
    const char *log = lsan_options.log_path;
    if (strcmp(log, "stdout") == 0)
        return 1;
    if (log[0] == '\0' || strcmp(log, "stderr") == 0 || owner == os_pid())
        return fd;
    owner = os_pid();
    print_start(&name, path, sizeof path);
    print_text(&name, log);
    print_char(&name, '.');
    print_unsigned(&name, (uint64_t)owner);
    fd = os_open(print_string(&name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        message_format("==%d==LeakSanitizer: can't open file: %s\n", (int)owner, path);
    return fd;
}

void lsan_say(const char *format, ...)
{
    char text[MESSAGE_SIZE];
    struct print line;
    va_list list;
    int fd = log_open();
    print_start(&line, text, sizeof text);
    va_start(list, format);
    print_list(&line, format, list);
    va_end(list);
    if (fd < 0)
        message_flush(&line);
    else
        print_flush(&line, fd);
}

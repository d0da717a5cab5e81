/* SPDX-License-Identifier: MIT */
/* See lib/control/stats.h. */
#include "lib/control/stats.h"

#include "base/message.h"
#include "base/os.h"
#include "base/print.h"
#include "lib/alloc/alloc.h"
#include "lib/api/api.h"
#include "lib/guard/guard.h"
#include "lib/heap/observer.h"
#include "lib/leak/leak.h"
#include "lib/watch/watch.h"

static void row(struct print *out, const char *name, uint64_t bytes, const char *meaning);

void stats_text(struct print *out)
{
    struct account a;
    struct track_seen profile;
    account_take(&a);
    account_ask_kernel(&a, true);
    track_seen(&profile);
    print_format(out,
                 "memoir: process %d: %lu blocks allocated, %lu freed, %lu live; %lu samples, "
                 "%lu live\n",
                 (int)os_pid(), a.total.allocs, a.total.frees, a.live_blocks, profile.allocated,
                 profile.live);
    row(out, "allocated", a.total.alloc_bytes, "in all, since the start");
    row(out, "live", a.live_bytes, "in the program's hands");
    row(out, "cached", a.cached_bytes, "free blocks kept by threads");
    row(out, "fragmented", a.fragmented_bytes, "free blocks in spans that are in use");
    row(out, "dirty", a.dirty_bytes, "free pages kept for reuse");
    row(out, "metadata", a.metadata_bytes, "memoir's own tables");
    row(out, "resident", a.resident_bytes, "of all this in memory now");
    row(out, "mapped", a.mapped_bytes, "address space");
    row(out, "returned", a.returned_bytes, "given back to the kernel, in all");
    if (guard_debug) {
        struct debug_queue_sums queue = debug_queue_sums();
        print_format(out, "  %lu freed blocks, %lu bytes, wait in the queue of the option debug\n",
                     queue.blocks, queue.bytes);
    }
    struct cells_sums cells = cells_sums();
    struct report_counts errors = report_counts();
    if (cells.blocks + cells.quarantine_bytes != 0)
        print_format(out,
                     "  %lu guarded blocks, %lu bytes with their pages; %lu bytes of addresses in "
                     "quarantine\n",
                     cells.blocks, cells.bytes, cells.quarantine_bytes);
    if (errors.errors != 0)
        print_format(out, "  %lu errors found by guard or debug, %lu of them suppressed\n",
                     errors.errors, errors.suppressed);
    if (mismatch_count() != 0)
        print_format(out, "  %lu deletes with a size or an alignment that was not the block's\n",
                     mismatch_count());
}

void stats_print(int fd)
{
    char buffer[STATS_SIZE];
    struct print out;
    print_start(&out, buffer, sizeof buffer);
    stats_text(&out);
    if (fd == STATS_MESSAGE)
        message_flush(&out);
    else
        print_flush(&out, fd);
}

static void row(struct print *out, const char *name, uint64_t bytes, const char *meaning)
{
    size_t from = print_length(out);
    print_format(out, "  %s", name);
    print_left(out, from, 14);
    from = print_length(out);
    print_size(out, bytes);
    print_right(out, from, 12);
    print_format(out, "   %s\n", meaning);
}

void stats_mappings(struct sink *out)
{
    struct scan_range ranges[LEAK_MEMORIES + 1];
    leak_memory(ranges);
    mirror_range(&ranges[LEAK_MEMORIES].start, &ranges[LEAK_MEMORIES].end);
    for (unsigned i = 0; i < LEAK_MEMORIES + 1; i++)
        if (ranges[i].start != 0)
            sink_format(out, "own.%u:%lx-%lx\n", i, (unsigned long)ranges[i].start,
                        (unsigned long)ranges[i].end);
}

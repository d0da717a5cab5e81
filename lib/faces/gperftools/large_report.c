/* SPDX-License-Identifier: MIT */
/*
 * TCMALLOC_LARGE_ALLOC_REPORT_THRESHOLD: a line on standard error for each block of at least that
 * size, with its stack, in gperftools' words. Each line raises the threshold by an eighth, up to
 * 8 GiB, so that a program that allocates such blocks again and again does not fill its log.
 */
#include "base/message.h"
#include "base/print.h"
#include "lib/api/api.h"
#include "lib/faces/gperftools/gperftools.h"
#include "lib/watch/watch.h"

enum { FRAMES = 32, LINE_SIZE = 1024 }; /* a line of 32 addresses */
#define THRESHOLD_MAX ((size_t)8 << 30) /* up to here the threshold doubles, as in gperftools */

static void told(const void *block, size_t size, const struct caller *caller);

void large_report_start(uint64_t bytes)
{
    store_relaxed(&hooks_large.bytes, (size_t)bytes);
    store_release(&hooks_large.told, told);
}

/* One thread at a time raises the threshold; the others have told of their blocks already. */
static void told(const void *block, size_t size, const struct caller *caller)
{
    static const struct own_stack nothing;
    size_t bytes = load_relaxed(&hooks_large.bytes), more = bytes + bytes / 8;
    if (size < bytes)
        return;
    if (more > THRESHOLD_MAX)
        more = bytes > THRESHOLD_MAX ? bytes : THRESHOLD_MAX;
    __atomic_compare_exchange_n(&hooks_large.bytes, &bytes, more, false, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
    char text[LINE_SIZE];
    struct print line;
    print_start(&line, text, sizeof text);
    print_format(&line, "tcmalloc: large alloc %zu bytes == 0x", cold_usable(block));
    print_hex(&line, (uintptr_t)block);
    print_text(&line, " @ ");
    struct walk *walk = walks_take(WALKS_UNOWNED, &nothing);
    if (walk != NULL) {
        unwind(walk, caller, FRAMES);
        for (uint32_t i = walk->count; i-- > 0;) {
            print_text(&line, " 0x");
            print_hex(&line, walk->pcs[i]);
        }
        walks_give(walk);
    }
    print_char(&line, '\n');
    message_flush(&line);
}

/* SPDX-License-Identifier: MIT */
/*
 * glibc's questions about its heap, answered for ours. They must be ours, since glibc's own
 * versions would describe (or trim) a heap that nobody uses. The structures are glibc's, declared
 * here because other C libraries have none.
 */
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>

#include "base/print.h"
#include "lib/alloc/alloc.h"
#include "lib/api/api.h"
#include "lib/api/cold.h"
#include "lib/api/stats.h"

/* In glibc's order: arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost.
 */
struct info {
    int arena, chunks, fast_chunks, mapped_blocks, mapped_bytes, highest, fast_bytes, used, free,
        top;
};
struct info2 {
    size_t arena, chunks, fast_chunks, mapped_blocks, mapped_bytes, highest, fast_bytes, used, free,
        top;
};

struct info mallinfo(void);
struct info2 mallinfo2(void);
struct info tc_mallinfo(void);
struct info2 tc_mallinfo2(void);
int mallopt(int option, int value);
int malloc_trim(size_t keep);
void malloc_stats(void);
int malloc_info(int options, FILE *out);

EXPORT struct info2 mallinfo2(void)
{
    struct info2 info = {0};
    if (!init_done())
        return info;
    struct account a;
    account_take(&a);
    info.arena = a.mapped_bytes;
    info.chunks = (size_t)(a.fragmented_bytes > 0) + (a.dirty_bytes > 0);
    info.used = a.live_bytes;
    info.fast_bytes = a.cached_bytes;
    info.free = a.cached_bytes + a.fragmented_bytes + a.dirty_bytes;
    info.top = a.dirty_bytes;
    return info;
}

static int clamp(size_t value)
{
    return value > INT_MAX ? INT_MAX : (int)value;
}

EXPORT struct info mallinfo(void)
{
    struct info2 info = mallinfo2();
    return (struct info){clamp(info.arena),        clamp(info.chunks),
                         clamp(info.fast_chunks),  clamp(info.mapped_blocks),
                         clamp(info.mapped_bytes), clamp(info.highest),
                         clamp(info.fast_bytes),   clamp(info.used),
                         clamp(info.free),         clamp(info.top)};
}

/* tcmalloc's names. */
EXPORT struct info tc_mallinfo(void) __attribute__((alias("mallinfo")));
EXPORT struct info2 tc_mallinfo2(void) __attribute__((alias("mallinfo2")));

/* Every option of glibc's heap is accepted: none has a counterpart that a program could miss. */
EXPORT int mallopt(int option, int value)
{
    (void)option;
    (void)value;
    return 1;
}

EXPORT int malloc_trim(size_t keep)
{
    (void)keep;
    int before = errno;
    int done = cold_trim() > 0;
    errno = before;
    return done;
}

EXPORT void malloc_stats(void)
{
    if (init_done())
        stats_print(2);
}

EXPORT int malloc_info(int options, FILE *out)
{
    if (options != 0)
        return EINVAL;
    if (!init_done())
        return ENOMEM;
    char buffer[1024];
    struct print text;
    struct account a;
    account_take(&a);
    print_start(&text, buffer, sizeof buffer);
    print_format(&text,
                 "<malloc version=\"1\">\n<heap nr=\"0\">\n<sizes>\n</sizes>\n"
                 "<total type=\"fast\" count=\"0\" size=\"%lu\"/>\n"
                 "<total type=\"rest\" count=\"0\" size=\"%lu\"/>\n"
                 "<system type=\"current\" size=\"%lu\"/>\n<system type=\"max\" size=\"%lu\"/>\n"
                 "<aspace type=\"total\" size=\"%lu\"/>\n<aspace type=\"mprotect\" size=\"%lu\"/>\n"
                 "</heap>\n",
                 a.cached_bytes, a.fragmented_bytes + a.dirty_bytes, a.resident_bytes,
                 a.resident_bytes, a.mapped_bytes, a.mapped_bytes);
    print_format(&text,
                 "<total type=\"live\" count=\"%lu\" size=\"%lu\"/>\n"
                 "<total type=\"allocated\" count=\"%lu\" size=\"%lu\"/>\n</malloc>\n",
                 a.live_blocks, a.live_bytes, a.total.allocs, a.total.alloc_bytes);
    size_t length = print_length(&text);
    return fwrite(buffer, 1, length, out) == length ? 0 : EIO;
}

/* SPDX-License-Identifier: MIT */
/*
 * glibc's functions about its heap, answered for ours. They must be ours, because glibc's versions
 * would describe (or trim) a heap that is not used. The structures are glibc's, declared here
 * because other C libraries have none.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

#include "base/print.h"
#include "lib/alloc/alloc.h"
#include "lib/api/api.h"
#include "lib/control/stats.h"

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

/* Every option of glibc's heap is accepted: none has a counterpart that a program could miss. The
 * only value that glibc refuses is a too large limit of fast bins. */
EXPORT int mallopt(int option, int value)
{
    enum { FAST_BYTES = 1, FAST_BYTES_MAX = 160 }; /* M_MXFAST */
    return option != FAST_BYTES || (value >= 0 && value <= FAST_BYTES_MAX);
}

EXPORT int malloc_trim(size_t keep)
{
    (void)keep;
    int before = errno;
    int done = cold_trim() > 0;
    errno = before;
    return done;
}

static void row(struct print *out, const char *name, size_t value)
{
    print_text(out, name);
    size_t from = print_length(out);
    print_unsigned(out, value);
    print_right(out, from, 10);
    print_char(out, '\n');
}

/*
 * Our lines, then glibc's eight: programs search for those from the end, and through the stream
 * stderr, which they may have replaced. Everything is one write of less than 1 KiB, because some
 * programs have a buffer of that size. The thread can't be cancelled in here. No block is a mapping
 * of its own.
 */
EXPORT void malloc_stats(void)
{
    char buffer[STATS_SIZE];
    struct print out;
    int state;
    if (!init_done())
        return;
    struct info2 info = mallinfo2();
    print_start(&out, buffer, sizeof buffer);
    stats_text(&out);
    print_text(&out, "Arena 0:\n");
    for (int total = 0; total < 2; total++) {
        print_text(&out, total ? "Total (incl. mmap):\n" : "");
        row(&out, "system bytes     = ", info.arena);
        row(&out, "in use bytes     = ", info.used);
    }
    row(&out, "max mmap regions = ", 0);
    row(&out, "max mmap bytes   = ", 0);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    fwrite(buffer, 1, print_length(&out), stderr);
    pthread_setcancelstate(state, &state);
}

/* Of the one heap, and of all. */
static void totals(struct print *text, const struct account *a, const char *mapped)
{
    print_format(
        text,
        "<total type=\"fast\" count=\"0\" size=\"%lu\"/>\n"
        "<total type=\"rest\" count=\"0\" size=\"%lu\"/>\n%s"
        "<system type=\"current\" size=\"%lu\"/>\n<system type=\"max\" size=\"%lu\"/>\n"
        "<aspace type=\"total\" size=\"%lu\"/>\n<aspace type=\"mprotect\" size=\"%lu\"/>\n",
        a->cached_bytes, a->fragmented_bytes + a->dirty_bytes, mapped, a->resident_bytes,
        a->resident_bytes, a->mapped_bytes, a->mapped_bytes);
}

EXPORT int malloc_info(int options, FILE *out)
{
    if (options != 0)
        return EINVAL;
    if (!init_done())
        return ENOMEM;
    char buffer[2048];
    struct print text;
    struct account a;
    account_take(&a);
    print_start(&text, buffer, sizeof buffer);
    print_text(&text, "<malloc version=\"1\">\n<heap nr=\"0\">\n<sizes>\n</sizes>\n");
    totals(&text, &a, "");
    print_text(&text, "</heap>\n");
    totals(&text, &a, "<total type=\"mmap\" count=\"0\" size=\"0\"/>\n");
    print_format(&text,
                 "<total type=\"live\" count=\"%lu\" size=\"%lu\"/>\n"
                 "<total type=\"allocated\" count=\"%lu\" size=\"%lu\"/>\n</malloc>\n",
                 a.live_blocks, a.live_bytes, a.total.allocs, a.total.alloc_bytes);
    size_t length = print_length(&text);
    return fwrite(buffer, 1, length, out) == length ? 0 : EIO;
}

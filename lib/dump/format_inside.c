/* SPDX-License-Identifier: MIT */
/* See lib/dump/format_inside.h. */
#include "lib/dump/format_inside.h"

#include "base/file/maps.h"
#include "base/print.h"
#include "lib/heap/observer.h"
#include "lib/watch/watch.h"

void estimate_add(struct estimate *sum, uint64_t objects, uint64_t bytes, double weight)
{
    sum->objects += (double)objects * weight;
    sum->bytes += (double)bytes * weight;
    sum->seen_objects += objects;
    sum->seen_bytes += bytes;
}

struct pair estimate_pair(const struct estimate *sum, int64_t rate)
{
    if (sum->objects <= 0)
        return (struct pair){0, 0};
    double share = sampler_picked(sum->bytes / sum->objects, rate);
    struct pair pair = {scale_round(sum->objects * share), scale_round(sum->bytes * share)};
    if (pair.objects == 0 && pair.bytes > 0) /* the reader divides by the number of objects */
        pair.objects = 1;
    return pair;
}

struct pair estimate_seen(const struct estimate *sum)
{
    return (struct pair){sum->seen_objects, sum->seen_bytes};
}

static void larger_rate(void *context, const struct track_row *row)
{
    int64_t *largest = context;
    *largest = row->rate > *largest ? row->rate : *largest;
}

int64_t format_rate(void)
{
    int64_t rate = sampler_rate();
    if (rate >= 0)
        return rate;
    rate = 0;
    track_each(larger_rate, &rate);
    return rate;
}

void format_frames(struct sink *sink, uint32_t stack, unsigned digits)
{
    static BULK uintptr_t pcs[WALK_MAX]; /* one writer at a time; static, because the stack may
                                             be small */
    unsigned count = stacks_frames(stack, pcs, WALK_MAX);
    /* Readers subtract one from every return address but the first, which they take for an address
     * in an allocator's function. Without this adjustment the leaf would be the line after the
     * call. */
    if (count == 0)
        pcs[count++] = 1;
    else
        pcs[0]--;
    format_addresses(sink, pcs, count, digits);
}

void format_addresses(struct sink *sink, const uintptr_t *pcs, unsigned count, unsigned digits)
{
    for (unsigned i = 0; i < count; i++) {
        char text[3 + 16];
        struct print print;
        print_start(&print, text, sizeof text);
        print_text(&print, " 0x");
        for (unsigned missing = digits; missing > 1 && pcs[i] >> (4 * (missing - 1)) == 0;
             missing--)
            print_char(&print, '0');
        print_hex(&print, pcs[i]);
        sink_bytes(sink, text, print_length(&print));
    }
}

void format_libraries(struct sink *sink)
{
    static BULK struct maps scratch; /* dumps are written one after the other */
    maps_copy(&scratch, sink, "\nMAPPED_LIBRARIES:\n");
}

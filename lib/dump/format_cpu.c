/* SPDX-License-Identifier: MIT */
/*
 * gperftools' CPU profile: machine words. A head (0, 3, 0, the period in microseconds, 0); for each
 * stack how many periods it was found for, how many addresses follow, and these, leaf first; an end
 * (0, 1, 0); then what is mapped, as text. Readers take one off all addresses but the first.
 */
#include "lib/dump/format_inside.h"

#include "base/compiler.h"
#include "base/file/maps.h"
#include "lib/cpu/cpu.h"
#include "lib/dump/dump.h"
#include "lib/watch/watch.h"

enum { DEPTH_MAX = 254 }; /* that readers take */

struct writer {
    struct sink *sink;
    uint64_t period_ns;
    struct dump_cpu_sums sums;
};

static struct dump_cpu_sums last;

struct dump_cpu_sums dump_cpu_sums(void)
{
    return last;
}

static void put(struct writer *writer, const uintptr_t *words, unsigned count)
{
    sink_bytes(writer->sink, words, count * sizeof *words);
    writer->sums.bytes += count * sizeof *words;
}

static void put_row(void *context, const struct cpu_row *row)
{
    static BULK uintptr_t words[2 + DEPTH_MAX]; /* one writer at a time; stacks may be small */
    struct writer *writer = context;
    unsigned depth = stacks_frames(row->stack, words + 2, DEPTH_MAX);
    uint64_t count = (row->ns + writer->period_ns / 2) / writer->period_ns;
    writer->sums.samples += row->samples;
    if (count == 0)
        return;
    if (depth == 0)
        words[2 + depth++] = 1;
    words[0] = count;
    words[1] = depth;
    words[2]--; /* the exact address: nothing called it */
    put(writer, words, 2 + depth);
}

int format_cpu(const struct format_options *options, struct sink *sink)
{
    static BULK struct maps maps;
    uintptr_t period_us = 1000000 / cpu_rate();
    struct writer writer = {.sink = sink, .period_ns = period_us * 1000};
    put(&writer, (const uintptr_t[]){0, 3, 0, period_us, 0}, 5);
    cpu_settle();
    samples_each(put_row, &writer, options->since_mark);
    put(&writer, (const uintptr_t[]){0, 1, 0}, 3);
    last = writer.sums;
    maps_copy(&maps, sink, "");
    return sink->error;
}

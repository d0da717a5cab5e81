/* SPDX-License-Identifier: MIT */
/*
 * The text of gperftools' heap profiler:
 *
 *     heap profile:     12:    49152 [    40:   163840] @ heapprofile
 *         12:    49152 [    40:   163840] @ 0x55d0c0de1234 0x7f00c0ffee00
 *
 *     MAPPED_LIBRARIES:
 *
 * In use, in brackets allocated in all; one line a stack, those with most bytes in use first. Bytes
 * are as asked for. A sampled profile says `heap_v2/RATE` instead of `heapprofile`, and readers
 * scale it. The profile of growth says `growth`: bytes that the heap became larger by, the latest
 * first.
 */
#include "lib/dump/format_inside.h"

#include "base/os.h"
#include "base/print.h"

/* Lines that are sorted at most, 1 million: further ones are written unsorted. Spare: for stacks
 * that are added while the dump is written. */
enum { BUCKETS_MAX = 1 << 20, BUCKETS_SPARE = 1024 };

struct bucket {
    uint32_t stack;
    struct estimate live, allocated;
};

struct line {
    uint32_t stack;
    struct pair live, allocated;
};

struct writer {
    struct sink *sink;
    int64_t rate;
    struct bucket bucket; /* the stack that is being summed up */
    struct line *lines;   /* to be sorted; if the array is full, lines are written unsorted */
    size_t count, max, stacks;
    bool started;
    struct estimate live, allocated;
};

static void count_row(void *context, const struct track_row *row);
static void numbers(struct sink *sink, struct pair live, struct pair allocated);
static void write_line(struct writer *writer, const struct line *line);
static void end_bucket(struct writer *writer);
static void add_row(void *context, const struct track_row *row);
static void sort(struct line *lines, size_t count);
static void count_growth(void *context, const struct growth *growth);
static void write_growth(void *context, const struct growth *growth);

int format_gperftools(const struct format_options *options, struct sink *sink)
{
    struct writer writer = {.sink = sink, .rate = format_rate()};
    (void)options;
    track_each(count_row, &writer);
    sink_text(sink, "heap profile: ");
    numbers(sink, estimate_pair(&writer.live, writer.rate),
            estimate_pair(&writer.allocated, writer.rate));
    if (writer.rate > 0)
        sink_format(sink, " heap_v2/%ld\n", (long)writer.rate);
    else
        sink_text(sink, " heapprofile\n");

    writer.max = writer.stacks < BUCKETS_MAX ? writer.stacks + BUCKETS_SPARE : BUCKETS_MAX;
    size_t size = writer.max * sizeof *writer.lines;
    writer.lines = os_map(size);
    writer.max = writer.lines == NULL ? 0 : writer.max;
    writer.bucket = (struct bucket){0};
    track_each(add_row, &writer);
    if (writer.started)
        end_bucket(&writer);
    sort(writer.lines, writer.count);
    for (size_t i = 0; i < writer.count; i++)
        write_line(&writer, &writer.lines[i]);
    if (writer.lines != NULL)
        os_unmap(writer.lines, size);
    format_libraries(sink);
    return sink->error;
}

int format_growth(const struct format_options *options, struct sink *sink)
{
    struct pair all = {0, 0};
    (void)options;
    growth_each(count_growth, &all);
    sink_text(sink, "heap profile: ");
    numbers(sink, all, all);
    sink_text(sink, " growth\n");
    growth_each(write_growth, sink);
    format_libraries(sink);
    return sink->error;
}

static void count_growth(void *context, const struct growth *growth)
{
    struct pair *all = context;
    all->objects += growth->times;
    all->bytes += growth->bytes;
}

static void write_growth(void *context, const struct growth *growth)
{
    struct sink *sink = context;
    struct pair pair = {growth->times, growth->bytes};
    uintptr_t pcs[GROWTH_DEPTH] = {1};
    for (uint32_t i = 0; i < growth->depth; i++)
        pcs[i] = growth->pcs[i] - (i == 0); /* as in `format_frames` */
    numbers(sink, pair, pair);
    format_addresses(sink, pcs, growth->depth == 0 ? 1 : growth->depth, 8);
    sink_text(sink, "\n");
}

static void count_row(void *context, const struct track_row *row)
{
    struct writer *writer = context;
    if (writer->stacks == 0 || row->stack != writer->bucket.stack)
        writer->stacks++;
    writer->bucket.stack = row->stack;
    estimate_add(&writer->live, row->live.objects, row->live.requested, row->weight);
    estimate_add(&writer->allocated, row->allocated.objects, row->allocated.requested, row->weight);
}

static void number(struct print *print, uint64_t value, size_t width)
{
    size_t from = print_length(print);
    print_unsigned(print, value);
    print_right(print, from, width);
}

/* "     1:        2 [     3:        4] @" */
static void numbers(struct sink *sink, struct pair live, struct pair allocated)
{
    char text[4 * 20 + 16];
    struct print print;
    print_start(&print, text, sizeof text);
    number(&print, live.objects, 6);
    print_text(&print, ": ");
    number(&print, live.bytes, 8);
    print_text(&print, " [");
    number(&print, allocated.objects, 6);
    print_text(&print, ": ");
    number(&print, allocated.bytes, 8);
    print_text(&print, "] @");
    sink_bytes(sink, text, print_length(&print));
}

static void write_line(struct writer *writer, const struct line *line)
{
    numbers(writer->sink, line->live, line->allocated);
    format_frames(writer->sink, line->stack, 8);
    sink_text(writer->sink, "\n");
}

static void end_bucket(struct writer *writer)
{
    const struct bucket *bucket = &writer->bucket;
    struct line line = {bucket->stack, estimate_pair(&bucket->live, writer->rate),
                        estimate_pair(&bucket->allocated, writer->rate)};
    if (writer->count < writer->max)
        writer->lines[writer->count++] = line;
    else
        write_line(writer, &line);
    writer->bucket = (struct bucket){0};
}

static void add_row(void *context, const struct track_row *row)
{
    struct writer *writer = context;
    if (writer->started && row->stack != writer->bucket.stack)
        end_bucket(writer);
    writer->started = true;
    struct bucket *bucket = &writer->bucket;
    bucket->stack = row->stack;
    estimate_add(&bucket->live, row->live.objects, row->live.requested, row->weight);
    estimate_add(&bucket->allocated, row->allocated.objects, row->allocated.requested, row->weight);
}

static bool before(const struct line *a, const struct line *b)
{
    if (a->live.bytes != b->live.bytes)
        return a->live.bytes > b->live.bytes;
    if (a->allocated.bytes != b->allocated.bytes)
        return a->allocated.bytes > b->allocated.bytes;
    return a->stack < b->stack;
}

static void sift(struct line *lines, size_t at, size_t count)
{
    struct line moved = lines[at];
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && before(&lines[child], &lines[child + 1]))
            child++;
        if (!before(&moved, &lines[child]))
            break;
        lines[at] = lines[child];
    }
    lines[at] = moved;
}

/* Heap sort: in place and without libc. */
static void sort(struct line *lines, size_t count)
{
    for (size_t i = count / 2; i-- > 0;)
        sift(lines, i, count);
    for (size_t rest = count; rest > 1; rest--) {
        struct line last = lines[rest - 1];
        lines[rest - 1] = lines[0];
        lines[0] = last;
        sift(lines, 0, rest - 1);
    }
}

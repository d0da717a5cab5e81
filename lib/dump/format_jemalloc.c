/* SPDX-License-Identifier: MIT */
/*
 * heap_v2, the text of jemalloc's dumps:
 *
 *     heap_v2/524288
 *       t*: 12: 49152 [0: 0]               in use, in brackets allocated in all
 *       t0: 12: 49152 [0: 0] name          one a thread
 *     @ 0x55d0c0de1234 0x7f00c0ffee00      a stack, leaf first
 *       t*: 12: 49152 [0: 0]
 *       t0: 12: 49152 [0: 0]
 *
 *     MAPPED_LIBRARIES:
 *
 * Two passes over the sites: one for the threads' sums in the head, one for the stacks. Bytes are
 * usable sizes. The numbers of every line are made of that line's own sums.
 */
#include "lib/dump/format_inside.h"

#include <string.h>

#include "base/os.h"
#include "base/print.h"
#include "lib/heap/observer.h"

enum { THREADS_MAX = 1 << 20 }; /* with a line of their own; all further threads share one */

struct sums {
    struct estimate live, allocated;
};

struct writer {
    const struct format_options *options;
    struct sink *sink;
    int64_t rate;
    /* Sums of one stack (in the first pass: of all stacks), and the threads with a share in it. If
     * memory for them is out, there are no lines of threads. */
    struct sums all;
    struct sums *threads;
    uint32_t *touched, *ids;     /* ids: of the rows of threads.h, as they were for the head */
    uint32_t max, touched_count; /* threads[max - 1] is shared by all further threads */
    uint32_t stack;
    bool started;
};

static void forget(struct writer *writer);
static void write_head(struct writer *writer);
static void write_stack(struct writer *writer);
static void first_pass(void *context, const struct track_row *row);
static void second_pass(void *context, const struct track_row *row);

int format_jemalloc(const struct format_options *options, struct sink *sink)
{
    struct writer writer = {.options = options, .sink = sink, .rate = format_rate()};
    uint32_t count = threads_count();
    writer.max = (count < THREADS_MAX ? count : THREADS_MAX) + 1;
    size_t size = writer.max * (sizeof *writer.threads + 2 * sizeof *writer.touched);
    writer.threads = os_map(size);
    if (writer.threads != NULL) {
        writer.touched = (uint32_t *)(writer.threads + writer.max);
        writer.ids = writer.touched + writer.max;
        writer.ids[writer.max - 1] = THREAD_OTHER;
    } else {
        writer.max = 1;
    }

    track_each(first_pass, &writer);
    write_head(&writer);
    forget(&writer);
    track_each(second_pass, &writer);
    write_stack(&writer);
    format_libraries(sink);
    if (writer.threads != NULL)
        os_unmap(writer.threads, size);
    return sink->error;
}

static void add(struct sums *sums, const struct track_row *row)
{
    estimate_add(&sums->live, row->live.objects, row->live.usable, row->weight);
    estimate_add(&sums->allocated, row->allocated.objects, row->allocated.usable, row->weight);
}

static void add_row(struct writer *writer, const struct track_row *row)
{
    add(&writer->all, row);
    if (writer->threads == NULL || row->live.objects + row->allocated.objects == 0)
        return;
    uint32_t slot = row->thread < writer->max - 1 ? row->thread : writer->max - 1;
    struct sums *sums = &writer->threads[slot];
    if (sums->live.seen_objects + sums->allocated.seen_objects == 0)
        writer->touched[writer->touched_count++] = slot;
    add(sums, row);
}

static void forget(struct writer *writer)
{
    for (uint32_t i = 0; i < writer->touched_count; i++)
        memset(&writer->threads[writer->touched[i]], 0, sizeof *writer->threads);
    writer->touched_count = 0;
    memset(&writer->all, 0, sizeof writer->all);
}

static bool empty(const struct writer *writer, const struct sums *sums)
{
    const struct estimate *counts = writer->options->accum ? &sums->allocated : &sums->live;
    return counts->seen_objects == 0;
}

/* "  t0: 1: 2 [3: 4]", without its newline. */
static void line(struct writer *writer, int64_t thread, const struct sums *sums)
{
    struct pair live, allocated = {0, 0};
    bool raw = writer->options->raw;
    live = raw ? estimate_seen(&sums->live) : estimate_pair(&sums->live, writer->rate);
    if (writer->options->accum)
        allocated =
            raw ? estimate_seen(&sums->allocated) : estimate_pair(&sums->allocated, writer->rate);
    if (thread < 0)
        sink_text(writer->sink, "  t*");
    else
        sink_format(writer->sink, "  t%lu", (unsigned long)thread);
    sink_format(writer->sink, ": %lu: %lu [%lu: %lu]", live.objects, live.bytes, allocated.objects,
                allocated.bytes);
}

static void write_head(struct writer *writer)
{
    static const struct sums none;
    struct thread_row thread;
    sink_format(writer->sink, "heap_v2/%ld\n", writer->rate > 0 ? (long)writer->rate : 1);
    line(writer, -1, &writer->all);
    sink_text(writer->sink, "\n");
    for (uint32_t number = 0; number < threads_count(); number++) {
        bool known = number + 1 < writer->max;
        const struct sums *sums = known ? &writer->threads[number] : &none;
        bool there = threads_row(number, &thread);
        if (known)
            writer->ids[number] = there ? thread.id : THREAD_OTHER;
        if (!there || (!thread.alive && empty(writer, sums)))
            continue;
        line(writer, thread.id, sums);
        char name[1 + THREAD_NAME_SIZE];
        struct print print;
        print_start(&print, name, sizeof name);
        if (thread.name[0] != '\0') {
            print_char(&print, ' ');
            print_clean(&print, thread.name, strlen(thread.name), THREAD_NAME_SIZE);
        }
        sink_bytes(writer->sink, name, print_length(&print));
        sink_text(writer->sink, "\n");
    }
}

static void write_stack(struct writer *writer)
{
    if (!empty(writer, &writer->all)) {
        sink_text(writer->sink, "@");
        format_frames(writer->sink, writer->stack, 1);
        sink_text(writer->sink, "\n");
        line(writer, -1, &writer->all);
        sink_text(writer->sink, "\n");
    }
    for (uint32_t i = 0; i < writer->touched_count; i++) {
        uint32_t slot = writer->touched[i];
        if (writer->ids[slot] == THREAD_OTHER || empty(writer, &writer->threads[slot]))
            continue; /* of threads that have ended only the sum is known */
        line(writer, writer->ids[slot], &writer->threads[slot]);
        sink_text(writer->sink, "\n");
    }
    forget(writer);
}

static void first_pass(void *context, const struct track_row *row)
{
    add_row(context, row);
}

static void second_pass(void *context, const struct track_row *row)
{
    struct writer *writer = context;
    if (writer->started && row->stack != writer->stack)
        write_stack(writer);
    writer->started = true;
    writer->stack = row->stack;
    add_row(writer, row);
}

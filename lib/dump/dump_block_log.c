/* SPDX-License-Identifier: MIT */
/*
 * The log of ended blocks (lib/heap/block_log.h) as the JSON file that jemalloc's prof_log writes.
 * The row of a thread that has ended may belong to another thread by the time it is written.
 */
#include <errno.h>

#include "base/file/sink.h"
#include "base/os.h"
#include "lib/dump/dump_file.h"
#include "lib/dump/dump_lock.h"
#include "lib/heap/observer.h"
#include "lib/watch/watch.h"

enum { BUFFER_SIZE = 4096 }; /* on the stack of an ordinary call */

/* Indexes into the arrays of the file, by stack. 0: not in the file; the first is the empty stack.
 */
struct numbers {
    uint32_t *of_stack, *stacks; /* index + 1 by stack; the stacks by index */
    uint32_t count, max;
};

static int write_locked(const char *path, const char *version, unsigned lg_sample);

int dump_block_log(const char *path, const char *version, unsigned lg_sample)
{
    if (!(load_relaxed(&block_events) & BLOCK_LOG))
        return EINVAL;
    if (!dump_lock(true))
        return EDEADLK;
    block_log_end();
    int error = write_locked(path, version, lg_sample);
    dump_unlock_and_look();
    return error;
}

static void numbers_add(struct numbers *numbers, uint32_t stack)
{
    if (stack >= numbers->max || numbers->of_stack[stack] != 0)
        return;
    numbers->stacks[numbers->count] = stack;
    numbers->of_stack[stack] = ++numbers->count;
}

static uint32_t numbers_get(const struct numbers *numbers, uint32_t stack)
{
    return stack < numbers->max ? numbers->of_stack[stack] - 1 : 0;
}

static void numbers_fill(struct numbers *numbers, uint64_t rows)
{
    for (uint64_t i = 0; i < rows; i++) {
        const struct block_log_row *row = block_log_at(i);
        if (row == NULL || load_acquire(&row->usable) == 0)
            continue;
        numbers_add(numbers, row->stack);
        numbers_add(numbers, row->free_stack);
    }
}

static void write_threads(struct sink *sink)
{
    sink_text(sink, "\"threads\":[");
    for (uint32_t i = 0; i < threads_count(); i++) {
        struct thread_row row = {.id = i};
        threads_row(i, &row);
        sink_format(sink, "%s{\"thr_uid\":%u,\"thr_name\":", i == 0 ? "" : ",", row.id);
        block_write_text(sink, row.name);
        sink_text(sink, "}");
    }
    sink_text(sink, "],");
}

static void write_stacks(struct sink *sink, const struct numbers *numbers)
{
    sink_text(sink, "\"stack_traces\":[");
    for (uint32_t i = 0; i < numbers->count; i++) {
        if (i > 0)
            sink_text(sink, ",");
        block_write_stack(sink, numbers->stacks[i]);
    }
    sink_text(sink, "],");
}

static void write_rows(struct sink *sink, const struct numbers *numbers, uint64_t rows)
{
    uint32_t threads = threads_count();
    bool first = true;
    sink_text(sink, "\"allocations\":[");
    for (uint64_t i = 0; i < rows; i++) {
        struct block_log_row *row = block_log_at(i);
        uint64_t usable = row == NULL ? 0 : load_acquire(&row->usable);
        if (usable == 0)
            continue;
        sink_format(sink, "%s{\"alloc_thread\":%u,\"free_thread\":%u,", first ? "" : ",",
                    row->allocated_by < threads ? row->allocated_by : 0,
                    row->freed_by < threads ? row->freed_by : 0);
        sink_format(sink,
                    "\"alloc_trace\":%u,\"free_trace\":%u,\"alloc_timestamp\":%lu,"
                    "\"free_timestamp\":%lu,\"usize\":%lu}",
                    numbers_get(numbers, row->stack), numbers_get(numbers, row->free_stack),
                    row->allocated_ns, row->freed_ns, usable);
        first = false;
        store_relaxed(&row->usable, 0);
    }
    sink_text(sink, "]}");
}

static int write_log(int fd, const char *version, unsigned lg_sample, struct numbers *numbers)
{
    char buffer[BUFFER_SIZE];
    struct sink sink;
    uint64_t rows = block_log_count();
    numbers_fill(numbers, rows);
    sink_to_fd(&sink, fd, buffer, sizeof buffer);
    sink_format(&sink,
                "{\"info\":{\"duration\":%lu,\"version\":\"%s\",\"lg_sample_rate\":%u,"
                "\"prof_time_resolution\":\"default\",\"pid\":%d},",
                os_now_ns() - block_log_started_ns(), version, lg_sample, (int)os_pid());
    write_threads(&sink);
    write_stacks(&sink, numbers);
    write_rows(&sink, numbers, rows);
    return sink_flush(&sink);
}

static int write_locked(const char *path, const char *version, unsigned lg_sample)
{
    uint32_t max = stacks_count();
    size_t bytes = ((size_t)max + 1) * sizeof(uint32_t);
    struct numbers numbers = {os_map(bytes), os_map(bytes), 1, max};
    int error = ENOMEM;
    if (numbers.of_stack != NULL && numbers.stacks != NULL) {
        numbers.of_stack[STACK_NONE] = 1; /* for blocks of unknown stack */
        int fd = dump_file_open(path);
        error = fd < 0 ? -fd : write_log(fd, version, lg_sample, &numbers);
        if (fd >= 0 && error == 0)
            error = dump_file_finish(path, true);
        else if (fd >= 0)
            dump_file_abandon();
    }
    if (numbers.of_stack != NULL)
        os_unmap(numbers.of_stack, bytes);
    if (numbers.stacks != NULL)
        os_unmap(numbers.stacks, bytes);
    return error;
}

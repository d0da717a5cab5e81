/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a capture: no crash, texts inside of the file, callers before their nodes, rows of
 * known nodes, and the same answer twice. No fuzzer guesses a checksum, so they are made right
 * first, wherever a record could be; every second input keeps its own.
 *
 * With PLANT_BUG the target believes a row's stack, as a careless user would; tests/fuzz/run proves
 * with it that the fuzzer finds such things.
 */
#include "tool/profile/capture/capture.h"
#include "tool/profile/capture/capture_records.h"

#include <stdlib.h>
#include <string.h>

#include "base/file/crc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct state {
    const char *start, *end;
    uint64_t nodes, sum;
    size_t calls;
    char *stacks; /* what the planted bug writes to */
};

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void add(struct state *state, uint64_t value)
{
    state->calls++;
    state->sum = state->sum * 31 + value;
}

static void text(struct state *state, struct capture_text text)
{
    must(text.length == 0 || (text.bytes >= state->start && text.bytes <= state->end &&
                              text.length <= (size_t)(state->end - text.bytes)));
    add(state, crc_add(0, text.bytes, text.length));
}

static void on_process(void *context, const struct capture_process *process)
{
    text(context, process->host);
    text(context, process->version);
    text(context, process->program);
    text(context, process->command);
}

static void on_map(void *context, const struct capture_map *map)
{
    must(map->start < map->end && map->build_id.length <= 64);
    text(context, map->path);
    text(context, map->build_id);
}

static void on_node(void *context, uint32_t node, uint32_t caller, uint64_t pc)
{
    struct state *state = context;
    must(caller < node && node == state->nodes);
    state->nodes++;
    add(state, pc);
}

static void on_thread(void *context, const struct capture_thread *thread)
{
    add(context, thread->id);
    text(context, thread->name);
}

static void on_point(void *context, const struct capture_point *point)
{
    add(context, point->live_bytes);
}

static void on_snapshot(void *context, const struct capture_snapshot *snapshot)
{
    must(snapshot->rate >= -1);
    text(context, snapshot->reason);
}

static void on_row(void *context, const struct capture_row *row)
{
    struct state *state = context;
#ifdef PLANT_BUG
    state->stacks[row->size] = 1;
#endif
    must(row->stack < state->nodes && row->rate >= 0 && row->weight >= 1);
    add(state, row->live.objects);
}

static void on_totals(void *context, const struct capture_totals *totals)
{
    add(context, totals->live.usable);
}

static void on_allocator(void *context, const struct capture_allocator *allocator)
{
    add(context, allocator->heaps);
}

static void on_mark(void *context, const struct capture_mark *mark)
{
    add(context, mark->time_ms);
    add(context, mark->live.bytes);
    text(context, mark->name);
}

static void on_class(void *context, const struct capture_class *class)
{
    add(context, class->size);
    add(context, class->peak.bytes);
}

static void on_end(void *context, uint64_t time_ms)
{
    add(context, time_ms);
}

static const struct capture_calls calls = {
    .process = on_process,
    .map = on_map,
    .node = on_node,
    .thread = on_thread,
    .point = on_point,
    .snapshot = on_snapshot,
    .row = on_row,
    .totals = on_totals,
    .allocator = on_allocator,
    .class = on_class,
    .mark = on_mark,
    .end = on_end,
};

/* The file's head, and the right checksum wherever a record is. */
static void repair(uint8_t *file, size_t size)
{
    size_t at = FORMAT_HEAD_SIZE;
    if (size < FORMAT_HEAD_SIZE)
        return;
    memcpy(file, FORMAT_MAGIC, sizeof FORMAT_MAGIC);
    format_put(file + 8, FORMAT_VERSION, 2);
    while (size - at >= FORMAT_RECORD_HEAD) {
        uint64_t length = format_get(file + at + 4, 4);
        if (length > size - at - FORMAT_RECORD_HEAD)
            format_put(file + at + 4, length = size - at - FORMAT_RECORD_HEAD, 4);
        uint32_t crc = crc_add(crc_add(0, file + at, 8), file + at + FORMAT_RECORD_HEAD, length);
        format_put(file + at + 8, crc, 4);
        at += FORMAT_RECORD_HEAD + length;
    }
}

static uint64_t read_once(const uint8_t *file, size_t size)
{
    struct capture_error error;
    struct state state = {(const char *)file, (const char *)file + size, 2, 0, 0, malloc(64)};
    enum capture_result result = capture_read(file, size, &calls, &state, &error);
    must(error.offset <= size && (error.reason == NULL) == (result == CAPTURE_WHOLE));
    must(state.calls <= 4 * size);
    free(state.stacks);
    return state.sum + error.offset;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *file = malloc(size + 1);
    must(file != NULL);
    memcpy(file, data, size);
    if (size > 0 && (data[size - 1] & 1) == 0)
        repair(file, size);
    must(read_once(file, size) == read_once(file, size));
    free(file);
    return 0;
}

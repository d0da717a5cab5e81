/* SPDX-License-Identifier: MIT */
/*
 * See tool/profile/capture/recorder.h: the records of a capture, written from a recorder file. What
 * the log of the file holds, mappings and marks, goes on as it is, each after the nodes that were
 * there at its time.
 */
#include "tool/profile/capture/recorder.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/file/crc.h"
#include "base/file/proto.h"
#include "tool/memory/memory.h"
#include "tool/profile/capture/recorder_numbers.h"

/* ENTRY_MAX: longer than any entry but those of MAPS. PAYLOAD_MAX: half of a record's maximum. */
enum { ENTRY_MAX = 512, PAYLOAD_MAX = 32 << 10, FIRST_NODE = 2 };

struct writing {
    struct recorder_sheets sheets;
    struct recorder_numbers numbers;
    char *bytes;
    size_t used, room;
    bool failed; /* memory is out */
    /* The record that is being made. */
    uint32_t type;
    size_t length;
    uint8_t payload[PAYLOAD_MAX];
    uint64_t last_stack;
    /* What is in the capture already. */
    uint32_t nodes; /* the first that is not */
    uint64_t series_ms, snapshots;
    bool started, ended;
};

static void write_old(struct writing *it, const char *old, size_t size);
static void old_process(void *context, const struct capture_process *process);
static void old_node(void *context, uint32_t node, uint32_t caller, uint64_t pc);
static void old_point(void *context, const struct capture_point *point);
static void old_snapshot(void *context, const struct capture_snapshot *snapshot);
static void old_end(void *context, uint64_t time_ms);
static void write_head(struct writing *it);
static void append(struct writing *it, const void *bytes, size_t length);
static void end_record(struct writing *it);
static void record_write(struct writing *it, uint32_t type, const void *payload, size_t length);
static void write_log(struct writing *it, bool old);
static void write_nodes(struct writing *it, uint64_t end);
static bool log_wanted(const struct writing *it, uint32_t type, bool old);
static void write_process(struct writing *it);
static void write_lives(struct writing *it, const struct capture_row *row, unsigned lives);
static void write_snapshot(struct writing *it);
static void write_cpu(struct writing *it, uint64_t last_ms);
static void write_cpu_threads(struct writing *it, uint64_t last_ms);
static void write_locks(struct writing *it, uint64_t last_ms);
static bool cpu_row_read(const struct writing *it, uint32_t number, struct recorder_cpu_row *row);

char *recorder_capture(const char *bytes, size_t size, const char *old, size_t old_size,
                       size_t *made, const char **reason)
{
    struct writing *it = calloc(1, sizeof *it);
    *reason = "memory is out";
    if (it == NULL)
        return NULL;
    it->nodes = FIRST_NODE;
    char *capture = NULL;
    if (!recorder_sheets_open(&it->sheets, bytes, size, reason))
        goto done;
    *reason = "memory is out";
    write_old(it, old, old_size);
    if (!recorder_numbers_make(&it->numbers, &it->sheets))
        goto done;
    if (!it->started)
        write_head(it);
    if (!it->ended) {
        write_log(it, it->started);
        write_snapshot(it);
    }
    if (!it->failed) {
        capture = it->bytes;
        *made = it->used;
        *reason = NULL;
    } else {
        free(it->bytes);
    }
done:
    free(it->numbers.rows);
    free(it);
    return capture;
}

/* ---- the capture that the process had begun ---- */

static void write_old(struct writing *it, const char *old, size_t size)
{
    static const struct capture_calls calls = {.process = old_process,
                                               .node = old_node,
                                               .point = old_point,
                                               .snapshot = old_snapshot,
                                               .end = old_end};
    struct capture_error wrong;
    if (old == NULL || capture_read(old, size, &calls, it, &wrong) == CAPTURE_REFUSED ||
        !it->started) {
        it->started = it->ended = false;
        it->nodes = FIRST_NODE;
        it->series_ms = it->snapshots = 0;
        return;
    }
    append(it, old, wrong.offset < size ? (size_t)wrong.offset : size);
    /* Killed right after a snapshot, it has no later sign of life in the recorder file. */
    recorder_moment_note(&it->sheets.head.last_ms, recorder_last_of(old, size));
}

static void old_process(void *context, const struct capture_process *process)
{
    ((struct writing *)context)->started = true;
    (void)process;
}

static void old_node(void *context, uint32_t node, uint32_t caller, uint64_t pc)
{
    (void)caller;
    (void)pc;
    ((struct writing *)context)->nodes = node + 1;
}

static void old_point(void *context, const struct capture_point *point)
{
    ((struct writing *)context)->series_ms = point->time_ms;
}

static void old_snapshot(void *context, const struct capture_snapshot *snapshot)
{
    ((struct writing *)context)->snapshots = snapshot->number + 1;
}

static void old_end(void *context, uint64_t time_ms)
{
    (void)time_ms;
    ((struct writing *)context)->ended = true;
}

static void write_head(struct writing *it)
{
    uint8_t head[FORMAT_HEAD_SIZE] = {0};
    memcpy(head, FORMAT_MAGIC, sizeof FORMAT_MAGIC);
    format_put(head + 8, FORMAT_VERSION, 2);
    format_put(head + 10, it->sheets.head.machine, 2);
    append(it, head, sizeof head);
}

/* ---- records ---- */

static void append(struct writing *it, const void *bytes, size_t length)
{
    if (it->failed)
        return;
    it->failed = !list_reserve(&it->bytes, &it->room, it->used + length, 1);
    if (it->failed)
        return;
    memcpy(it->bytes + it->used, bytes, length);
    it->used += length;
}

/* True if it is a new one. */
static bool begin_record(struct writing *it, uint32_t type)
{
    if (it->type == type && sizeof it->payload - it->length >= ENTRY_MAX)
        return false;
    end_record(it);
    it->type = type;
    it->length = 0;
    return true;
}

static void end_record(struct writing *it)
{
    if (it->type != 0)
        record_write(it, it->type, it->payload, it->length);
    it->type = 0;
}

static void record_write(struct writing *it, uint32_t type, const void *payload, size_t length)
{
    uint8_t head[FORMAT_RECORD_HEAD];
    format_put(head, type, 4);
    format_put(head + 4, length, 4);
    format_put(head + 8, crc_add(crc_add(0, head, 8), payload, length), 4);
    append(it, head, sizeof head);
    append(it, payload, length);
}

static void put(struct writing *it, uint64_t value)
{
    it->length += varint_write(it->payload + it->length, value);
}

static void put_change(struct writing *it, uint64_t before, uint64_t now)
{
    put(it, format_fold((int64_t)(now - before)));
}

static void put_text(struct writing *it, const char *text, size_t length)
{
    put(it, length);
    memcpy(it->payload + it->length, text, length);
    it->length += length;
}

static void put_sum(struct writing *it, const struct capture_sum *sum)
{
    put(it, sum->objects);
    put(it, sum->requested);
    put(it, sum->usable);
}

/* ---- what is in the file ---- */

static void write_log(struct writing *it, bool old)
{
    struct recorder_log_record record;
    uint64_t at = 0, nodes;
    while (recorder_log_next(&it->sheets, &at, &record)) {
        uint32_t type = record.type, length = record.length;
        const uint8_t *payload = record.payload;
        if (!it->started && type != RECORD_PROCESS)
            break;
        if (type == RECORDER_SO_FAR && varint_read(payload, length, &nodes) > 0)
            write_nodes(it, nodes);
        else if (log_wanted(it, type, old))
            record_write(it, type, payload, length);
        it->started = true;
    }
    if (!it->started)
        write_process(it);
    it->started = true;
}

/* Nodes below `end`. One that is missing has an address that no code has. */
static void write_nodes(struct writing *it, uint64_t end)
{
    uint32_t there = recorder_rows(&it->sheets, SHEET_NODES);
    uint64_t before = 0;
    for (; it->nodes < end && it->nodes < there; it->nodes++) {
        struct recorder_node node = {0};
        recorder_row(&it->sheets, SHEET_NODES, it->nodes, &node);
        if (node.pc == 0 || node.caller >= it->nodes || node.caller == FIRST_NODE - 1)
            node = (struct recorder_node){.pc = 1};
        if (begin_record(it, RECORD_NODES)) {
            put(it, it->nodes);
            before = 0;
        }
        put(it, it->nodes - node.caller);
        put_change(it, before, node.pc);
        before = node.pc;
    }
    end_record(it);
}

/* Marks are in the process's own capture, if there is one. */
static bool log_wanted(const struct writing *it, uint32_t type, bool old)
{
    if (type == RECORD_PROCESS)
        return !it->started;
    return it->started && (type == RECORD_MAPS || (type == RECORD_MARK && !old));
}

/* Where the process was killed before its file had this. */
static void write_process(struct writing *it)
{
    const struct recorder_head *head = &it->sheets.head;
    enum { PAGE = 4096, TEXTS = 4 };
    begin_record(it, RECORD_PROCESS);
    put(it, head->pid);
    put(it, PAGE);
    put(it, format_fold(head->rate));
    put(it, head->start_ms);
    put(it, head->start_wall_ns);
    for (unsigned i = 0; i < TEXTS; i++)
        put(it, 0);
    end_record(it);
}

static void write_threads(struct writing *it)
{
    struct recorder_thread thread;
    uint32_t rows = recorder_rows(&it->sheets, SHEET_THREADS);
    for (uint32_t number = 0; number < rows; number++) {
        if (!recorder_row(&it->sheets, SHEET_THREADS, number, &thread) ||
            thread.state == RECORDER_THREAD_NONE)
            continue;
        begin_record(it, RECORD_THREADS);
        put(it, number);
        put(it, thread.id);
        put(it, thread.tid);
        put(it, thread.state == RECORDER_THREAD_LIVES ? THREAD_ALIVE : 0);
        put(it, thread.since_ms);
        put_text(it, thread.name, strnlen(thread.name, sizeof thread.name));
    }
    end_record(it);
    for (uint32_t number = 0; number < rows; number++) {
        if (!recorder_row(&it->sheets, SHEET_THREADS, number, &thread) || thread.counted != 1)
            continue;
        begin_record(it, RECORD_THREAD_COUNTS);
        put(it, number + 1);
        put(it, thread.alloc_objects);
        put(it, thread.alloc_bytes);
    }
    end_record(it);
}

/* All behind the last node are empty. */
static uint32_t nodes_end(const struct recorder_sheets *sheets)
{
    uint32_t end = recorder_rows(sheets, SHEET_NODES);
    struct recorder_node node;
    while (end > 0 && (!recorder_row(sheets, SHEET_NODES, end - 1, &node) || node.pc == 0))
        end--;
    return end;
}

static void write_classes(struct writing *it)
{
    for (unsigned i = 1; i < RECORDER_CLASSES; i++) {
        const struct capture_class *class = &it->numbers.classes[i];
        const struct capture_count *counts[] = {&class->allocated, &class->live, &class->peak};
        if (class->allocated.blocks == 0)
            continue;
        begin_record(it, RECORD_CLASSES);
        put(it, class->size);
        for (unsigned k = 0; k < COUNT_OF(counts); k++) {
            put(it, counts[k]->blocks);
            put(it, counts[k]->bytes);
        }
    }
    end_record(it);
}

static void write_row(struct writing *it, const struct capture_row *row)
{
    unsigned flags = 0, lives = 0;
    for (unsigned i = 0; i < FORMAT_LIVES; i++)
        lives |= (unsigned)(row->lives[i] != 0) << i;
    flags |= row->live.objects != 0 ? ROW_LIVE : 0;
    flags |= row->peak.objects != 0 ? ROW_PEAK : 0;
    flags |= row->moved_out != 0 ? ROW_MOVED : 0;
    flags |= row->again != 0 ? ROW_AGAIN : 0;
    flags |= lives != 0 ? ROW_LIVES : 0;
    flags |= row->weight > 1 ? ROW_WEIGHT : 0;
    if (begin_record(it, RECORD_ROWS))
        it->last_stack = 0;
    put_change(it, it->last_stack, row->stack);
    it->last_stack = row->stack;
    put(it, row->thread == UINT32_MAX ? 0 : (uint64_t)row->thread + 1);
    put(it, row->size);
    put(it, (uint64_t)row->rate);
    put(it, flags);
    if (flags & ROW_WEIGHT) {
        uint64_t bits;
        memcpy(&bits, &row->weight, sizeof bits);
        format_put(it->payload + it->length, bits, sizeof bits);
        it->length += sizeof bits;
    }
    put_sum(it, &row->allocated);
    if (flags & ROW_LIVE)
        put_sum(it, &row->live);
    if (flags & ROW_PEAK)
        put_sum(it, &row->peak);
    if (flags & ROW_MOVED) {
        put(it, 0);
        put(it, row->moved_out);
    }
    if (flags & ROW_LIVES)
        write_lives(it, row, lives);
    if (flags & ROW_AGAIN)
        put(it, row->again);
}

static void write_lives(struct writing *it, const struct capture_row *row, unsigned lives)
{
    put(it, lives);
    for (unsigned i = 0; i < FORMAT_LIVES; i++)
        if (row->lives[i] != 0)
            put(it, row->lives[i]);
}

static void write_series(struct writing *it)
{
    static const struct recorder_point nothing;
    uint64_t now = it->sheets.head.series_now;
    uint32_t count = (uint32_t)now, first = (now >> 32 & 1) != 0 ? RECORDER_POINTS : 0;
    struct recorder_point before = nothing, point;
    for (uint32_t i = 0; i < count && i < RECORDER_POINTS; i++) {
        if (!recorder_row(&it->sheets, SHEET_SERIES, first + i, &point) ||
            point.time_ms <= it->series_ms || point.allocated_bytes > it->numbers.alloc_bytes ||
            point.allocated_objects > it->numbers.allocs)
            continue; /* the last may know of calls that the counts lack */
        it->series_ms = point.time_ms;
        if (begin_record(it, RECORD_SERIES))
            before = nothing;
        put_change(it, before.time_ms, point.time_ms);
        put_change(it, before.live_bytes, point.live_bytes);
        put_change(it, before.allocated_bytes, point.allocated_bytes);
        put_change(it, before.allocated_objects, point.allocated_objects);
        put_change(it, before.resident_bytes, point.resident_bytes);
        before = point;
    }
    end_record(it);
}

static void write_totals(struct writing *it)
{
    const struct capture_totals *totals = &it->numbers.totals;
    begin_record(it, RECORD_TOTALS);
    put_sum(it, &totals->live);
    put_sum(it, &totals->allocated);
    put_sum(it, &totals->peak);
    put(it, totals->peak_ms);
    put(it, totals->seen_live);
    put(it, totals->seen_allocated);
    put(it, totals->lost);
    put(it, totals->refused);
    put(it, totals->covered ? TOTALS_COVERED : 0);
    put(it, totals->off_ms);
    end_record(it);
}

static void write_allocator(struct writing *it)
{
    /* Numbers of the head: free bytes in bins and what follows, resident memory last. */
    enum { OTHERS = RECORDER_MEMORY_AT + RECORDER_MEMORY_COUNT };
    const struct recorder_numbers *numbers = &it->numbers;
    const uint64_t sums[] = {numbers->allocs,
                             numbers->frees,
                             numbers->alloc_bytes,
                             numbers->free_bytes,
                             numbers->totals.live.objects,
                             numbers->totals.live.usable};
    begin_record(it, RECORD_ALLOCATOR);
    for (unsigned i = 0; i < COUNT_OF(sums); i++)
        put(it, sums[i]);
    for (unsigned i = 0; i < OTHERS; i++)
        put(it, it->sheets.head.numbers[i]);
    end_record(it);
}

/* ---- the snapshot of the last moment ---- */

static void write_snapshot(struct writing *it)
{
    const struct recorder_head *head = &it->sheets.head;
    const char *reason = head->state & RECORDER_ENDED   ? "Exiting"
                         : head->state & RECORDER_READY ? RECORDER_KILLED
                                                        : RECORDER_KILLED_EARLY;
    uint64_t last = head->last_ms > head->start_ms ? head->last_ms - head->start_ms : 0;
    begin_record(it, RECORD_SNAPSHOT);
    put(it, it->snapshots);
    put(it, head->start_ms + last);
    put(it, head->start_wall_ns + last * 1000000);
    put(it, format_fold(head->rate));
    put_text(it, reason, strlen(reason));
    end_record(it);
    write_threads(it);
    write_nodes(it, nodes_end(&it->sheets));
    write_classes(it);
    for (size_t i = 0; i < it->numbers.row_count; i++)
        write_row(it, &it->numbers.rows[i]);
    end_record(it);
    write_series(it);
    write_totals(it);
    write_allocator(it);
    write_cpu(it, head->start_ms + last);
    write_locks(it, head->start_ms + last);
    begin_record(it, RECORD_WHOLE);
    put(it, it->numbers.row_count);
    end_record(it);
    begin_record(it, RECORD_END);
    put(it, head->start_ms + last);
    end_record(it);
}

/* ---- the CPU profile and waits for locks ---- */

/* What rows of both begin with: their stack and their thread. */
static void begin_row(struct writing *it, uint32_t type, uint64_t key)
{
    uint64_t stack = (uint32_t)key - 1, thread = key >> 32;
    if (begin_record(it, type))
        it->last_stack = 0;
    put_change(it, it->last_stack, stack);
    it->last_stack = stack;
    put(it, thread == 0 || thread == UINT32_MAX ? 0 : thread + 1);
}

/* From its last start to the last sign of life; 0: it was off. */
static uint64_t running_ns(uint64_t since_ms, uint64_t last_ms)
{
    return since_ms != 0 && last_ms > since_ms ? (last_ms - since_ms) * 1000000 : 0;
}

static void write_cpu(struct writing *it, uint64_t last_ms)
{
    const struct recorder_cpu *cpu = &it->sheets.head.cpu;
    const char *source = recorder_cpu_source(cpu->source);
    struct recorder_cpu_row row;
    uint64_t samples = 0, ns = 0;
    uint32_t rows = recorder_rows(&it->sheets, SHEET_CPU_ROWS);
    if (cpu->first_ms == 0)
        return;
    write_cpu_threads(it, last_ms);
    for (uint32_t number = 0; number < rows; number++) {
        if (!cpu_row_read(it, number, &row))
            continue;
        begin_row(it, RECORD_CPU_ROWS, row.key);
        put(it, row.samples);
        put(it, row.ns);
        samples += row.samples;
        ns += row.ns;
    }
    end_record(it);
    begin_record(it, RECORD_CPU);
    put(it, cpu->since_ms != 0 ? CPU_RUNNING : 0);
    put(it, cpu->rate);
    put(it, cpu->clock);
    put_text(it, source, strlen(source));
    put(it, cpu->first_ms);
    put(it, cpu->on_ns + running_ns(cpu->since_ms, last_ms));
    put(it, samples);
    put(it, ns);
    put(it, cpu->lost);
    put(it, cpu->stackless);
    put(it, cpu->uncovered);
    put(it, cpu->user_ns);
    put(it, cpu->system_ns);
    end_record(it);
}

static void write_locks(struct writing *it, uint64_t last_ms)
{
    const struct recorder_locks *locks = &it->sheets.head.locks;
    struct recorder_lock_row row;
    uint32_t rows = recorder_rows(&it->sheets, SHEET_LOCK_ROWS);
    if (locks->first_ms == 0)
        return;
    if (it->sheets.head.cpu.first_ms == 0)
        write_cpu_threads(it, last_ms);
    begin_record(it, RECORD_LOCKS);
    put(it, locks->since_ms != 0 ? CPU_RUNNING : 0);
    put(it, locks->first_ms);
    put(it, locks->on_ns + running_ns(locks->since_ms, last_ms));
    put(it, locks->lost);
    put(it, locks->stackless);
    end_record(it);
    for (uint32_t number = 0; number < rows; number++) {
        if (!recorder_row(&it->sheets, SHEET_LOCK_ROWS, number, &row) || row.key == 0 ||
            row.count == 0 || (uint32_t)row.key - 1 >= it->nodes)
            continue;
        begin_row(it, RECORD_LOCK_ROWS, row.key);
        put(it, row.kind);
        put(it, row.holder == 0 ? 0 : (uint64_t)row.holder + 1);
        put(it, row.count);
        put(it, row.ns);
    }
    end_record(it);
}

static void write_cpu_threads(struct writing *it, uint64_t last_ms)
{
    struct recorder_cpu_thread thread;
    uint32_t rows = recorder_rows(&it->sheets, SHEET_CPU_THREADS);
    struct recorder_names names;
    it->failed = !recorder_names_make(&names, &it->sheets) || it->failed;
    for (uint32_t number = 1; number < rows; number++) {
        if (!recorder_row(&it->sheets, SHEET_CPU_THREADS, number, &thread) ||
            thread.state == RECORDER_THREAD_NONE)
            continue;
        bool lives = thread.state == RECORDER_THREAD_LIVES;
        if (thread.name[0] == '\0')
            recorder_names_find(&names, thread.tid, thread.name);
        begin_record(it, RECORD_CPU_THREADS);
        put(it, number);
        put(it, thread.tid);
        put(it, lives ? THREAD_ALIVE : 0);
        put(it, thread.since_ms);
        put(it, lives ? last_ms : thread.until_ms);
        put(it, thread.ns); /* its own clock can't be asked any more */
        put(it, thread.ns);
        put(it, thread.samples);
        put_text(it, thread.name, strnlen(thread.name, sizeof thread.name));
    }
    end_record(it);
    recorder_names_free(&names);
}

static bool cpu_row_read(const struct writing *it, uint32_t number, struct recorder_cpu_row *row)
{
    return recorder_row(&it->sheets, SHEET_CPU_ROWS, number, row) && row->key != 0 &&
           row->samples != 0 && (uint32_t)row->key - 1 < it->nodes;
}

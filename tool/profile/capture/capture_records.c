/* SPDX-License-Identifier: MIT */
/*
 * See tool/profile/capture/capture_records.h. All payload is taken through `number` and `text`,
 * which know where the record ends; after the first failure they give zeros, and nothing is handed
 * on any more.
 *
 * Records and parts of records that a later version adds are passed over: unknown types, and bytes
 * behind the known ones in records that hold one thing.
 */
#include "tool/profile/capture/capture_records.h"

#include <string.h>

#include "base/file/crc.h"
#include "base/file/proto.h"
#include "tool/profile/profile.h"

enum { FIRST_NODE = 2, ID_MAX = 64 };

struct reader {
    const struct capture_calls *calls;
    void *context;
    unsigned machine;
    uint64_t nodes, rows; /* the next one; rows of the present snapshot */
    bool started, inside, ended;
    bool skipped; /* its rows are not wanted */
    /* The present record. */
    uint32_t type;
    const uint8_t *at, *end;
    const char *wrong; /* the first thing that made no sense */
};

/* Hands a thing on, if nothing is wrong so far and the caller wants it. */
#define CALL(reader, name, ...)                                       \
    do {                                                              \
        if ((reader)->wrong == NULL && (reader)->calls->name != NULL) \
            (reader)->calls->name(__VA_ARGS__);                       \
    } while (0)

static const char too_large[] = "a thread's number is too large";

/* Eight bytes at a time, with tables: base/file/crc.h is small, and captures are long. */
struct checksums {
    uint32_t tables[8][256];
};

static enum capture_result stop(struct capture_error *error, uint64_t offset, const char *reason,
                                enum capture_result result);
static void checksums_start(struct checksums *sums);
static size_t record_size(const uint8_t *at, size_t size, const struct checksums *sums,
                          const char **reason);
static uint32_t checksum(const struct checksums *sums, uint32_t crc, const uint8_t *at,
                         size_t length);
static void read_process(struct reader *reader);
static void read_maps(struct reader *reader);
static void read_nodes(struct reader *reader);
static void read_threads(struct reader *reader);
static void read_series(struct reader *reader);
static void read_snapshot(struct reader *reader);
static void read_rows(struct reader *reader);
static void read_whole(struct reader *reader);
static void read_totals(struct reader *reader);
static void read_allocator(struct reader *reader);
static void read_classes(struct reader *reader);
static void read_cpu(struct reader *reader);
static void read_cpu_threads(struct reader *reader);
static void read_cpu_rows(struct reader *reader);
static void read_leaks(struct reader *reader);
static void read_leak_rows(struct reader *reader);
static void read_part(struct reader *reader);
static void read_mark(struct reader *reader);
static void read_end(struct reader *reader);

static void (*const readers[])(struct reader *) = {
    [RECORD_PROCESS] = read_process,
    [RECORD_MAPS] = read_maps,
    [RECORD_NODES] = read_nodes,
    [RECORD_THREADS] = read_threads,
    [RECORD_SERIES] = read_series,
    [RECORD_SNAPSHOT] = read_snapshot,
    [RECORD_ROWS] = read_rows,
    [RECORD_WHOLE] = read_whole,
    [RECORD_TOTALS] = read_totals,
    [RECORD_ALLOCATOR] = read_allocator,
    [RECORD_MARK] = read_mark,
    [RECORD_END] = read_end,
    [RECORD_CLASSES] = read_classes,
    [RECORD_CPU] = read_cpu,
    [RECORD_CPU_THREADS] = read_cpu_threads,
    [RECORD_CPU_ROWS] = read_cpu_rows,
    [RECORD_CPU_COURSES] = read_part,
    [RECORD_LEAKS] = read_leaks,
    [RECORD_LEAK_ROWS] = read_leak_rows,
    [RECORD_LEAK_LOOKS... RECORD_LEAK_AGES] = read_part,
    [RECORD_PINS... RECORD_PIN_ROWS] = read_part,
    [RECORD_LOCKS... RECORD_LOCK_ROWS] = read_part,
    [RECORD_THREAD_COUNTS] = read_part,
};

/* ---- the file ---- */

enum capture_result capture_read(const void *bytes, size_t size, const struct capture_calls *calls,
                                 void *context, struct capture_error *error)
{
    const uint8_t *file = bytes;
    struct reader reader = {.calls = calls, .context = context, .nodes = FIRST_NODE};
    struct checksums sums;
    if (size < FORMAT_HEAD_SIZE || memcmp(file, FORMAT_MAGIC, sizeof FORMAT_MAGIC) != 0)
        return stop(error, 0, "not a capture of memoir", CAPTURE_REFUSED);
    if (format_get(file + 8, 2) != FORMAT_VERSION)
        return stop(error, 8, "a newer memoir wrote this capture", CAPTURE_REFUSED);
    reader.machine = (unsigned)format_get(file + 10, 2);
    checksums_start(&sums);

    size_t at = FORMAT_HEAD_SIZE;
    while (at < size && !reader.ended) {
        const char *reason = NULL;
        place_at(file + at);
        size_t length = record_size(file + at, size - at, calls->checked ? NULL : &sums, &reason);
        if (length == 0)
            return stop(error, at, reason, CAPTURE_TORN);
        uint64_t type = format_get(file + at, 4);
        reader.type = (uint32_t)type;
        reader.at = file + at + FORMAT_RECORD_HEAD;
        reader.end = file + at + length;
        if (!reader.started && type != RECORD_PROCESS)
            return stop(error, at, "the first record is not the process", CAPTURE_REFUSED);
        if (type < sizeof readers / sizeof *readers && readers[type] != NULL)
            readers[type](&reader);
        if (reader.wrong != NULL)
            return stop(error, (uint64_t)(reader.at - file), reader.wrong, CAPTURE_REFUSED);
        at += length;
    }
    if (!reader.ended)
        return stop(error, at, "the capture has no end", CAPTURE_TORN);
    if (at < size)
        return stop(error, at, "something follows the end", CAPTURE_TORN);
    return stop(error, at, NULL, CAPTURE_WHOLE);
}

static enum capture_result stop(struct capture_error *error, uint64_t offset, const char *reason,
                                enum capture_result result)
{
    *error = (struct capture_error){offset, reason};
    return result;
}

static void checksums_start(struct checksums *sums)
{
    for (unsigned i = 0; i < 256; i++) {
        uint8_t byte = (uint8_t)i;
        sums->tables[0][i] = ~crc_add(UINT32_MAX, &byte, 1);
    }
    for (unsigned k = 1; k < 8; k++)
        for (unsigned i = 0; i < 256; i++) {
            uint32_t before = sums->tables[k - 1][i];
            sums->tables[k][i] = before >> 8 ^ sums->tables[0][before & 255];
        }
}

/* A whole record at `at`? Its length, or 0 and the reason. Without `sums` it is believed. */
static size_t record_size(const uint8_t *at, size_t size, const struct checksums *sums,
                          const char **reason)
{
    if (size < FORMAT_RECORD_HEAD) {
        *reason = "the head of a record is cut off";
        return 0;
    }
    uint64_t length = format_get(at + 4, 4);
    if (length > FORMAT_RECORD_MAX) {
        *reason = "a record is longer than the format permits";
        return 0;
    }
    if (length > size - FORMAT_RECORD_HEAD) {
        *reason = "a record is cut off";
        return 0;
    }
    if (sums != NULL &&
        format_get(at + 8, 4) !=
            checksum(sums, checksum(sums, 0, at, 8), at + FORMAT_RECORD_HEAD, (size_t)length)) {
        *reason = "the checksum of a record is wrong";
        return 0;
    }
    return FORMAT_RECORD_HEAD + (size_t)length;
}

static uint32_t checksum(const struct checksums *sums, uint32_t crc, const uint8_t *at,
                         size_t length)
{
    uint64_t word;
    for (crc = ~crc; length >= sizeof word; at += sizeof word, length -= sizeof word) {
        word = format_get(at, sizeof word) ^ crc;
        crc = 0;
        for (unsigned i = 0; i < sizeof word; i++)
            crc ^= sums->tables[7 - i][word >> (8 * i) & 255];
    }
    return crc_add(~crc, at, length);
}

/* ---- payload ---- */

static bool holds(struct reader *reader, bool condition, const char *otherwise)
{
    if (!condition && reader->wrong == NULL)
        reader->wrong = otherwise;
    return reader->wrong == NULL;
}

static bool more(const struct reader *reader)
{
    return reader->wrong == NULL && reader->at < reader->end;
}

static uint64_t number(struct reader *reader)
{
    uint64_t value = 0;
    unsigned length = varint_read(reader->at, (size_t)(reader->end - reader->at), &value);
    if (!holds(reader, length > 0, "a number is cut off or too large"))
        return 0;
    reader->at += length;
    return value;
}

/* At the end of a record of an older version: 0. */
static uint64_t optional(struct reader *reader)
{
    return more(reader) ? number(reader) : 0;
}

static uint64_t bounded(struct reader *reader, uint64_t max, const char *otherwise)
{
    uint64_t value = number(reader);
    return holds(reader, value <= max, otherwise) ? value : 0;
}

static uint64_t changed(struct reader *reader, uint64_t before)
{
    return before + (uint64_t)format_unfold(number(reader));
}

static int64_t rate(struct reader *reader)
{
    int64_t value = format_unfold(number(reader));
    return holds(reader, value >= -1, "a rate below -1") ? value : 0;
}

static struct capture_text text(struct reader *reader)
{
    struct capture_text got = {"", 0};
    uint64_t length = number(reader);
    if (!holds(reader, length <= (uint64_t)(reader->end - reader->at), "a text is cut off"))
        return got;
    got.bytes = (const char *)reader->at;
    got.length = (size_t)length;
    reader->at += length;
    return got;
}

static struct capture_sum sum(struct reader *reader)
{
    struct capture_sum got;
    got.objects = number(reader);
    got.requested = number(reader);
    got.usable = number(reader);
    return got;
}

/* ---- records ---- */

static void read_process(struct reader *reader)
{
    struct capture_process process = {.machine = reader->machine};
    holds(reader, !reader->started, "a second process");
    reader->started = true;
    process.pid = number(reader);
    process.page_size = number(reader);
    process.rate = rate(reader);
    process.time_ms = number(reader);
    process.wall_ns = number(reader);
    process.host = text(reader);
    process.version = text(reader);
    process.program = text(reader);
    process.command = text(reader);
    CALL(reader, process, reader->context, &process);
}

static void read_maps(struct reader *reader)
{
    if ((number(reader) & MAPS_FIRST) != 0)
        CALL(reader, maps, reader->context);
    while (more(reader)) {
        struct capture_map map;
        map.start = number(reader);
        uint64_t size = number(reader);
        holds(reader, size > 0 && size <= UINT64_MAX - map.start, "a mapping without an address");
        map.end = map.start + size;
        map.flags = (unsigned)bounded(reader, UINT16_MAX, "a mapping with unknown flags");
        map.offset = number(reader);
        map.device = number(reader);
        map.inode = number(reader);
        map.path = text(reader);
        map.build_id = text(reader);
        holds(reader, map.build_id.length <= ID_MAX, "a build id that is too long");
        CALL(reader, map, reader->context, &map);
    }
}

static void read_nodes(struct reader *reader)
{
    uint64_t pc = 0;
    holds(reader, number(reader) == reader->nodes, "nodes are missing");
    while (more(reader)) {
        uint64_t back = number(reader);
        uint64_t caller = reader->nodes - back;
        holds(reader, back >= 1 && back <= reader->nodes, "a node calls itself or a younger one");
        holds(reader, caller != 1, "a node is called by no stack");
        pc = changed(reader, pc);
        if (!holds(reader, reader->nodes < UINT32_MAX, "too many nodes"))
            return;
        CALL(reader, node, reader->context, (uint32_t)reader->nodes, (uint32_t)caller, pc);
        reader->nodes++;
    }
}

static void read_threads(struct reader *reader)
{
    while (more(reader)) {
        struct capture_thread thread;
        thread.number = (uint32_t)bounded(reader, UINT32_MAX - 1, too_large);
        thread.id = (uint32_t)bounded(reader, UINT32_MAX, too_large);
        thread.tid = (uint32_t)bounded(reader, UINT32_MAX, too_large);
        thread.alive = (number(reader) & THREAD_ALIVE) != 0;
        thread.since_ms = number(reader);
        thread.name = text(reader);
        CALL(reader, thread, reader->context, &thread);
    }
}

static void read_series(struct reader *reader)
{
    struct capture_point point = {0};
    while (more(reader)) {
        point.time_ms = changed(reader, point.time_ms);
        point.live_bytes = changed(reader, point.live_bytes);
        point.allocated_bytes = changed(reader, point.allocated_bytes);
        point.allocated_objects = changed(reader, point.allocated_objects);
        point.resident_bytes = changed(reader, point.resident_bytes);
        CALL(reader, point, reader->context, &point);
    }
}

static void read_snapshot(struct reader *reader)
{
    struct capture_snapshot snapshot;
    snapshot.number = number(reader);
    snapshot.time_ms = number(reader);
    snapshot.wall_ns = number(reader);
    snapshot.rate = rate(reader);
    snapshot.reason = text(reader);
    reader->inside = true;
    reader->rows = 0;
    CALL(reader, snapshot, reader->context, &snapshot);
    reader->skipped = reader->calls->wanted != NULL ? !reader->calls->wanted(reader->context)
                                                    : reader->calls->row == NULL;
}

static double weight(struct reader *reader)
{
    double value = 1;
    if (!holds(reader, reader->end - reader->at >= 8, "a weight is cut off"))
        return 1;
    uint64_t bits = format_get(reader->at, sizeof bits);
    memcpy(&value, &bits, sizeof value);
    reader->at += sizeof bits;
    /* Also false for what is no number. */
    return holds(reader, value >= 1 && value <= 0x1p64, "a weight below 1") ? value : 1;
}

static void read_row(struct reader *reader, uint64_t *stack)
{
    struct capture_row row = {.weight = 1};
    *stack = changed(reader, *stack);
    holds(reader, *stack < reader->nodes, "a row refers to an unknown stack");
    row.stack = (uint32_t)*stack;
    row.thread = (uint32_t)bounded(reader, UINT32_MAX, too_large) - 1;
    row.size = number(reader);
    row.rate = (int64_t)bounded(reader, INT64_MAX, "a rate is too large");
    uint64_t flags = bounded(reader, 2 * ROW_AGAIN - 1, "a row has unknown fields");
    if ((flags & ROW_WEIGHT) != 0)
        row.weight = weight(reader);
    row.allocated = sum(reader);
    if ((flags & ROW_LIVE) != 0)
        row.live = sum(reader);
    if ((flags & ROW_PEAK) != 0)
        row.peak = sum(reader);
    if ((flags & ROW_MOVED) != 0) {
        row.moved_in = number(reader);
        row.moved_out = number(reader);
    }
    if ((flags & ROW_LIVES) != 0) {
        uint64_t lives = bounded(reader, (1 << FORMAT_LIVES) - 1, "unknown ages");
        for (unsigned i = 0; i < FORMAT_LIVES; i++)
            row.lives[i] = (lives >> i & 1) != 0 ? number(reader) : 0;
    }
    if ((flags & ROW_AGAIN) != 0)
        row.again = bounded(reader, row.allocated.objects, "more blocks repeated than exist");
    reader->rows++;
    CALL(reader, row, reader->context, &row);
}

static void read_rows(struct reader *reader)
{
    uint64_t stack = 0;
    holds(reader, reader->inside, "rows outside of a snapshot");
    while (!reader->skipped && more(reader))
        read_row(reader, &stack);
}

static void read_whole(struct reader *reader)
{
    uint64_t rows = number(reader);
    holds(reader, reader->inside, "an end of a snapshot without its beginning");
    holds(reader, reader->skipped || rows == reader->rows,
          "a snapshot with too few or too many rows");
    reader->inside = false;
    CALL(reader, whole, reader->context, rows);
}

static void read_totals(struct reader *reader)
{
    struct capture_totals totals;
    totals.live = sum(reader);
    totals.allocated = sum(reader);
    totals.peak = sum(reader);
    totals.peak_ms = number(reader);
    totals.seen_live = number(reader);
    totals.seen_allocated = number(reader);
    totals.lost = number(reader);
    totals.refused = optional(reader);
    totals.covered = (optional(reader) & TOTALS_COVERED) != 0;
    totals.off_ms = optional(reader);
    CALL(reader, totals, reader->context, &totals);
}

static void read_allocator(struct reader *reader)
{
    struct capture_allocator allocator = {0};
    uint64_t *fields = (uint64_t *)&allocator; /* the numbers, in the order of the record */
    for (size_t i = 0; i < sizeof allocator / sizeof *fields; i++)
        fields[i] = optional(reader);
    CALL(reader, allocator, reader->context, &allocator);
}

/* Small enough that a sum over all classes can't overflow. */
static struct capture_count count(struct reader *reader)
{
    static const uint64_t max = UINT64_C(1) << 55;
    struct capture_count got;
    got.blocks = bounded(reader, max, "a counter is too large");
    got.bytes = bounded(reader, max, "a counter is too large");
    return got;
}

static void read_classes(struct reader *reader)
{
    enum { CLASSES_MAX = 64, CLASS_SIZE_MAX = 1 << 20 };
    holds(reader, reader->inside, "classes outside of a snapshot");
    for (unsigned i = 0; more(reader); i++) {
        struct capture_class class;
        holds(reader, i < CLASSES_MAX, "too many classes");
        class.size = bounded(reader, CLASS_SIZE_MAX, "the blocks of a class are too large");
        class.allocated = count(reader);
        class.live = count(reader);
        class.peak = count(reader);
        CALL(reader, class, reader->context, &class);
    }
}

static void read_cpu(struct reader *reader)
{
    struct capture_cpu cpu = {.running = (number(reader) & CPU_RUNNING) != 0};
    cpu.rate = number(reader);
    cpu.wall = number(reader) == 1;
    cpu.source = text(reader);
    uint64_t *const fields[] = {&cpu.start_ms,  &cpu.on_ns,   &cpu.samples,
                                &cpu.ns,        &cpu.lost,    &cpu.refused,
                                &cpu.uncovered, &cpu.user_ns, &cpu.system_ns};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        *fields[i] = optional(reader);
    CALL(reader, cpu, reader->context, &cpu);
}

static void read_cpu_threads(struct reader *reader)
{
    while (more(reader)) {
        struct capture_cpu_thread thread;
        thread.number = (uint32_t)bounded(reader, UINT32_MAX - 1, too_large);
        thread.tid = (uint32_t)bounded(reader, UINT32_MAX, too_large);
        thread.alive = (number(reader) & THREAD_ALIVE) != 0;
        thread.first_ms = number(reader);
        thread.last_ms = number(reader);
        thread.cpu_ns = number(reader);
        thread.ns = number(reader);
        thread.samples = number(reader);
        thread.name = text(reader);
        CALL(reader, cpu_thread, reader->context, &thread);
    }
}

static void read_cpu_rows(struct reader *reader)
{
    uint64_t stack = 0;
    holds(reader, reader->inside, "rows outside of a snapshot");
    while (more(reader)) {
        struct capture_cpu_row row;
        stack = changed(reader, stack);
        holds(reader, stack < reader->nodes, "a row refers to an unknown stack");
        row.stack = (uint32_t)stack;
        row.thread = (uint32_t)bounded(reader, UINT32_MAX, too_large) - 1;
        row.samples = number(reader);
        row.ns = number(reader);
        CALL(reader, cpu_row, reader->context, &row);
    }
}

static void read_leaks(struct reader *reader)
{
    struct capture_leaks leaks = {.time_ms = number(reader)};
    leaks.took_us = number(reader);
    leaks.stood_us = number(reader);
    leaks.root_bytes = number(reader);
    leaks.reachable = count(reader);
    leaks.possible = count(reader);
    leaks.indirect = count(reader);
    leaks.definite = count(reader);
    while (more(reader) && leaks.told < CAPTURE_TOLD)
        leaks.values[leaks.told++] = number(reader);
    CALL(reader, leaks, reader->context, &leaks);
}

static void read_leak_rows(struct reader *reader)
{
    holds(reader, reader->inside, "rows outside of a snapshot");
    while (more(reader)) {
        struct capture_leak leak;
        uint64_t stack = number(reader);
        holds(reader, stack < reader->nodes, "a row of an unknown stack");
        leak.stack = (uint32_t)stack;
        leak.thread = (uint32_t)bounded(reader, UINT32_MAX, too_large) - 1;
        leak.size = number(reader);
        leak.requested_bytes = number(reader);
        leak.possible = count(reader);
        leak.indirect = count(reader);
        leak.definite = count(reader);
        leak.owned = count(reader);
        leak.cycles = number(reader);
        leak.address = number(reader);
        leak.word = number(reader);
        CALL(reader, leak, reader->context, &leak);
    }
}

static void read_part(struct reader *reader)
{
    struct capture_part part = {reader->type, reader->at, reader->end, reader->nodes};
    CALL(reader, part, reader->context, &part);
}

static void read_mark(struct reader *reader)
{
    struct capture_mark mark = {.time_ms = number(reader), .name = text(reader)};
    mark.counted = more(reader);
    if (mark.counted) {
        mark.live = count(reader);
        mark.allocated = count(reader);
    }
    CALL(reader, mark, reader->context, &mark);
}

static void read_end(struct reader *reader)
{
    uint64_t time_ms = number(reader);
    reader->ended = true;
    CALL(reader, end, reader->context, time_ms);
}

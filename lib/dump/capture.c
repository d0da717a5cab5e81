/* SPDX-License-Identifier: MIT */
/*
 * See lib/dump/capture.h. A snapshot is a sequence of records between RECORD_SNAPSHOT and
 * RECORD_WHOLE: mappings if they changed, threads, new nodes of stacks, counters by class, the
 * sites, new points of the series, totals. Rows refer to nodes by number, so nodes come first; a
 * site whose stack was added after that waits for the next snapshot.
 */
#include "lib/dump/capture.h"

#include <fcntl.h>
#include <string.h>

#include "base/arch.h"
#include "base/config.h"
#include "base/file/capture_format.h"
#include "base/file/crc.h"
#include "base/file/recorder_format.h"
#include "base/os.h"
#include "lib/alloc/alloc.h"
#include "lib/dump/capture_leaks.h"
#include "lib/dump/capture_record.h"
#include "lib/dump/format_inside.h"
#include "lib/heap/observer.h"
#include "lib/watch/watch.h"

static BULK struct scale scale; /* one writer at a time; static, because the stack may be small */

static void start(struct capture *capture, struct sink *sink);
static void write_process(struct capture *capture);
static void put_program(struct capture *capture);
static void put_file(struct capture *capture, const char *path);
static void write_maps(struct capture *capture);
static uint32_t maps_sum(struct capture *capture);
static bool wanted(const struct map *map);
static void write_gone(struct capture *capture);
static void write_threads(struct capture *capture);
static void write_thread_counts(struct capture *capture);
static void write_nodes(struct capture *capture);
static void write_classes(struct capture *capture, const struct account *account);
static void write_row(void *context, const struct track_row *row);
static void write_series(struct capture *capture, uint64_t end_ms);
static void write_totals(struct capture *capture);
static void write_allocator(struct capture *capture, const struct account *account);

int capture_log_begin(struct capture *capture, struct sink *sink)
{
    start(capture, sink);
    write_process(capture);
    return sink_flush(sink);
}

static void start(struct capture *capture, struct sink *sink)
{
    memset(capture, 0, sizeof *capture);
    capture->sink = sink;
    capture->nodes = STACK_OTHER + 1;
}

static void write_process(struct capture *capture)
{
    char host[64];
    capture_record_begin(capture, RECORD_PROCESS, sizeof capture->payload);
    capture_put(capture, (uint64_t)os_pid());
    capture_put(capture, os_page_size());
    capture_put(capture, format_fold(sampler_rate()));
    capture_put(capture, os_now_ms());
    capture_put(capture, os_wall_ns());
    os_host(host, sizeof host);
    capture_put_text(capture, host);
    capture_put_text(capture, MEMOIR_VERSION);
    put_program(capture);
    put_file(capture, "/proc/self/cmdline");
    capture_record_end(capture);
}

static void put_program(struct capture *capture)
{
    char *path = capture->maps.loaded.path; /* not used between two lists */
    ssize_t got = os_link("/proc/thread-self/exe", path, LOADED_PATH);
    capture_put_bytes(capture, path, got > 0 ? (size_t)got : loaded_program(path));
}

static void put_file(struct capture *capture, const char *path)
{
    char text[1024];
    int fd = os_open(path, O_RDONLY | O_CLOEXEC, 0);
    ssize_t got = fd < 0 ? 0 : os_read(fd, text, sizeof text);
    if (fd >= 0)
        os_close(fd);
    capture_put_bytes(capture, text, got < 0 ? 0 : (size_t)got);
}

static void note_code(struct capture *capture)
{
    struct map map;
    if (!maps_open(&capture->maps))
        return;
    mirror_code_begin();
    while (maps_next(&capture->maps, &map))
        if (map.executable)
            mirror_code_add((uintptr_t)map.start, (uintptr_t)map.end);
    mirror_code_end();
    maps_close(&capture->maps);
}

int capture_log_maps(struct capture *capture)
{
    store_release(&mirror_code_new, false);
    note_code(capture);
    if (capture->maps_crc != 0) { /* the first list is for all nodes so far */
        capture_record_begin(capture, RECORDER_SO_FAR, CAPTURE_ENTRY_MAX);
        capture_put(capture, stacks_count());
        capture_record_end(capture);
    }
    write_maps(capture);
    return sink_flush(capture->sink);
}

static void write_maps(struct capture *capture)
{
    struct map map;
    uint8_t id[MAPS_ID_MAX];
    uint64_t flags = MAPS_FIRST;
    uint32_t crc = maps_sum(capture);
    if ((crc == capture->maps_crc && crc != 0) || !maps_open(&capture->maps))
        return;
    capture->maps_crc = crc;
    while (maps_next(&capture->maps, &map)) {
        if (!wanted(&map))
            continue;
        if (capture_record_begin(capture, RECORD_MAPS, CAPTURE_ENTRY_MAX + strlen(map.path))) {
            capture_put(capture, flags);
            flags = 0;
        }
        capture_put(capture, map.start);
        capture_put(capture, map.end - map.start);
        capture_put(capture, map.readable * MAP_READABLE + map.writable * MAP_WRITABLE +
                                 map.executable * MAP_EXECUTABLE + map.shared * MAP_SHARED_BIT);
        capture_put(capture, map.offset);
        capture_put(capture, map.device);
        capture_put(capture, map.inode);
        capture_put_text(capture, map.path);
        capture_put_bytes(capture, id, maps_build_id(&capture->maps, &map, id));
    }
    maps_close(&capture->maps);
    write_gone(capture);
    capture_record_end(capture);
}

static uint32_t maps_sum(struct capture *capture)
{
    struct map map;
    uint32_t crc = 0;
    if (!maps_open(&capture->maps))
        return 0;
    while (maps_next(&capture->maps, &map)) {
        uint64_t numbers[] = {map.start, map.end, map.offset, map.inode, map.executable};
        if (map.executable) /* stacks and heaps grow; only the ranges of code matter */
            crc = crc_add(crc_add(crc, numbers, sizeof numbers), map.path, strlen(map.path));
    }
    maps_close(&capture->maps);
    unsigned gone = unloaded_count();
    return gone > 0 ? crc_add(crc, &gone, sizeof gone) : crc;
}

static bool wanted(const struct map *map)
{
    return map->path[0] != '\0' || map->executable;
}

/* Appends the objects that were unloaded to the list. */
static void write_gone(struct capture *capture)
{
    for (unsigned i = 0; i < unloaded_count(); i++) {
        const struct unloaded *gone = unloaded_at(i);
        if (capture_record_begin(capture, RECORD_MAPS, CAPTURE_ENTRY_MAX + UNLOADED_PATH))
            capture_put(capture, 0);
        capture_put(capture, gone->start);
        capture_put(capture, gone->end - gone->start);
        capture_put(capture, MAP_GONE);
        capture_put(capture, gone->offset);
        capture_put(capture, 0); /* device */
        capture_put(capture, load_relaxed(&gone->nodes));
        capture_put_text(capture, gone->path);
        capture_put_bytes(capture, gone->id, gone->id_length);
    }
}

void capture_begin(struct capture *capture, struct sink *sink)
{
    uint8_t head[FORMAT_HEAD_SIZE] = {0};
    start(capture, sink);
    memcpy(head, FORMAT_MAGIC, sizeof FORMAT_MAGIC);
    format_put(head + 8, FORMAT_VERSION, 2);
    format_put(head + 10, ARCH_MACHINE, 2);
    sink_bytes(sink, head, sizeof head);
    write_process(capture);
    sink_flush(sink);
}

int capture_snapshot(struct capture *capture, const char *reason, const struct account *account)
{
    capture_record_begin(capture, RECORD_SNAPSHOT, CAPTURE_TEXT_MAX + CAPTURE_ENTRY_MAX);
    capture_put(capture, capture->snapshots++);
    capture_put(capture, os_now_ms());
    capture_put(capture, os_wall_ns());
    capture_put(capture, format_fold(sampler_rate()));
    capture_put_text(capture, reason);
    capture_record_end(capture);
    write_maps(capture);
    write_threads(capture);
    write_nodes(capture);
    write_classes(capture, account);
    capture->rows = 0;
    track_each(write_row, capture);
    capture_record_end(capture);
    write_series(capture, os_now_ms());
    write_totals(capture);
    write_allocator(capture, account);
    capture_cpu(capture);
    capture_locks(capture);
    capture_leaks(capture);
    capture_pins(capture, account);
    capture_record_begin(capture, RECORD_WHOLE, CAPTURE_ENTRY_MAX);
    capture_put(capture, capture->rows);
    capture_record_end(capture);
    return sink_flush(capture->sink);
}

static void write_threads(struct capture *capture)
{
    struct thread_row thread;
    for (uint32_t number = 0; number < threads_count(); number++) {
        if (!threads_row(number, &thread))
            continue;
        capture_record_begin(capture, RECORD_THREADS, CAPTURE_ENTRY_MAX);
        capture_put(capture, number);
        capture_put(capture, thread.id);
        capture_put(capture, thread.tid);
        capture_put(capture, thread.alive ? THREAD_ALIVE : 0);
        capture_put(capture, thread.since_ms);
        capture_put_text(capture, thread.name);
    }
    capture_record_end(capture);
    write_thread_counts(capture);
}

/* By number + 1; 0: threads whose rows others have. */
static void write_thread_counts(struct capture *capture)
{
    struct thread_counts counts;
    for (uint32_t entry = 0; entry <= threads_count(); entry++) {
        if (!threads_counts(entry == 0 ? THREAD_OTHER : entry - 1, &counts))
            continue;
        capture_record_begin(capture, RECORD_THREAD_COUNTS, CAPTURE_ENTRY_MAX);
        capture_put(capture, entry);
        capture_put(capture, counts.objects);
        capture_put(capture, counts.bytes);
    }
    capture_record_end(capture);
}

static void write_nodes(struct capture *capture)
{
    uint32_t end = stacks_count();
    uintptr_t before = 0;
    for (; capture->nodes < end; capture->nodes++) {
        uint32_t caller = STACK_NONE;
        uintptr_t pc = 0;
        stacks_node(capture->nodes, &caller, &pc);
        if (capture_record_begin(capture, RECORD_NODES, CAPTURE_ENTRY_MAX)) {
            capture_put(capture, capture->nodes);
            before = 0;
        }
        capture_put(capture, capture->nodes - caller);
        capture_put_change(capture, before, pc);
        before = pc;
    }
    capture_record_end(capture);
}

/* The allocator's counters, class by class. */
static void write_classes(struct capture *capture, const struct account *account)
{
    scale_prepare(&scale, account);
    for (unsigned row = 1; row < ACCOUNT_ROWS; row++) {
        const struct account_sum *sum = &account->classes[row];
        if (sum->allocs == 0)
            continue;
        capture_record_begin(capture, RECORD_CLASSES, CAPTURE_ENTRY_MAX);
        capture_put(capture, row == ACCOUNT_LARGE ? 0 : class_size(row));
        capture_put(capture, sum->allocs);
        capture_put(capture, sum->alloc_bytes);
        capture_put(capture, account_live(sum));
        capture_put(capture, account_live_bytes(sum));
        struct track_sum peak = scale_peak(&scale, row);
        capture_put(capture, peak.objects);
        capture_put(capture, peak.usable);
    }
    capture_record_end(capture);
}

static void write_row(void *context, const struct track_row *row)
{
    struct capture *capture = context;
    unsigned flags = 0, lives = 0;
    for (unsigned i = 0; i < LIFE_BUCKETS; i++)
        lives |= (row->lives[i] != 0) << i;
    flags |= row->live.objects != 0 ? ROW_LIVE : 0;
    flags |= row->peak.objects != 0 ? ROW_PEAK : 0;
    flags |= row->moved_out != 0 ? ROW_MOVED : 0;
    flags |= row->again != 0 ? ROW_AGAIN : 0;
    flags |= lives != 0 ? ROW_LIVES : 0;
    flags |= row->weight != 1 ? ROW_WEIGHT : 0;
    if (row->stack >= capture->nodes) /* added after this snapshot began */
        write_nodes(capture);
    if (capture_record_begin(capture, RECORD_ROWS, CAPTURE_ENTRY_MAX))
        capture->last_stack = 0;
    capture_put_change(capture, capture->last_stack, row->stack);
    capture->last_stack = row->stack;
    capture_put(capture, row->thread == THREAD_OTHER ? 0 : (uint64_t)row->thread + 1);
    capture_put(capture, row->size);
    capture_put(capture, (uint64_t)row->rate);
    capture_put(capture, flags);
    if ((flags & ROW_WEIGHT) != 0) {
        uint64_t bits;
        memcpy(&bits, &row->weight, sizeof bits);
        format_put(capture->payload + capture->used, bits, sizeof bits);
        capture->used += sizeof bits;
    }
    capture_put_sum(capture, &row->allocated);
    if ((flags & ROW_LIVE) != 0)
        capture_put_sum(capture, &row->live);
    if ((flags & ROW_PEAK) != 0)
        capture_put_sum(capture, &row->peak);
    if ((flags & ROW_MOVED) != 0) {
        capture_put(capture, 0);
        capture_put(capture, row->moved_out);
    }
    if ((flags & ROW_LIVES) != 0) {
        capture_put(capture, lives);
        for (unsigned i = 0; i < LIFE_BUCKETS; i++)
            if (row->lives[i] != 0)
                capture_put(capture, row->lives[i]);
    }
    if ((flags & ROW_AGAIN) != 0)
        capture_put(capture, row->again);
    capture->rows++;
}

/* Points before `end_ms`: one of this very tick of the clock may still change. */
static void write_series(struct capture *capture, uint64_t end_ms)
{
    static const struct series_point nothing;
    size_t size = SERIES_MAX * sizeof(struct series_point);
    struct series_point *points = os_map(size);
    if (points == NULL)
        return;
    const struct series_point *before = &nothing;
    unsigned count = series_points(points);
    for (unsigned i = 0; i < count; i++) {
        const struct series_point *point = &points[i];
        if (point->time_ms <= capture->series_ms || point->time_ms >= end_ms)
            continue;
        capture->series_ms = point->time_ms;
        if (capture_record_begin(capture, RECORD_SERIES, CAPTURE_ENTRY_MAX))
            before = &nothing;
        capture_put_change(capture, before->time_ms, point->time_ms);
        capture_put_change(capture, before->live_bytes, point->live_bytes);
        capture_put_change(capture, before->allocated_bytes, point->allocated_bytes);
        capture_put_change(capture, before->allocated_objects, point->allocated_objects);
        capture_put_change(capture, before->resident_bytes, point->resident_bytes);
        before = point;
    }
    capture_record_end(capture);
    os_unmap(points, size);
}

static void write_totals(struct capture *capture)
{
    struct track_totals totals;
    struct track_seen seen;
    track_totals(&totals, &scale);
    track_seen(&seen);
    capture_record_begin(capture, RECORD_TOTALS, CAPTURE_ENTRY_MAX);
    capture_put_sum(capture, &totals.live);
    capture_put_sum(capture, &totals.allocated);
    capture_put_sum(capture, &totals.peak);
    capture_put(capture, totals.peak_ms);
    capture_put(capture, seen.live);
    capture_put(capture, seen.allocated);
    capture_put(capture, seen.lost);
    capture_put(capture, stacks_refused());
    capture_put(capture, track_covered() ? TOTALS_COVERED : 0);
    capture_put(capture, track_off_ms());
    capture_record_end(capture);
}

static void write_allocator(struct capture *capture, const struct account *account)
{
    struct series_memory process;
    series_memory_now(&process);
    const uint64_t numbers[] = {
        account->total.allocs,
        account->total.frees,
        account->total.alloc_bytes,
        account->total.free_bytes,
        account->live_blocks,
        account->live_bytes,
        account->cached_bytes,
        account->fragmented_bytes,
        account->dirty_bytes,
        account->metadata_bytes,
        account->mapped_bytes,
        account->resident_bytes,
        account->returned_bytes,
        account->heaps,
        process.peak,
        process.anonymous,
        process.files,
        process.shared,
    };
    capture_record_begin(capture, RECORD_ALLOCATOR, CAPTURE_ENTRY_MAX);
    for (unsigned i = 0; i < COUNT_OF(numbers); i++)
        capture_put(capture, numbers[i]);
    capture_record_end(capture);
}

int capture_mark(struct capture *capture, const char *name, const struct account_sum *total)
{
    capture_record_begin(capture, RECORD_MARK, CAPTURE_TEXT_MAX + CAPTURE_ENTRY_MAX);
    capture_put(capture, os_now_ms());
    capture_put_text(capture, name);
    capture_put(capture, account_live(total));
    capture_put(capture, account_live_bytes(total));
    capture_put(capture, total->allocs);
    capture_put(capture, total->alloc_bytes);
    capture_record_end(capture);
    return sink_flush(capture->sink);
}

int capture_end(struct capture *capture)
{
    write_series(capture, UINT64_MAX);
    capture_record_begin(capture, RECORD_END, CAPTURE_ENTRY_MAX);
    capture_put(capture, os_now_ms());
    capture_record_end(capture);
    return sink_flush(capture->sink);
}

int format_capture(const struct format_options *options, struct sink *sink)
{
    static BULK struct capture capture; /* one writer at a time; static, because the stack may be
                                           small */
    capture_begin(&capture, sink);
    if (!options->leaks && !config.leak_at_exit)
        capture.leaks_ms = UINT64_MAX; /* an old one is not about this moment */
    capture.pins_always = true;
    capture_snapshot(&capture, options->reason, options->account);
    return capture_end(&capture);
}

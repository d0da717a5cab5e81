/* SPDX-License-Identifier: MIT */
/*
 * See lib/dump/capture.h. A record is made in `payload` and sent when it is full or of another
 * kind; what depends on the entry before (differences) begins anew in every record.
 */
#include "lib/dump/capture.h"

#include <fcntl.h>
#include <string.h>

#include "base/arch.h"
#include "base/crc.h"
#include "base/format.h"
#include "base/os.h"
#include "base/proto.h"
#include "lib/alloc/alloc.h"
#include "lib/dump/format_parts.h"
#include "lib/heap/observer.h"
#include "lib/watch/watch.h"

enum { ENTRY_MOST = 512, TEXT_MOST = 4608 }; /* bytes of an entry without its texts; of a text */

/* ---- records ---- */

static void end_record(struct capture *capture)
{
    uint8_t head[FORMAT_RECORD_HEAD];
    if (capture->type == 0)
        return;
    format_put(head, capture->type, 4);
    format_put(head + 4, capture->used, 4);
    uint32_t crc = crc_add(0, head, 8);
    format_put(head + 8, crc_add(crc, capture->payload, capture->used), 4);
    sink_bytes(capture->sink, head, sizeof head);
    sink_bytes(capture->sink, capture->payload, capture->used);
    capture->type = 0;
}

/* A record of that kind with so many bytes left; true if it is a new one. */
static bool begin_record(struct capture *capture, uint32_t type, size_t room)
{
    if (capture->type == type && sizeof capture->payload - capture->used >= room)
        return false;
    end_record(capture);
    capture->type = type;
    capture->used = 0;
    return true;
}

static void put(struct capture *capture, uint64_t value)
{
    if (sizeof capture->payload - capture->used >= VARINT_MOST)
        capture->used += varint_write(capture->payload + capture->used, value);
}

static void put_change(struct capture *capture, uint64_t before, uint64_t now)
{
    put(capture, format_fold((int64_t)(now - before)));
}

static void put_bytes(struct capture *capture, const void *bytes, size_t length)
{
    size_t room = sizeof capture->payload - capture->used;
    length = length < TEXT_MOST ? length : TEXT_MOST;
    if (room < length + VARINT_MOST)
        length = 0;
    put(capture, length);
    if (length > 0)
        memcpy(capture->payload + capture->used, bytes, length);
    capture->used += length;
}

static void put_text(struct capture *capture, const char *text)
{
    put_bytes(capture, text, text == NULL ? 0 : strlen(text));
}

static void put_sum(struct capture *capture, const struct track_sum *sum)
{
    put(capture, sum->objects);
    put(capture, sum->requested);
    put(capture, sum->usable);
}

/* ---- what is known ---- */

static void put_file(struct capture *capture, const char *path)
{
    char text[1024];
    int fd = os_open(path, O_RDONLY | O_CLOEXEC, 0);
    ssize_t got = fd < 0 ? 0 : os_read(fd, text, sizeof text);
    if (fd >= 0)
        os_close(fd);
    put_bytes(capture, text, got < 0 ? 0 : (size_t)got);
}

static void put_program(struct capture *capture)
{
    char *path = capture->maps.loaded.path; /* free to use between two lists */
    ssize_t got = os_link("/proc/thread-self/exe", path, LOADED_PATH);
    put_bytes(capture, path, got > 0 ? (size_t)got : loaded_program(path));
}

static void write_process(struct capture *capture)
{
    char host[64];
    begin_record(capture, RECORD_PROCESS, sizeof capture->payload);
    put(capture, (uint64_t)os_pid());
    put(capture, os_page_size());
    put(capture, format_fold(sampler_rate()));
    put(capture, os_now_ms());
    put(capture, os_wall_ns());
    os_host(host, sizeof host);
    put_text(capture, host);
    put_text(capture, MEMOIR_VERSION);
    put_program(capture);
    put_file(capture, "/proc/self/cmdline");
    end_record(capture);
}

static bool wanted(const struct map *map)
{
    return map->path[0] != '\0' || map->executable;
}

static uint32_t maps_sum(struct capture *capture)
{
    struct map map;
    uint32_t crc = 0;
    if (!maps_open(&capture->maps))
        return 0;
    while (maps_next(&capture->maps, &map)) {
        uint64_t numbers[] = {map.start, map.end, map.offset, map.inode, map.executable};
        if (map.executable) /* stacks and heaps grow; what code is where matters */
            crc = crc_add(crc_add(crc, numbers, sizeof numbers), map.path, strlen(map.path));
    }
    maps_close(&capture->maps);
    unsigned gone = unloaded_count();
    return gone > 0 ? crc_add(crc, &gone, sizeof gone) : crc;
}

/* Objects that were unloaded go on with the list. */
static void write_gone(struct capture *capture)
{
    for (unsigned i = 0; i < unloaded_count(); i++) {
        const struct unloaded *gone = unloaded_at(i);
        if (begin_record(capture, RECORD_MAPS, ENTRY_MOST + UNLOADED_NAME))
            put(capture, 0);
        put(capture, gone->start);
        put(capture, gone->end - gone->start);
        put(capture, MAP_GONE);
        for (unsigned zero = 0; zero < 3; zero++) /* offset, device, inode */
            put(capture, 0);
        put_text(capture, gone->name);
        put_bytes(capture, gone->id, gone->id_length);
    }
}

static void write_maps(struct capture *capture)
{
    struct map map;
    uint8_t id[MAPS_ID_MOST];
    uint64_t flags = MAPS_FIRST;
    uint32_t crc = maps_sum(capture);
    if ((crc == capture->maps_crc && crc != 0) || !maps_open(&capture->maps))
        return;
    capture->maps_crc = crc;
    while (maps_next(&capture->maps, &map)) {
        if (!wanted(&map))
            continue;
        if (begin_record(capture, RECORD_MAPS, ENTRY_MOST + strlen(map.path))) {
            put(capture, flags);
            flags = 0;
        }
        put(capture, map.start);
        put(capture, map.end - map.start);
        put(capture, map.readable * MAP_READABLE + map.writable * MAP_WRITABLE +
                         map.executable * MAP_EXECUTABLE + map.shared * MAP_SHARED_BIT);
        put(capture, map.offset);
        put(capture, map.device);
        put(capture, map.inode);
        put_text(capture, map.path);
        put_bytes(capture, id, maps_build_id(&capture->maps, &map, id));
    }
    maps_close(&capture->maps);
    write_gone(capture);
    end_record(capture);
}

static void write_nodes(struct capture *capture)
{
    uint32_t end = stacks_count();
    uintptr_t before = 0;
    for (; capture->nodes < end; capture->nodes++) {
        uint32_t caller = STACK_NONE;
        uintptr_t pc = 0;
        stacks_node(capture->nodes, &caller, &pc);
        if (begin_record(capture, RECORD_NODES, ENTRY_MOST)) {
            put(capture, capture->nodes);
            before = 0;
        }
        put(capture, capture->nodes - caller);
        put_change(capture, before, pc);
        before = pc;
    }
    end_record(capture);
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
    if (row->stack >= capture->nodes) /* younger than this snapshot */
        write_nodes(capture);
    if (begin_record(capture, RECORD_ROWS, ENTRY_MOST))
        capture->last_stack = 0;
    put_change(capture, capture->last_stack, row->stack);
    capture->last_stack = row->stack;
    put(capture, row->thread == THREAD_OTHER ? 0 : (uint64_t)row->thread + 1);
    put(capture, row->size);
    put(capture, (uint64_t)row->rate);
    put(capture, flags);
    if ((flags & ROW_WEIGHT) != 0) {
        uint64_t bits;
        memcpy(&bits, &row->weight, sizeof bits);
        format_put(capture->payload + capture->used, bits, sizeof bits);
        capture->used += sizeof bits;
    }
    put_sum(capture, &row->allocated);
    if ((flags & ROW_LIVE) != 0)
        put_sum(capture, &row->live);
    if ((flags & ROW_PEAK) != 0)
        put_sum(capture, &row->peak);
    if ((flags & ROW_MOVED) != 0) {
        put(capture, 0);
        put(capture, row->moved_out);
    }
    if ((flags & ROW_LIVES) != 0) {
        put(capture, lives);
        for (unsigned i = 0; i < LIFE_BUCKETS; i++)
            if (row->lives[i] != 0)
                put(capture, row->lives[i]);
    }
    if ((flags & ROW_AGAIN) != 0)
        put(capture, row->again);
    capture->rows++;
}

static void write_threads(struct capture *capture)
{
    struct thread_row thread;
    for (uint32_t number = 0; number < threads_count(); number++) {
        if (!threads_row(number, &thread))
            continue;
        begin_record(capture, RECORD_THREADS, ENTRY_MOST);
        put(capture, number);
        put(capture, thread.id);
        put(capture, thread.tid);
        put(capture, thread.alive ? THREAD_ALIVE : 0);
        put(capture, thread.since_ms);
        put_text(capture, thread.name);
    }
    end_record(capture);
}

static void write_series(struct capture *capture)
{
    static const struct series_point nothing;
    size_t size = SERIES_MOST * sizeof(struct series_point);
    struct series_point *points = os_map(size);
    if (points == NULL)
        return;
    const struct series_point *before = &nothing;
    unsigned count = series_points(points);
    for (unsigned i = 0; i < count; i++) {
        const struct series_point *point = &points[i];
        if (point->time_ms <= capture->series_ms)
            continue;
        capture->series_ms = point->time_ms;
        if (begin_record(capture, RECORD_SERIES, ENTRY_MOST))
            before = &nothing;
        put_change(capture, before->time_ms, point->time_ms);
        put_change(capture, before->live_bytes, point->live_bytes);
        put_change(capture, before->allocated_bytes, point->allocated_bytes);
        put_change(capture, before->allocated_objects, point->allocated_objects);
        put_change(capture, before->resident_bytes, point->resident_bytes);
        before = point;
    }
    end_record(capture);
    os_unmap(points, size);
}

static BULK struct scale scale; /* one writer at a time, and stacks may be small */

/* What the allocator counted, class by class. */
static void write_classes(struct capture *capture, const struct account *account)
{
    scale_prepare(&scale, account);
    for (unsigned row = 1; row < ACCOUNT_ROWS; row++) {
        const struct account_sum *sum = &account->classes[row];
        if (sum->allocs == 0)
            continue;
        begin_record(capture, RECORD_CLASSES, ENTRY_MOST);
        put(capture, row == ACCOUNT_LARGE ? 0 : class_size(row));
        put(capture, sum->allocs);
        put(capture, sum->alloc_bytes);
        put(capture, account_live(sum));
        put(capture, account_live_bytes(sum));
        struct track_sum peak = scale_peak(&scale, row);
        put(capture, peak.objects);
        put(capture, peak.usable);
    }
    end_record(capture);
}

static void write_totals(struct capture *capture)
{
    struct track_totals totals;
    struct track_seen seen;
    track_totals(&totals, &scale);
    track_seen(&seen);
    begin_record(capture, RECORD_TOTALS, ENTRY_MOST);
    put_sum(capture, &totals.live);
    put_sum(capture, &totals.allocated);
    put_sum(capture, &totals.peak);
    put(capture, totals.peak_ms);
    put(capture, seen.live);
    put(capture, seen.allocated);
    put(capture, seen.lost);
    put(capture, stacks_refused());
    put(capture, track_covered() ? TOTALS_COVERED : 0);
    put(capture, track_off_ms());
    end_record(capture);
}

static void write_allocator(struct capture *capture, const struct account *account)
{
    const uint64_t numbers[] = {
        account->total.allocs,      account->total.frees,
        account->total.alloc_bytes, account->total.free_bytes,
        account->live_blocks,       account->live_bytes,
        account->cached_bytes,      account->fragmented_bytes,
        account->dirty_bytes,       account->metadata_bytes,
        account->mapped_bytes,      account->resident_bytes,
        account->returned_bytes,    account->heaps,
        series_resident_peak(),
    };
    begin_record(capture, RECORD_ALLOCATOR, ENTRY_MOST);
    for (unsigned i = 0; i < COUNT_OF(numbers); i++)
        put(capture, numbers[i]);
    end_record(capture);
}

/* ---- the calls ---- */

void capture_begin(struct capture *capture, struct sink *sink)
{
    uint8_t head[FORMAT_HEAD_SIZE] = {0};
    memset(capture, 0, sizeof *capture);
    capture->sink = sink;
    capture->nodes = STACK_OTHER + 1;
    memcpy(head, FORMAT_MAGIC, sizeof FORMAT_MAGIC);
    format_put(head + 8, FORMAT_VERSION, 2);
    format_put(head + 10, ARCH_MACHINE, 2);
    sink_bytes(sink, head, sizeof head);
    write_process(capture);
    sink_flush(sink);
}

int capture_snapshot(struct capture *capture, const char *reason, const struct account *account)
{
    begin_record(capture, RECORD_SNAPSHOT, TEXT_MOST + ENTRY_MOST);
    put(capture, capture->snapshots++);
    put(capture, os_now_ms());
    put(capture, os_wall_ns());
    put(capture, format_fold(sampler_rate()));
    put_text(capture, reason);
    end_record(capture);
    write_maps(capture);
    write_threads(capture);
    write_nodes(capture);
    write_classes(capture, account);
    capture->rows = 0;
    track_each(write_row, capture);
    end_record(capture);
    write_series(capture);
    write_totals(capture);
    write_allocator(capture, account);
    begin_record(capture, RECORD_WHOLE, ENTRY_MOST);
    put(capture, capture->rows);
    end_record(capture);
    return sink_flush(capture->sink);
}

int capture_mark(struct capture *capture, const char *name, const struct account_sum *total)
{
    begin_record(capture, RECORD_MARK, TEXT_MOST + ENTRY_MOST);
    put(capture, os_now_ms());
    put_text(capture, name);
    put(capture, account_live(total));
    put(capture, account_live_bytes(total));
    put(capture, total->allocs);
    put(capture, total->alloc_bytes);
    end_record(capture);
    return sink_flush(capture->sink);
}

int capture_end(struct capture *capture)
{
    begin_record(capture, RECORD_END, ENTRY_MOST);
    put(capture, os_now_ms());
    end_record(capture);
    return sink_flush(capture->sink);
}

int format_capture(const struct format_options *options, struct sink *sink)
{
    static BULK struct capture capture; /* one writer at a time, and stacks may be small */
    capture_begin(&capture, sink);
    capture_snapshot(&capture, options->reason, options->account);
    return capture_end(&capture);
}

/* SPDX-License-Identifier: MIT */
/*
 * with-readers: captures, written and read back: every row, node, thread and mark; what was in the
 * file is not written again; a file that is cut anywhere is read up to its last whole record; a
 * file with a changed bit is never taken for a whole one.
 */
#include "tool/profile/capture/capture_records.h"

#include "lib/dump/capture.h"

#include "tests/unit/unit.h"

#include "base/file/crc.h"
#include "lib/dump/dump.h"
#include "lib/heap/observer.h"
#include "lib/heap/threads.h"
#include "lib/heap/track.h"
#include "lib/watch/stacks.h"
#include "lib/watch/unwind.h"
#include "lib/watch/watch.h"

enum { BLOCKS = 1000, ROWS_MAX = 4096, RATE = 4096 };

static uint8_t file[1 << 21];
static size_t file_length;
static struct capture capture;
static char buffer[1000];
static struct sink sink;

static struct {
    struct track_row rows[ROWS_MAX];
    unsigned rows_known, rows_read, nodes, threads, points, snapshots, wholes, marks, maps, mapped,
        totals, allocators, ends;
    uint32_t last_node;
} seen;

static int keep(void *context, const void *bytes, size_t length)
{
    (void)context;
    assert(length <= sizeof file - file_length);
    memcpy(file + file_length, bytes, length);
    file_length += length;
    return 0;
}

static struct record records[BLOCKS];

__attribute__((noinline)) static void one(unsigned i, uint64_t born)
{
    struct caller caller = CALLER_HERE;
    unsigned class = 2 + i % 7;
    caller.pc += i % 11; /* other stacks, as far as anybody knows */
    size_t size = class_size(class);
    track_begin(&records[i], &caller, class, size, size - i % 8, born, sampler_number());
    __asm__ volatile("" ::: "memory");
}

static void end_one(unsigned i, bool moved)
{
    size_t size = class_size(2 + i % 7);
    track_end(&records[i], NULL, size, size - i % 8, moved);
}

static void *in_thread(void *context)
{
    threads_set_name(context);
    for (unsigned i = BLOCKS / 2; i < BLOCKS; i++)
        one(i, i % 5 == 0 ? TRACK_MOVED : 0);
    return NULL;
}

static void fill(int64_t rate)
{
    pthread_t thread;
    static char name[] = "odd \x01 name";
    sampler_set_rate(rate);
    for (unsigned i = 0; i < BLOCKS / 2; i++)
        one(i, 0);
    assert(pthread_create(&thread, NULL, in_thread, name) == 0);
    assert(pthread_join(thread, NULL) == 0);
    for (unsigned i = 0; i < BLOCKS; i += 3)
        end_one(i, i % 2 == 0);
}

static bool is(struct capture_text text, const char *wanted)
{
    return text.length == strlen(wanted) && memcmp(text.bytes, wanted, text.length) == 0;
}

static void on_process(void *context, const struct capture_process *process)
{
    assert(context == &seen && process->pid == (uint64_t)getpid());
    assert(process->page_size == (uint64_t)sysconf(_SC_PAGESIZE));
    assert(process->wall_ns > UINT64_C(1500000000) * 1000000000);
    assert(process->program.length > 0 && process->program.bytes[0] == '/');
    assert(is(process->version, MEMOIR_VERSION) && process->machine != 0);
    assert(process->command.length > 0);
}

static void on_maps(void *context)
{
    (void)context;
    seen.maps++;
}

static void on_map(void *context, const struct capture_map *map)
{
    (void)context;
    uintptr_t here = (uintptr_t)on_map;
    assert(seen.maps > 0 && map->start < map->end);
    if (map->start <= here && here < map->end) {
        seen.mapped++;
        assert(unit_emulated() || ((map->flags & MAP_EXECUTABLE) != 0 && map->path.length > 0));
    }
}

static void on_node(void *context, uint32_t node, uint32_t caller, uint64_t pc)
{
    uint32_t wanted_caller;
    uintptr_t wanted_pc;
    (void)context;
    assert(node == seen.last_node + 1 || seen.nodes == 0);
    assert(stacks_node(node, &wanted_caller, &wanted_pc));
    assert(caller == wanted_caller && pc == wanted_pc);
    seen.last_node = node;
    seen.nodes++;
}

static void on_thread(void *context, const struct capture_thread *thread)
{
    struct thread_row row;
    (void)context;
    seen.threads++;
    assert(threads_row(thread->number, &row));
    if (seen.snapshots < 2) /* the row may be another thread's since */
        return;
    assert(is(thread->name, row.name) && row.id == thread->id && row.tid == thread->tid);
    assert(row.alive == thread->alive && row.since_ms == thread->since_ms);
}

static void on_point(void *context, const struct capture_point *point)
{
    (void)context;
    assert(point->time_ms > 0);
    seen.points++;
}

static void on_snapshot(void *context, const struct capture_snapshot *snapshot)
{
    (void)context;
    assert(snapshot->number == seen.snapshots);
    assert(snapshot->rate == (seen.snapshots == 0 ? SAMPLER_EXACT : RATE));
    assert(is(snapshot->reason, seen.snapshots == 0 ? "the first" : ""));
    seen.snapshots++;
    seen.rows_read = 0;
}

static bool same_sum(const struct capture_sum *a, const struct track_sum *b)
{
    return a->objects == b->objects && a->requested == b->requested && a->usable == b->usable;
}

static void on_row(void *context, const struct capture_row *row)
{
    (void)context;
    seen.rows_read++;
    if (seen.snapshots < 2) /* later ones have other numbers than that */
        return;
    const struct track_row *wanted = &seen.rows[seen.rows_read - 1];
    assert(row->stack == wanted->stack && row->thread == wanted->thread);
    assert(row->size == wanted->size && row->rate == wanted->rate);
    assert(row->weight == wanted->weight);
    assert(same_sum(&row->live, &wanted->live) && same_sum(&row->allocated, &wanted->allocated));
    assert(same_sum(&row->peak, &wanted->peak));
    assert(row->again == wanted->again && row->moved_out == wanted->moved_out);
    assert(memcmp(row->lives, wanted->lives, sizeof row->lives) == 0);
}

static void on_whole(void *context, uint64_t rows)
{
    (void)context;
    assert(rows == seen.rows_read);
    seen.wholes++;
}

static void on_totals(void *context, const struct capture_totals *totals)
{
    struct track_seen wanted;
    (void)context;
    seen.totals++;
    track_seen(&wanted);
    if (seen.snapshots == 2)
        assert(totals->seen_live == wanted.live && totals->seen_allocated == wanted.allocated);
}

static void on_allocator(void *context, const struct capture_allocator *allocator)
{
    (void)context;
    assert(allocator->allocs == 1 && allocator->heaps == 2 && allocator->dirty_bytes == 1 << 20);
    seen.allocators++;
}

static void on_mark(void *context, const struct capture_mark *mark)
{
    (void)context;
    assert(mark->time_ms > 0 && is(mark->name, "between") && seen.wholes == 1);
    seen.marks++;
}

static void on_end(void *context, uint64_t time_ms)
{
    (void)context;
    assert(time_ms > 0);
    seen.ends++;
}

static const struct capture_calls calls = {
    .process = on_process,
    .maps = on_maps,
    .map = on_map,
    .node = on_node,
    .thread = on_thread,
    .point = on_point,
    .snapshot = on_snapshot,
    .row = on_row,
    .whole = on_whole,
    .totals = on_totals,
    .allocator = on_allocator,
    .mark = on_mark,
    .end = on_end,
};
static const struct capture_calls no_calls;

static void remember(void *context, const struct track_row *row)
{
    (void)context;
    assert(seen.rows_known < ROWS_MAX);
    seen.rows[seen.rows_known++] = *row;
}

static void all_comes_back(void)
{
    struct account account = {.total = {.allocs = 1}, .heaps = 2, .dirty_bytes = 1 << 20};
    struct capture_error error;
    sink_to_function(&sink, keep, NULL, buffer, sizeof buffer);
    capture_begin(&capture, &sink);
    assert(capture_snapshot(&capture, "the first", &account) == 0);
    assert(capture_mark(&capture, "between", &account.total) == 0);
    size_t before = file_length;
    fill(RATE);
    assert(capture_snapshot(&capture, NULL, &account) == 0);
    assert(file_length > before);
    assert(capture_end(&capture) == 0);
    track_each(remember, NULL);
    assert(seen.rows_known > 100);

    enum capture_result result = capture_read(file, file_length, &calls, &seen, &error);
    if (result != CAPTURE_WHOLE)
        fprintf(stderr, "at %lu: %s\n", (unsigned long)error.offset, error.reason);
    assert(result == CAPTURE_WHOLE && error.offset == file_length && error.reason == NULL);
    assert(seen.snapshots == 2 && seen.wholes == 2 && seen.marks == 1 && seen.ends == 1);
    assert(seen.rows_read == seen.rows_known && seen.nodes == stacks_count() - 2);
    assert(seen.threads >= 2 * 2 && seen.totals == 2 && seen.allocators == 2);
    assert(seen.mapped == seen.maps && seen.maps >= 1);
}

static unsigned records_read;

static void count(void *context, uint64_t rows)
{
    (void)context;
    (void)rows;
    records_read++;
}

static void a_cut_file_is_read_as_far_as_it_goes(void)
{
    static const struct capture_calls counting = {.whole = count};
    struct capture_error error;
    unsigned max = 0;
    for (size_t length = 0; length < file_length;
         length += length + 1000 < file_length ? 1 + length / 300 : 1) {
        uint8_t *copy = malloc(length + 1); /* so that reading beyond it is seen */
        assert(copy != NULL);
        memcpy(copy, file, length);
        records_read = 0;
        enum capture_result result = capture_read(copy, length, &counting, NULL, &error);
        assert(result == (length < FORMAT_HEAD_SIZE ? CAPTURE_REFUSED : CAPTURE_TORN));
        assert(error.offset <= length && error.reason != NULL && records_read >= max);
        max = records_read;
        free(copy);
    }
    assert(max == 2);
}

static void a_changed_bit_is_seen(void)
{
    struct capture_error error;
    uint64_t random = 7;
    for (unsigned i = 0; i < unit_times(400); i++) {
        size_t at = i < FORMAT_HEAD_SIZE + 20 ? i : unit_random(&random) % file_length;
        if (at >= 10 && at < FORMAT_HEAD_SIZE)
            continue; /* the machine, and bytes that have no meaning yet */
        file[at] ^= 4;
        assert(capture_read(file, file_length, &no_calls, NULL, &error) != CAPTURE_WHOLE);
        file[at] ^= 4;
    }
    assert(capture_read(file, file_length, &no_calls, NULL, &error) == CAPTURE_WHOLE);
}

/* One record behind a process: what it takes to be refused although the checksum is right. */
static void refused(uint32_t type, const void *payload, size_t length, const char *reason)
{
    uint8_t small[4096];
    struct capture_error error;
    size_t at = FORMAT_HEAD_SIZE + FORMAT_RECORD_HEAD + format_get(file + FORMAT_HEAD_SIZE + 4, 4);
    memcpy(small, file, at);
    format_put(small + at, type, 4);
    format_put(small + at + 4, length, 4);
    memcpy(small + at + FORMAT_RECORD_HEAD, payload, length);
    format_put(small + at + 8,
               crc_add(crc_add(0, small + at, 8), small + at + FORMAT_RECORD_HEAD, length), 4);
    enum capture_result result =
        capture_read(small, at + FORMAT_RECORD_HEAD + length, &no_calls, NULL, &error);
    assert(result == (reason == NULL ? CAPTURE_TORN : CAPTURE_REFUSED));
    assert(reason == NULL || strcmp(error.reason, reason) == 0);
}

static void nonsense_is_refused(void)
{
    refused(RECORD_MARK, "\x80", 1, "a number is cut off or too large");
    refused(RECORD_MARK, "\x01\x05good", 6, "a text is cut off");
    refused(RECORD_NODES, "\x03\x01\x02", 3, "nodes are missing");
    refused(RECORD_NODES, "\x02\x00\x02", 3, "a node calls itself or a younger one");
    refused(RECORD_NODES, "\x02\x03\x02", 3, "a node calls itself or a younger one");
    refused(RECORD_ROWS, "\x00", 1, "rows outside of a snapshot");
    refused(RECORD_WHOLE, "\x00", 1, "an end of a snapshot without its beginning");
    refused(RECORD_MAPS, "\x01\x05\x00\x00\x00\x00\x00\x00\x00", 9, "a mapping without an address");
    refused(RECORD_PROCESS, "\x01", 1, "a second process");
    refused(77, "what a later version adds", 25, NULL);
    refused(RECORD_NODES, "\x02\x02\x02\x01\x02", 5, NULL);
}

int main(void)
{
    unit_start();
    fill(SAMPLER_EXACT);
    all_comes_back();
    a_cut_file_is_read_as_far_as_it_goes();
    a_changed_bit_is_seen();
    nonsense_is_refused();
    return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * See tool/profile/capture/recorder_told.h. Three texts: gperftools' heap and CPU profiles, and
 * jemalloc's heap_v2. Sampled numbers are made so that the scaling of their readers arrives at the
 * estimates (docs/FORMATS.md, "Readers that scale").
 */
#include "tool/profile/capture/recorder_told.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/file/crc.h"
#include "tool/profile/capture/capture_records.h"
#include "tool/profile/capture/recorder_numbers.h"

enum { DEPTH_MAX = 254, FIRST_NODE = 2 }; /* as in lib/dump/format_cpu.c */

struct work {
    struct recorder_sheets sheets;
    struct recorder_numbers numbers;
    const struct recorder_told *told;
    int64_t rate;
    FILE *file;
    uint64_t frames[DEPTH_MAX];
};

bool recorder_told(const char *bytes, size_t size, struct recorder_told told[RECORDER_TOLD_COUNT])
{
    static _Thread_local struct recorder_sheets sheets;
    const char *reason;
    if (!recorder_sheets_open(&sheets, bytes, size, &reason))
        return false;
    memcpy(told, sheets.head.told, sizeof sheets.head.told);
    for (unsigned i = 0; i < RECORDER_TOLD_COUNT; i++)
        told[i].path[sizeof told[i].path - 1] = '\0';
    return true;
}

/* Leaf first; how many. */
static unsigned frames_of(struct work *work, uint32_t stack)
{
    struct recorder_node node;
    unsigned count = 0;
    while (count < DEPTH_MAX && stack >= FIRST_NODE &&
           recorder_row(&work->sheets, SHEET_NODES, stack, &node) && node.pc != 0 &&
           node.caller < stack) {
        work->frames[count++] = node.pc;
        stack = node.caller;
    }
    if (count == 0)
        work->frames[count++] = 1;
    else
        work->frames[0]--; /* readers do that to all others by themselves */
    return count;
}

/* ---- mappings ---- */

static void map_write(void *context, const struct capture_map *map)
{
    FILE *file = context;
    unsigned flags = map->flags;
    if (flags & MAP_GONE)
        return;
    fprintf(file, "%08" PRIx64 "-%08" PRIx64 " %c%c%c%c %08" PRIx64 " %02x:%02x %" PRIu64 " ",
            map->start, map->end, flags & MAP_READABLE ? 'r' : '-',
            flags & MAP_WRITABLE ? 'w' : '-', flags & MAP_EXECUTABLE ? 'x' : '-',
            flags & MAP_SHARED_BIT ? 's' : 'p', map->offset, (unsigned)(map->device >> 32),
            (unsigned)map->device, map->inode);
    fprintf(file, "%*s%.*s\n", 15, "", (int)map->path.length, map->path.bytes);
}

/* One list is kept: the last one that began. */
struct maps_text {
    char *text;
    size_t size;
    FILE *file;
};

static void maps_begin(void *context)
{
    struct maps_text *maps = context;
    if (maps->file)
        rewind(maps->file);
}

static void maps_add(void *context, const struct capture_map *map)
{
    struct maps_text *maps = context;
    if (maps->file)
        map_write(maps->file, map);
}

/* The mappings of the last moment, as the kernel writes them. */
static bool maps_write(struct work *work, const char *bytes, size_t size)
{
    static const struct capture_calls calls = {.maps = maps_begin, .map = maps_add};
    struct maps_text maps = {0};
    struct capture_error wrong;
    const char *reason;
    size_t made = 0;
    char *capture = recorder_capture(bytes, size, NULL, 0, &made, &reason);
    maps.file = capture ? open_memstream(&maps.text, &maps.size) : NULL;
    bool done = maps.file != NULL;
    if (done) {
        capture_read(capture, made, &calls, &maps, &wrong);
        fflush(maps.file); /* `size` is where it stands, whatever was there before */
        fwrite(maps.text, 1, maps.size, work->file);
        fclose(maps.file);
    }
    free(maps.text);
    free(capture);
    return done;
}

/* ---- numbers ---- */

struct estimate {
    double objects, bytes;
    uint64_t seen_objects, seen_bytes;
};

struct pair {
    uint64_t objects, bytes;
};

static void estimate_add(struct estimate *sum, uint64_t objects, uint64_t bytes, double weight)
{
    sum->objects += (double)objects * weight;
    sum->bytes += (double)bytes * weight;
    sum->seen_objects += objects;
    sum->seen_bytes += bytes;
}

/* A damaged file may stand for more than a number holds. */
static uint64_t whole(double value)
{
    return value < 0x1p63 ? (uint64_t)(value + 0.5) : UINT64_C(1) << 63;
}

static struct pair estimate_pair(const struct work *work, const struct estimate *sum)
{
    if (sum->objects <= 0 || (work->told->flags & RECORDER_TOLD_RAW))
        return (struct pair){sum->seen_objects, sum->seen_bytes};
    double size = sum->bytes / sum->objects;
    double share = work->rate > 0 ? -expm1(-size / (double)work->rate) : 1;
    struct pair pair = {whole(sum->objects * share), whole(sum->bytes * share)};
    if (pair.objects == 0 && pair.bytes > 0)
        pair.objects = 1;
    return pair;
}

/* While recording is off, the largest of the sites. */
static int64_t rate_of(const struct work *work)
{
    int64_t rate = work->sheets.head.rate;
    for (size_t i = 0; rate < 0 && i < work->numbers.row_count; i++)
        if (work->numbers.rows[i].rate > rate)
            rate = work->numbers.rows[i].rate;
    return rate < 0 ? 0 : rate;
}

/* ---- gperftools' heap ---- */

struct line {
    uint32_t stack;
    struct pair live, all;
};

static int line_compare(const void *left, const void *right)
{
    const struct line *a = left, *b = right;
    if (a->live.bytes != b->live.bytes)
        return a->live.bytes > b->live.bytes ? -1 : 1;
    if (a->all.bytes != b->all.bytes)
        return a->all.bytes > b->all.bytes ? -1 : 1;
    return (a->stack > b->stack) - (a->stack < b->stack);
}

static void heap_numbers(const struct work *work, struct pair live, struct pair all)
{
    fprintf(work->file, "%6" PRIu64 ": %8" PRIu64 " [%6" PRIu64 ": %8" PRIu64 "] @", live.objects,
            live.bytes, all.objects, all.bytes);
}

static void row_add(struct estimate *live, struct estimate *all, const struct capture_row *row)
{
    estimate_add(live, row->live.objects, row->live.requested, row->weight);
    estimate_add(all, row->allocated.objects, row->allocated.requested, row->weight);
}

static void heap_lines(struct work *work, const struct line *lines, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        heap_numbers(work, lines[i].live, lines[i].all);
        unsigned depth = frames_of(work, lines[i].stack);
        for (unsigned k = 0; k < depth; k++)
            fprintf(work->file, " 0x%08" PRIx64, work->frames[k]);
        putc('\n', work->file);
    }
}

static bool gperftools_heap(struct work *work)
{
    const struct recorder_numbers *numbers = &work->numbers;
    struct line *lines = calloc(numbers->row_count + 1, sizeof *lines);
    struct estimate live = {0}, all = {0};
    size_t count = 0;
    if (!lines)
        return false;
    for (size_t i = 0; i < numbers->row_count;) {
        struct estimate one_live = {0}, one_all = {0};
        uint32_t stack = numbers->rows[i].stack;
        for (; i < numbers->row_count && numbers->rows[i].stack == stack; i++) {
            row_add(&one_live, &one_all, &numbers->rows[i]);
            row_add(&live, &all, &numbers->rows[i]);
        }
        lines[count++] =
            (struct line){stack, estimate_pair(work, &one_live), estimate_pair(work, &one_all)};
    }
    qsort(lines, count, sizeof *lines, line_compare);
    fputs("heap profile: ", work->file);
    heap_numbers(work, estimate_pair(work, &live), estimate_pair(work, &all));
    if (work->rate > 0)
        fprintf(work->file, " heap_v2/%" PRId64 "\n", work->rate);
    else
        fputs(" heapprofile\n", work->file);
    heap_lines(work, lines, count);
    free(lines);
    return true;
}

/* ---- jemalloc's heap ---- */

struct sums {
    struct estimate live, all;
};

static bool jemalloc_has(const struct work *work, const struct sums *sums)
{
    return (work->told->flags & RECORDER_TOLD_ACCUM ? &sums->all : &sums->live)->seen_objects != 0;
}

static void jemalloc_line(const struct work *work, const char *label, const struct sums *sums)
{
    struct pair live = estimate_pair(work, &sums->live), all = {0, 0};
    if (work->told->flags & RECORDER_TOLD_ACCUM)
        all = estimate_pair(work, &sums->all);
    fprintf(work->file, "  %s: %" PRIu64 ": %" PRIu64 " [%" PRIu64 ": %" PRIu64 "]", label,
            live.objects, live.bytes, all.objects, all.bytes);
}

static void sums_add(struct sums *sums, const struct capture_row *row)
{
    estimate_add(&sums->live, row->live.objects, row->live.usable, row->weight);
    estimate_add(&sums->all, row->allocated.objects, row->allocated.usable, row->weight);
}

static bool thread_read(const struct work *work, uint32_t number, struct recorder_thread *thread)
{
    return recorder_row(&work->sheets, SHEET_THREADS, number, thread) &&
           thread->state != RECORDER_THREAD_NONE;
}

static bool jemalloc_head(const struct work *work)
{
    uint32_t threads = recorder_rows(&work->sheets, SHEET_THREADS);
    struct sums *of = calloc(threads + (size_t)1, sizeof *of), all = {0};
    struct recorder_thread thread;
    char label[16];
    if (!of)
        return false;
    for (size_t i = 0; i < work->numbers.row_count; i++) {
        const struct capture_row *row = &work->numbers.rows[i];
        sums_add(&all, row);
        if (row->thread < threads)
            sums_add(&of[row->thread], row);
    }
    fprintf(work->file, "heap_v2/%" PRId64 "\n", work->rate > 0 ? work->rate : 1);
    jemalloc_line(work, "t*", &all);
    putc('\n', work->file);
    for (uint32_t i = 0; i < threads; i++) {
        if (!thread_read(work, i, &thread) ||
            (thread.state != RECORDER_THREAD_LIVES && !jemalloc_has(work, &of[i])))
            continue;
        snprintf(label, sizeof label, "t%" PRIu32, thread.id);
        jemalloc_line(work, label, &of[i]);
        thread.name[sizeof thread.name - 1] = '\0';
        for (char *at = thread.name; *at; at++)
            *at = *at < ' ' || *at > '~' ? '?' : *at;
        fprintf(work->file, "%s%s\n", thread.name[0] ? " " : "", thread.name);
    }
    free(of);
    return true;
}

/* All rows [first, end) are of one stack, and those of a thread in succession. */
static void jemalloc_stack(struct work *work, size_t first, size_t end)
{
    const struct capture_row *rows = work->numbers.rows;
    struct recorder_thread thread;
    struct sums all = {0};
    char label[16];
    for (size_t i = first; i < end; i++)
        sums_add(&all, &rows[i]);
    if (!jemalloc_has(work, &all))
        return;
    unsigned depth = frames_of(work, rows[first].stack);
    putc('@', work->file);
    for (unsigned k = 0; k < depth; k++)
        fprintf(work->file, " 0x%" PRIx64, work->frames[k]);
    putc('\n', work->file);
    jemalloc_line(work, "t*", &all);
    putc('\n', work->file);
    while (first < end) {
        struct sums sums = {0};
        uint32_t number = rows[first].thread;
        for (; first < end && rows[first].thread == number; first++)
            sums_add(&sums, &rows[first]);
        if (number == UINT32_MAX || !thread_read(work, number, &thread) ||
            !jemalloc_has(work, &sums))
            continue;
        snprintf(label, sizeof label, "t%" PRIu32, thread.id);
        jemalloc_line(work, label, &sums);
        putc('\n', work->file);
    }
}

static bool jemalloc_heap(struct work *work)
{
    const struct capture_row *rows = work->numbers.rows;
    size_t count = work->numbers.row_count;
    if (!jemalloc_head(work))
        return false;
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first; end < count && rows[end].stack == rows[first].stack; end++)
            ;
        jemalloc_stack(work, first, end);
    }
    return true;
}

/* ---- gperftools' CPU profile ---- */

static void words_put(const struct work *work, const uint64_t *words, size_t count)
{
    fwrite(words, sizeof *words, count, work->file);
}

static bool gperftools_cpu(struct work *work)
{
    uint32_t rate = work->sheets.head.cpu.rate;
    uint64_t period_us = 1000000 / (rate > 0 ? rate : 100), period_ns = period_us * 1000;
    struct recorder_cpu_row row;
    words_put(work, (const uint64_t[]){0, 3, 0, period_us, 0}, 5);
    for (uint32_t i = 0; i < recorder_rows(&work->sheets, SHEET_CPU_ROWS); i++) {
        if (!recorder_row(&work->sheets, SHEET_CPU_ROWS, i, &row) || row.key == 0 ||
            row.ns < row.ns_mark)
            continue;
        uint64_t count = (row.ns - row.ns_mark + period_ns / 2) / period_ns;
        if (count == 0)
            continue;
        unsigned depth = frames_of(work, (uint32_t)row.key - 1);
        words_put(work, (const uint64_t[]){count, depth}, 2);
        words_put(work, work->frames, depth);
    }
    words_put(work, (const uint64_t[]){0, 1, 0}, 3);
    return true;
}

uint64_t recorder_told_live(const char *bytes, size_t size)
{
    static _Thread_local struct recorder_sheets sheets;
    struct recorder_numbers numbers = {0};
    const char *reason;
    if (!recorder_sheets_open(&sheets, bytes, size, &reason) ||
        !recorder_numbers_make(&numbers, &sheets))
        return 0;
    free(numbers.rows);
    return numbers.totals.live.usable;
}

bool recorder_told_write(const char *bytes, size_t size, unsigned which, FILE *file,
                         const char **reason)
{
    struct work *work = calloc(1, sizeof *work);
    bool done = false;
    *reason = "memory is out";
    if (!work || !recorder_sheets_open(&work->sheets, bytes, size, reason))
        goto done;
    work->file = file;
    work->told = &work->sheets.head.told[which];
    *reason = "memory is out";
    if (!recorder_numbers_make(&work->numbers, &work->sheets))
        goto done;
    work->rate = rate_of(work);
    if (which == RECORDER_TOLD_CPU) {
        done = gperftools_cpu(work) && maps_write(work, bytes, size);
        goto done;
    }
    done = work->told->format == RECORDER_FORMAT_JEMALLOC ? jemalloc_heap(work)
                                                          : gperftools_heap(work);
    if (done) {
        fputs("\nMAPPED_LIBRARIES:\n", file);
        done = maps_write(work, bytes, size);
    }
done:
    if (work)
        free(work->numbers.rows);
    free(work);
    return done;
}

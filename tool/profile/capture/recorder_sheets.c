/* SPDX-License-Identifier: MIT */
/*
 * See tool/profile/capture/recorder_sheets.h. The head is copied and mended first, since the file
 * may change or be damaged; rows are copied one by one, each if the directory has a sheet for it.
 */
#include "tool/profile/capture/recorder_sheets.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/file/capture_format.h"
#include "base/file/crc.h"
#include "tool/memory/memory.h"

static void directory_read(struct recorder_sheets *sheets);
static void head_mend(struct recorder_head *head);
static void last_find(struct recorder_sheets *sheets);
static uint32_t rows_of(enum sheet_kind kind);
static size_t row_bytes(enum sheet_kind kind);

bool recorder_is(const char *bytes, size_t size)
{
    return size >= sizeof RECORDER_MAGIC &&
           memcmp(bytes, RECORDER_MAGIC, sizeof RECORDER_MAGIC) == 0;
}

bool recorder_sheets_open(struct recorder_sheets *sheets, const char *bytes, size_t size,
                          const char **reason)
{
    memset(sheets, 0, sizeof *sheets);
    sheets->bytes = bytes;
    sheets->size = size;
    *reason = NULL;
    if (!recorder_is(bytes, size))
        *reason = "this is no recorder file";
    else if (size < RECORDER_SHEET)
        *reason = "the file is cut off inside its head";
    if (*reason != NULL)
        return false;
    memcpy(&sheets->head, bytes, sizeof sheets->head);
    if (sheets->head.version != RECORDER_VERSION)
        *reason = "a recorder file of another version of memoir";
    else if (sheets->head.sheet_bytes != RECORDER_SHEET)
        *reason = "its head is damaged";
    else
        directory_read(sheets);
    head_mend(&sheets->head);
    if (*reason == NULL)
        last_find(sheets);
    return *reason == NULL;
}

/* A point of the heap over time is a sign of life, too, and so is the peak, if they make sense. */
static void last_find(struct recorder_sheets *sheets)
{
    struct recorder_point point;
    uint64_t now = sheets->head.series_now;
    uint32_t count = (uint32_t)now, first = (now >> 32 & 1) != 0 ? RECORDER_POINTS : 0;
    if (count > 0 && count <= RECORDER_POINTS &&
        recorder_row(sheets, SHEET_SERIES, first + count - 1, &point) &&
        point.live_bytes <= point.allocated_bytes)
        recorder_moment_note(&sheets->head.last_ms, point.time_ms);
    recorder_moment_note(&sheets->head.last_ms,
                         sheets->head.peaks[sheets->head.peak_now & 1].time_ms);
}

void recorder_moment_note(uint64_t *last_ms, uint64_t time_ms)
{
    const uint64_t max_ms = INT64_MAX / 1000000; /* in a capture it is ns */
    if (time_ms > *last_ms && time_ms <= max_ms)
        *last_ms = time_ms;
}

/* What a reader of the capture would refuse it for, or count with. */
static void head_mend(struct recorder_head *head)
{
    enum { BLOCK_MAX = 1 << 20, CPU_RATE_MAX = 1000000 };
    head->capture[sizeof head->capture - 1] = '\0';
    if (head->rate < -1)
        head->rate = -1;
    if (head->cpu.rate > CPU_RATE_MAX)
        head->cpu.rate = 0; /* not known */
    for (unsigned i = 0; i < RECORDER_MARKS; i++)
        if (head->mark_sizes[i] > BLOCK_MAX)
            head->mark_sizes[i] = 0;
}

/* Sheets of a kind are made one after the other: none has a number that the file has no room for.
 * Else a few damaged bytes would stand for millions of rows. */
static void directory_read(struct recorder_sheets *sheets)
{
    size_t room = sheets->size / RECORDER_SHEET;
    for (uint32_t sheet = 1; sheet < RECORDER_SHEETS; sheet++) {
        uint32_t entry;
        if ((size_t)(sheet + 1) * RECORDER_SHEET > sheets->size)
            break;
        memcpy(&entry, sheets->bytes + RECORDER_DIRECTORY + sheet * sizeof entry, sizeof entry);
        uint32_t kind = entry & 0xff, at = entry >> 8;
        if (kind == SHEET_NONE || kind >= SHEET_KINDS || at >= SHEETS_OF_KIND || at >= room)
            continue;
        sheets->places[kind][at] = sheet;
        if (at >= sheets->counts[kind])
            sheets->counts[kind] = at + 1;
    }
}

uint32_t recorder_rows(const struct recorder_sheets *sheets, enum sheet_kind kind)
{
    return sheets->counts[kind] * rows_of(kind);
}

static uint32_t rows_of(enum sheet_kind kind)
{
    return (uint32_t)RECORDER_ROWS(kind);
}

bool recorder_row(const struct recorder_sheets *sheets, enum sheet_kind kind, uint32_t number,
                  void *row)
{
    uint32_t at = number / rows_of(kind);
    if (at >= SHEETS_OF_KIND || sheets->places[kind][at] == 0)
        return false;
    memcpy(row,
           sheets->bytes + (size_t)sheets->places[kind][at] * RECORDER_SHEET +
               number % rows_of(kind) * row_bytes(kind),
           row_bytes(kind));
    return true;
}

static size_t row_bytes(enum sheet_kind kind)
{
    return RECORDER_ROW_BYTES(kind);
}

/* Copies a part of the log; how many bytes. */
static size_t log_copy(const struct recorder_sheets *sheets, uint64_t at, void *to, size_t size)
{
    size_t done = 0;
    while (done < size && at + done < sheets->head.log_length) {
        uint64_t from = at + done, sheet = from / RECORDER_SHEET;
        size_t inside = from % RECORDER_SHEET, more = RECORDER_SHEET - inside;
        more = more < size - done ? more : size - done;
        if (more > sheets->head.log_length - from)
            more = (size_t)(sheets->head.log_length - from);
        if (sheet >= SHEETS_OF_KIND || sheets->places[SHEET_LOG][sheet] == 0)
            break;
        memcpy((char *)to + done,
               sheets->bytes + (size_t)sheets->places[SHEET_LOG][sheet] * RECORDER_SHEET + inside,
               more);
        done += more;
    }
    return done;
}

bool recorder_log_next(const struct recorder_sheets *sheets, uint64_t *at,
                       struct recorder_log_record *record)
{
    static _Thread_local uint8_t payload[FORMAT_RECORD_MAX];
    uint8_t head[FORMAT_RECORD_HEAD];
    if (log_copy(sheets, *at, head, sizeof head) != sizeof head)
        return false;
    *record = (struct recorder_log_record){.type = (uint32_t)format_get(head, 4),
                                           .length = (uint32_t)format_get(head + 4, 4),
                                           .payload = payload};
    if (record->length > FORMAT_RECORD_MAX ||
        log_copy(sheets, *at + sizeof head, payload, record->length) != record->length ||
        crc_add(crc_add(0, head, 8), payload, record->length) != format_get(head + 8, 4))
        return false;
    *at += sizeof head + record->length;
    return true;
}

bool recorder_describe(const char *bytes, size_t size, struct recorder_about *about,
                       const char **reason)
{
    static _Thread_local struct recorder_sheets sheets;
    if (!recorder_sheets_open(&sheets, bytes, size, reason))
        return false;
    const struct recorder_head *head = &sheets.head;
    *about = (struct recorder_about){.pid = head->pid,
                                     .start_ticks = head->start_ticks,
                                     .start_ms = head->start_ms,
                                     .start_wall_ns = head->start_wall_ns,
                                     .last_ms = head->last_ms,
                                     .ready = head->state & RECORDER_READY,
                                     .ended = head->state & RECORDER_ENDED,
                                     .kept = head->state & RECORDER_KEPT,
                                     .full = head->state & RECORDER_FULL,
                                     .child = head->state & RECORDER_CHILD};
    memcpy(about->capture, head->capture, sizeof about->capture);
    return true;
}

/* ---- names ---- */

struct recorder_named {
    uint32_t tid;
    char name[16];
};

static int named_compare(const void *left, const void *right);

bool recorder_names_make(struct recorder_names *names, const struct recorder_sheets *sheets)
{
    struct recorder_thread thread;
    uint32_t rows = recorder_rows(sheets, SHEET_THREADS);
    size_t room = 0;
    bool ok = true;
    *names = (struct recorder_names){0};
    for (uint32_t number = 0; number < rows && ok; number++) {
        if (!recorder_row(sheets, SHEET_THREADS, number, &thread) ||
            thread.state != RECORDER_THREAD_LIVES || thread.name[0] == '\0')
            continue;
        ok = list_reserve(&names->items, &room, names->count + 1, sizeof *names->items);
        if (!ok)
            break;
        names->items[names->count].tid = thread.tid;
        memcpy(names->items[names->count++].name, thread.name, sizeof thread.name);
    }
    if (names->count > 0)
        qsort(names->items, names->count, sizeof *names->items, named_compare);
    return ok;
}

static int named_compare(const void *left, const void *right)
{
    const struct recorder_named *a = left, *b = right;
    return (a->tid > b->tid) - (a->tid < b->tid);
}

void recorder_names_find(const struct recorder_names *names, uint32_t tid, char name[16])
{
    const struct recorder_named *found =
        names->count == 0 ? NULL
                          : bsearch(&(struct recorder_named){.tid = tid}, names->items,
                                    names->count, sizeof *names->items, named_compare);
    if (found != NULL)
        memcpy(name, found->name, sizeof found->name);
}

void recorder_names_free(struct recorder_names *names)
{
    free(names->items);
}

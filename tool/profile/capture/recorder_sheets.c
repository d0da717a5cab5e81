/* SPDX-License-Identifier: MIT */
/* See tool/profile/capture/recorder_sheets.h. */
#include "tool/profile/capture/recorder_sheets.h"

#include <string.h>

#include "base/compiler.h"

static void directory_read(struct recorder_sheets *sheets);
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
        *reason = "its head makes no sense";
    else
        directory_read(sheets);
    sheets->head.capture[sizeof sheets->head.capture - 1] = '\0';
    return *reason == NULL;
}

static void directory_read(struct recorder_sheets *sheets)
{
    for (uint32_t sheet = 1; sheet < RECORDER_SHEETS; sheet++) {
        uint32_t entry;
        if ((size_t)(sheet + 1) * RECORDER_SHEET > sheets->size)
            break;
        memcpy(&entry, sheets->bytes + RECORDER_DIRECTORY + sheet * sizeof entry, sizeof entry);
        uint32_t kind = entry & 0xff, at = entry >> 8;
        if (kind == SHEET_NONE || kind >= SHEET_KINDS || at >= SHEETS_OF_KIND)
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

size_t recorder_log(const struct recorder_sheets *sheets, uint64_t at, void *to, size_t size)
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

/* SPDX-License-Identifier: MIT */
/*
 * See tool/profile/capture/recorder.h: what can be seen of a recorder file's damage, and whether a
 * capture is of the same process. `memoir recover` asks before it removes a file.
 */
#include <string.h>

#include "tool/profile/capture/capture_records.h"
#include "tool/profile/capture/recorder_sheets.h"

static const char *sheets_damage(const struct recorder_sheets *sheets);
static const char *sites_damage(const struct recorder_sheets *sheets);
static uint32_t sites_used(const struct recorder_sheets *sheets);
static struct recorder_count heaps_sum(const struct recorder_sheets *sheets, uint64_t *bytes);
static uint64_t recorded_likely(const struct recorder_sheets *sheets);
static void process_note(void *context, const struct capture_process *process);
static void point_note(void *context, const struct capture_point *point);
static void snapshot_note(void *context, const struct capture_snapshot *snapshot);
static void mark_note(void *context, const struct capture_mark *mark);

/* What a capture says of its beginning. Another process may have the same number, as each first one
 * in a container has: its capture began after the last sign of life of this one. One clock begins
 * anew with the machine, the other may be set while it runs. */
enum { STEP_MS = 10000 }; /* by at most this */
struct began {
    uint64_t pid, time_ms, wall_ns;
};

const char *recorder_damage(const char *bytes, size_t size)
{
    static _Thread_local struct recorder_sheets sheets;
    struct recorder_log_record record;
    uint64_t at = 0;
    const char *reason;
    if (!recorder_sheets_open(&sheets, bytes, size, &reason))
        return reason;
    if ((sheets.head.state & RECORDER_READY) == 0)
        return NULL; /* its parts were being made */
    if ((reason = sheets_damage(&sheets)) != NULL)
        return reason;
    while (recorder_log_next(&sheets, &at, &record)) {
    }
    return at < sheets.head.log_length ? "its list of mappings is damaged" : NULL;
}

/* What is wrong with the parts that its directory names, or NULL. */
static const char *sheets_damage(const struct recorder_sheets *sheets)
{
    for (uint32_t sheet = 1; sheet < RECORDER_SHEETS; sheet++) {
        uint32_t entry;
        memcpy(&entry, sheets->bytes + RECORDER_DIRECTORY + sheet * sizeof entry, sizeof entry);
        uint32_t kind = entry & 0xff, at = entry >> 8;
        if (kind == SHEET_NONE)
            continue;
        if (kind >= SHEET_KINDS || at >= SHEETS_OF_KIND)
            return "its directory is damaged";
        if ((size_t)(sheet + 1) * RECORDER_SHEET > sheets->size)
            return "it is cut off";
        if (sheets->places[kind][at] != sheet)
            return "its directory names a part twice";
    }
    return sites_damage(sheets);
}

/* A site is there if its stack is, unless the file was full. The first one may be under way. */
static const char *sites_damage(const struct recorder_sheets *sheets)
{
    enum { MANY = 32 }; /* samples: with 32 due, the odds that none was taken are e to the -32 */
    struct recorder_site site;
    uint32_t rows = recorder_rows(sheets, SHEET_SITES);
    for (uint32_t number = 0; number < rows; number++)
        if (recorder_row(sheets, SHEET_SITES, number, &site) && site.key != 0 &&
            (uint32_t)site.key > recorder_rows(sheets, SHEET_NODES) &&
            (sheets->head.state & RECORDER_FULL) == 0)
            return "its sites are damaged";
    return rows > 0 && sites_used(sheets) == 0 && recorded_likely(sheets) >= MANY
               ? "the part with its sites is empty"
               : NULL;
}

static uint32_t sites_used(const struct recorder_sheets *sheets)
{
    struct recorder_site site;
    uint32_t rows = recorder_rows(sheets, SHEET_SITES), used = 0;
    for (uint32_t number = 0; number < rows; number++)
        used += recorder_row(sheets, SHEET_SITES, number, &site) && site.key != 0;
    return used;
}

/* How many blocks were recorded, by what the heaps have counted. */
static uint64_t recorded_likely(const struct recorder_sheets *sheets)
{
    uint64_t bytes, allocs = heaps_sum(sheets, &bytes).allocs;
    int64_t rate = sheets->head.rate;
    return rate < 0 ? 0 : rate == 0 ? allocs : bytes / (uint64_t)rate;
}

static struct recorder_count heaps_sum(const struct recorder_sheets *sheets, uint64_t *bytes)
{
    struct recorder_heap heap;
    struct recorder_count sum = {0, 0};
    uint32_t rows = recorder_rows(sheets, SHEET_HEAPS);
    *bytes = 0;
    for (uint32_t number = 0; number < rows; number++) {
        if (!recorder_row(sheets, SHEET_HEAPS, number, &heap))
            continue;
        for (unsigned mark = 0; mark < RECORDER_MARKS; mark++) {
            sum.allocs += heap.marks[mark].allocs;
            sum.frees += heap.marks[mark].frees;
            *bytes += heap.marks[mark].allocs * sheets->head.mark_sizes[mark];
        }
        sum.allocs += heap.large.allocs;
        sum.frees += heap.large.frees;
        *bytes += heap.large_bytes.allocs;
    }
    return sum;
}

bool recorder_is_blank(const char *bytes, size_t size)
{
    static _Thread_local struct recorder_sheets sheets;
    const char *reason;
    uint64_t sum;
    if (!recorder_sheets_open(&sheets, bytes, size, &reason) ||
        (sheets.head.state & RECORDER_READY) != 0)
        return false;
    struct recorder_count counts = heaps_sum(&sheets, &sum);
    return counts.allocs == 0 && counts.frees == 0 && sum == 0 && sites_used(&sheets) == 0;
}

bool recorder_continues(const char *bytes, size_t size, const char *old, size_t old_size)
{
    static const struct capture_calls calls = {.process = process_note};
    struct began began = {0};
    struct capture_error wrong;
    struct recorder_about about;
    const char *reason;
    if (!recorder_describe(bytes, size, &about, &reason) ||
        capture_read(old, old_size, &calls, &began, &wrong) == CAPTURE_REFUSED ||
        began.pid != about.pid)
        return false;
    uint64_t lived_ms = about.last_ms > about.start_ms ? about.last_ms - about.start_ms : 0;
    return began.time_ms <= about.start_ms + lived_ms &&
           began.wall_ns / 1000000 <= about.start_wall_ns / 1000000 + lived_ms + STEP_MS;
}

static void process_note(void *context, const struct capture_process *process)
{
    *(struct began *)context =
        (struct began){.pid = process->pid, process->time_ms, process->wall_ns};
}

uint64_t recorder_last_of(const char *old, size_t size)
{
    static const struct capture_calls calls = {
        .point = point_note, .snapshot = snapshot_note, .mark = mark_note};
    struct capture_error wrong;
    uint64_t last_ms = 0;
    capture_read(old, size, &calls, &last_ms, &wrong);
    return last_ms;
}

static void point_note(void *context, const struct capture_point *point)
{
    recorder_moment_note(context, point->time_ms);
}

static void snapshot_note(void *context, const struct capture_snapshot *snapshot)
{
    recorder_moment_note(context, snapshot->time_ms);
}

static void mark_note(void *context, const struct capture_mark *mark)
{
    recorder_moment_note(context, mark->time_ms);
}

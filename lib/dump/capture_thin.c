/* SPDX-License-Identifier: MIT */
/*
 * See lib/dump/capture_thin.h. The file is read once, record by record. Everything in front of the
 * first snapshot and between two of them is copied; of a snapshot that goes, only the records that
 * later ones need.
 */
#include "lib/dump/capture_thin.h"

#include <errno.h>
#include <string.h>

#include "base/compiler.h"
#include "base/file/capture_format.h"
#include "base/file/proto.h"
#include "base/file/sink.h"
#include "base/os.h"
#include "lib/dump/capture.h"
#include "lib/dump/capture_record.h"
#include "lib/heap/observer.h"

enum {
    BUFFER_SIZE = 16 << 10, /* static; the file is copied with few system calls */
    SHARE_FIRST = 64,       /* a snapshot is kept if the next one is a 64th of its age younger, */
    POINTS_SHARE = 256, /* and points of the heap over time are put together in a 256th of theirs */
};

static uint64_t choose(struct capture_part *parts, unsigned count, unsigned share,
                       unsigned *chosen);

void capture_thin_choose(struct capture_part *parts, unsigned count, uint64_t bytes, unsigned max)
{
    unsigned share = SHARE_FIRST, chosen;
    while (count > 0 && (choose(parts, count, share, &chosen) > bytes || chosen > max) && share > 0)
        share /= 2;
}

/* From the newest to the oldest: with age `a`, the last kept one is `a / share` younger or more. */
static uint64_t choose(struct capture_part *parts, unsigned count, unsigned share, unsigned *chosen)
{
    uint64_t now_ms = parts[count - 1].time_ms, last = 0, bytes = 0;
    *chosen = 0;
    for (unsigned i = count; i-- > 0;) {
        uint64_t age = now_ms - parts[i].time_ms;
        parts[i].kept =
            i == count - 1 || (i == 0 && share > 0) || (share > 0 && (age - last) * share >= age);
        if (!parts[i].kept)
            continue;
        last = age;
        bytes += parts[i].end - parts[i].start;
        ++*chosen;
    }
    return bytes;
}

/* ---- the heap over time ---- */

/* Points that are being put together. */
static BULK struct {
    struct series_point high, low, last;
    struct series_point written; /* the last one in this record */
    uint64_t last_ms;            /* and its time, whatever the record */
    uint64_t until_ms;           /* the stretch ends here; 0: it is empty */
    uint64_t now_ms;
} points;

static BULK struct capture writer; /* of records that are made here */

static void point_write(const struct series_point *point)
{
    static const struct series_point nothing;
    if (point->time_ms <= points.last_ms)
        return;
    points.last_ms = point->time_ms;
    if (capture_record_begin(&writer, RECORD_SERIES, CAPTURE_ENTRY_MAX))
        points.written = nothing;
    const struct series_point *before = &points.written;
    capture_put_change(&writer, before->time_ms, point->time_ms);
    capture_put_change(&writer, before->live_bytes, point->live_bytes);
    capture_put_change(&writer, before->allocated_bytes, point->allocated_bytes);
    capture_put_change(&writer, before->allocated_objects, point->allocated_objects);
    capture_put_change(&writer, before->resident_bytes, point->resident_bytes);
    points.written = *point;
}

static void stretch_end(void)
{
    bool rises = points.low.time_ms < points.high.time_ms;
    if (points.until_ms == 0)
        return;
    point_write(rises ? &points.low : &points.high);
    point_write(rises ? &points.high : &points.low);
    point_write(&points.last);
    points.until_ms = 0;
}

static void point_add(const struct series_point *point)
{
    if (points.until_ms != 0 && point->time_ms > points.until_ms)
        stretch_end();
    if (points.until_ms == 0) {
        uint64_t age = points.now_ms > point->time_ms ? points.now_ms - point->time_ms : 0;
        points.until_ms = point->time_ms + age / POINTS_SHARE;
        points.high = points.low = *point;
    }
    if (point->live_bytes > points.high.live_bytes)
        points.high = *point;
    if (point->live_bytes < points.low.live_bytes)
        points.low = *point;
    points.last = *point;
}

static bool points_read(const uint8_t *bytes, size_t length)
{
    uint64_t now[5] = {0}, change;
    for (size_t at = 0; at < length;) {
        for (unsigned i = 0; i < COUNT_OF(now); i++) {
            unsigned got = varint_read(bytes + at, length - at, &change);
            if (got == 0)
                return false;
            at += got;
            now[i] += (uint64_t)format_unfold(change);
        }
        point_add(&(struct series_point){now[0], now[1], now[2], now[3], now[4]});
    }
    return true;
}

/* ---- the file ---- */

static BULK char buffer[BUFFER_SIZE];
static BULK uint8_t record[FORMAT_RECORD_HEAD + sizeof writer.payload];

/* The record at `at`, with its head: its length, or 0 at the end of the file and where it is
 * damaged. */
static size_t record_read(int fd, uint64_t at)
{
    ssize_t got = os_read_at(fd, record, sizeof record, at);
    if (got < FORMAT_RECORD_HEAD)
        return 0;
    size_t length = FORMAT_RECORD_HEAD + (size_t)format_get(record + 4, 4);
    return length <= (size_t)got ? length : 0;
}

/* Whether a snapshot that goes must leave its mappings: no newer list comes before one that is
 * kept. */
static bool maps_needed(const struct capture_part *parts, unsigned count, unsigned which)
{
    for (unsigned i = which + 1; i < count; i++)
        if (parts[i].maps || parts[i].kept)
            return !parts[i].maps;
    return false;
}

static bool outlives(uint32_t type, bool maps)
{
    return type == RECORD_NODES || type == RECORD_MARK || (type == RECORD_MAPS && maps);
}

/* Copies what lies in [at, end). False where the file is not as it was written. */
static bool copy(int from, uint64_t at, uint64_t end, bool all, bool maps)
{
    while (at < end) {
        size_t length = record_read(from, at);
        uint32_t type = (uint32_t)format_get(record, 4);
        if (length == 0 || at + length > end)
            return false;
        if (type == RECORD_SERIES) {
            if (!points_read(record + FORMAT_RECORD_HEAD, length - FORMAT_RECORD_HEAD))
                return false;
        } else if (all || outlives(type, maps)) {
            capture_record_end(&writer); /* points that came before */
            sink_bytes(writer.sink, record, length);
        }
        at += length;
    }
    return true;
}

int capture_thin(int from, int to, struct capture_part *parts, unsigned *count, uint64_t *length)
{
    static struct sink sink;
    unsigned kept = 0;
    if (*count == 0 || os_read_at(from, record, FORMAT_HEAD_SIZE, 0) != FORMAT_HEAD_SIZE)
        return EIO;
    memset(&points, 0, sizeof points);
    points.now_ms = parts[*count - 1].time_ms;
    sink_to_fd(&sink, to, buffer, sizeof buffer);
    memset(&writer, 0, sizeof writer);
    writer.sink = &sink;
    sink_bytes(&sink, record, FORMAT_HEAD_SIZE);
    uint64_t at = FORMAT_HEAD_SIZE;
    for (unsigned i = 0; i < *count; i++) {
        struct capture_part part = parts[i];
        if (!copy(from, at, part.start, true, true))
            return EIO;
        uint64_t start = sink.total;
        if (!copy(from, part.start, part.end, part.kept, maps_needed(parts, *count, i)))
            return EIO;
        at = part.end;
        if (i == *count - 1)
            stretch_end();
        capture_record_end(&writer);
        if (part.kept)
            parts[kept++] =
                (struct capture_part){start, sink.total, part.time_ms, part.maps, part.leaks, true};
    }
    *count = kept;
    *length = sink.total;
    return sink_flush(&sink);
}

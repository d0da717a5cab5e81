/* SPDX-License-Identifier: MIT */
/*
 * Lost blocks in the form of gperftools' heap profile, the file NAME-end.heap of its leak checker:
 * one line a block. Where there are more than the scan lists, one line a site.
 */
#include <errno.h>

#include "base/file/sink.h"
#include "base/os.h"
#include "lib/dump/dump_file.h"
#include "lib/dump/dump_lock.h"
#include "lib/dump/format_inside.h"
#include "lib/leak/leak.h"

enum { BUFFER_SIZE = 4096 }; /* on the stack of an ordinary call */

static int write_file(int fd, const struct scan_result *result);

int dump_leaks(const char *path, const struct leak_scan *scan)
{
    if (!dump_lock(true))
        return EDEADLK;
    int error = dump_file_refused(os_file_at(path)), fd = error != 0 ? -error : 0;
    if (error == 0)
        fd = dump_file_open(path);
    error = fd < 0 ? -fd : write_file(fd, &scan->result);
    if (fd >= 0 && error == 0)
        error = dump_file_finish(path, true);
    else if (fd >= 0)
        dump_file_abandon();
    dump_unlock_and_look();
    return error;
}

static void write_line(struct sink *sink, uint64_t objects, uint64_t bytes)
{
    const uint64_t values[] = {objects, bytes, objects, bytes};
    static const char *const between[] = {": ", " [", ": ", "] @"};
    char text[128];
    struct print line;
    print_start(&line, text, sizeof text);
    for (unsigned i = 0; i < COUNT_OF(values); i++) {
        size_t from = print_length(&line);
        print_unsigned(&line, values[i]);
        print_right(&line, from, i % 2 == 0 ? 6 : 8);
        print_text(&line, between[i]);
    }
    sink_bytes(sink, text, print_length(&line));
}

static void write_site(struct sink *sink, uint32_t site)
{
    format_frames(sink, track_stack(site), 8);
    sink_text(sink, "\n");
}

static uint64_t row_objects(const struct scan_row *row)
{
    return row->definite.blocks + row->indirect.blocks + row->possible.blocks;
}

static int write_file(int fd, const struct scan_result *result)
{
    char buffer[BUFFER_SIZE];
    struct sink sink;
    uint64_t bytes = 0;
    sink_to_fd(&sink, fd, buffer, sizeof buffer);
    for (unsigned i = 0; i < SCAN_ROWS; i++)
        bytes += result->rows[i].requested_bytes;
    sink_text(&sink, "heap profile: ");
    write_line(&sink, result->lost_count, bytes);
    sink_text(&sink, " heapprofile\n");
    if (result->lost_count <= SCAN_LOST_MAX)
        for (unsigned i = 0; i < result->lost_count; i++) {
            write_line(&sink, 1, result->lost[i].requested);
            write_site(&sink, result->lost[i].site);
        }
    for (unsigned i = 0; i < SCAN_ROWS && result->lost_count > SCAN_LOST_MAX; i++)
        if (result->rows[i].used) {
            write_line(&sink, row_objects(&result->rows[i]), result->rows[i].requested_bytes);
            write_site(&sink, result->rows[i].site);
        }
    format_libraries(&sink);
    return sink_flush(&sink);
}

/* SPDX-License-Identifier: MIT */
/* See tool/summary.h: reading. tool/summary_print.c prints it. */
#include "tool/summary.h"

#include "tool/profile/profile.h"
#include "tool/summary_parts.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Room for one more at the end of a list. False: the reading goes on without. */
static bool list_grow(struct summary *summary, struct list *list, size_t size)
{
    if (list->count < list->room)
        return true;
    size_t room = list->room == 0 ? 64 : 2 * list->room;
    void *more = summary->failed ? NULL : realloc(list->items, room * size);
    if (!more) {
        summary->failed = true;
        return false;
    }
    list->items = more;
    list->room = room;
    return true;
}

static void take_process(void *context, const struct capture_process *process)
{
    struct summary *summary = context;
    size_t length = process->command.length;
    summary->pid = (int64_t)process->pid;
    summary->rate = process->rate;
    summary->start_ms = process->time_ms;
    summary->command_length = length < sizeof summary->command ? length : sizeof summary->command;
    memcpy(summary->command, process->command.bytes, summary->command_length);
}

static void take_maps(void *context)
{
    struct summary *summary = context;
    summary_maps_clear(summary);
}

static void take_map(void *context, const struct capture_map *map)
{
    struct summary *summary = context;
    if (!(map->flags & MAP_EXECUTABLE) || !list_grow(summary, &summary->maps, sizeof(struct map)))
        return;
    struct map *kept = &((struct map *)summary->maps.items)[summary->maps.count++];
    memset(kept, 0, sizeof *kept);
    kept->start = map->start;
    kept->end = map->end;
    kept->offset = map->offset;
    kept->path = strndup(map->path.bytes, map->path.length);
    for (size_t i = 0; i < map->build_id.length && 2 * i + 2 < sizeof kept->build_id; i++)
        snprintf(kept->build_id + 2 * i, 3, "%02x", (unsigned char)map->build_id.bytes[i]);
}

static void take_node(void *context, uint32_t node, uint32_t caller, uint64_t pc)
{
    struct summary *summary = context;
    while (summary->nodes.count <= node) {
        if (!list_grow(summary, &summary->nodes, sizeof(struct node)))
            return;
        ((struct node *)summary->nodes.items)[summary->nodes.count++] = (struct node){0, 0};
    }
    ((struct node *)summary->nodes.items)[node] = (struct node){caller, pc};
}

static void take_point(void *context, const struct capture_point *point)
{
    struct summary *summary = context;
    if (list_grow(summary, &summary->points, sizeof(struct point)))
        ((struct point *)summary->points.items)[summary->points.count++] =
            (struct point){point->time_ms, point->live_bytes};
    if (point->time_ms < summary->start_ms) /* a forked child has its file later than its heap */
        summary->start_ms = point->time_ms;
}

static void take_snapshot(void *context, const struct capture_snapshot *snapshot)
{
    struct summary *summary = context;
    summary->rows.count = 0;
    summary->peak_variance = 0;
    summary->rate = snapshot->rate;
}

static void take_row(void *context, const struct capture_row *row)
{
    enum { SHORT_BELOW = 6 }; /* 4^5 microseconds: about a millisecond */
    struct summary *summary = context;
    uint64_t brief = 0;
    if (!list_grow(summary, &summary->rows, sizeof(struct row)))
        return;
    for (unsigned i = 0; i < SHORT_BELOW; i++)
        brief += row->lives[i];
    struct row *kept = &((struct row *)summary->rows.items)[summary->rows.count++];
    memset(kept, 0, sizeof *kept);
    kept->stack = row->stack;
    kept->values[VALUE_PEAK] = row->weight * (double)row->peak.usable;
    if (row->peak.objects > 0) { /* each was picked with probability 1 / weight */
        double size = (double)row->peak.usable / (double)row->peak.objects;
        summary->peak_variance +=
            (double)row->peak.objects * size * size * row->weight * (row->weight - 1);
    }
    kept->values[VALUE_LIVE] = row->weight * (double)row->live.usable;
    kept->values[VALUE_BRIEF] = row->weight * (double)brief;
}

static void take_whole(void *context, uint64_t rows)
{
    struct summary *summary = context;
    (void)rows;
    summary->whole = true;
}

static void take_totals(void *context, const struct capture_totals *totals)
{
    struct summary *summary = context;
    summary->peak_bytes = totals->peak.usable;
    summary->peak_ms = totals->peak_ms;
    summary->live_bytes = totals->live.usable;
}

static void take_allocator(void *context, const struct capture_allocator *allocator)
{
    struct summary *summary = context;
    summary->end_bytes = allocator->live_bytes;
    summary->alloc_bytes = allocator->alloc_bytes;
    summary->allocs = allocator->allocs;
}

static void take_end(void *context, uint64_t time_ms)
{
    (void)time_ms;
    ((struct summary *)context)->ended = true;
}

/* The whole file, or NULL. */
static char *file_read(const char *path, size_t *size)
{
    enum { FILE_MAX = 1 << 30 };
    struct stat stat;
    char *bytes = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return NULL;
    if (fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) && stat.st_size > 0 &&
        stat.st_size <= FILE_MAX)
        bytes = malloc((size_t)stat.st_size);
    *size = 0;
    ssize_t got = 1;
    while (bytes && got > 0 && *size < (size_t)stat.st_size) {
        got = read(fd, bytes + *size, (size_t)stat.st_size - *size);
        *size += got > 0 ? (size_t)got : 0;
    }
    close(fd);
    return bytes;
}

struct summary *summary_read(const char *path)
{
    static const struct capture_calls calls = {
        .process = take_process,
        .maps = take_maps,
        .map = take_map,
        .node = take_node,
        .point = take_point,
        .snapshot = take_snapshot,
        .row = take_row,
        .whole = take_whole,
        .totals = take_totals,
        .allocator = take_allocator,
        .end = take_end,
    };
    struct capture_error error;
    size_t size = 0;
    char *bytes = file_read(path, &size);
    struct summary *summary = bytes ? calloc(1, sizeof *summary) : NULL;
    if (summary && (capture_read(bytes, size, &calls, summary, &error) == CAPTURE_REFUSED ||
                    summary->failed || !summary->whole)) {
        summary_free(summary);
        summary = NULL;
    }
    free(bytes);
    return summary;
}

void summary_maps_clear(struct summary *summary)
{
    struct map *maps = summary->maps.items;
    for (size_t i = 0; i < summary->maps.count; i++)
        free(maps[i].path);
    summary->maps.count = 0;
}

void summary_free(struct summary *summary)
{
    if (!summary)
        return;
    summary_maps_clear(summary);
    free(summary->maps.items);
    free(summary->nodes.items);
    free(summary->points.items);
    free(summary->rows.items);
    free(summary);
}

int64_t summary_pid(const struct summary *summary)
{
    return summary->pid;
}

uint64_t summary_peak(const struct summary *summary)
{
    return summary->peak_bytes;
}

int64_t summary_rate(const struct summary *summary)
{
    return summary->rate;
}

const char *summary_command(const struct summary *summary, size_t *length)
{
    *length = summary->command_length;
    return summary->command;
}

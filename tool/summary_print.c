/* SPDX-License-Identifier: MIT */
/* See tool/summary.h: blame, sums and lines. */
#include "tool/summary.h"

#include "base/print.h"
#include "tool/profile/profile.h"
#include "tool/summary_parts.h"
#include "tool/symbol/symbol.h"
#include "tool/terminal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SITES_SHOWN = 3, SIZE_TEXT = 24, GRAPH_WIDTH = 60, FRAMES_MAX = 512, NAME_MOST = 44 };

static void rows_blame(struct summary *summary, struct profile *profile);
static void rows_merge(struct summary *summary);
static void graph_print(const struct summary *summary, FILE *file, uint64_t time_ms);
static void sites_print(struct summary *summary, FILE *file, unsigned value, const char *label);

static const char *size_text(char text[SIZE_TEXT], uint64_t bytes)
{
    struct print print;
    print_start(&print, text, SIZE_TEXT);
    print_size(&print, bytes);
    return print_string(&print);
}

/* 412 M, 3.1 K, 17 */
static const char *count_text(char text[SIZE_TEXT], double count)
{
    static const char *const units[] = {"", " K", " M", " G", " T"};
    size_t unit = 0;
    while (count >= 999.5 && unit < sizeof units / sizeof *units - 1) {
        count /= 1000;
        unit++;
    }
    int places = unit == 0 || count >= 100 ? 0 : count >= 10 ? 1 : 2;
    snprintf(text, SIZE_TEXT, "%.*f%s", places, count, units[unit]);
    return text;
}

const char *summary_time(char text[SUMMARY_TIME], uint64_t time_ms)
{
    uint64_t seconds = time_ms / 1000;
    if (time_ms < 10000)
        snprintf(text, SUMMARY_TIME, "%.2fs", (double)time_ms / 1000);
    else if (seconds < 60)
        snprintf(text, SUMMARY_TIME, "%.1fs", (double)time_ms / 1000);
    else if (seconds < 3600)
        snprintf(text, SUMMARY_TIME, "%lum%02lus", seconds / 60, seconds % 60);
    else
        snprintf(text, SUMMARY_TIME, "%luh%02lum", seconds / 3600, seconds / 60 % 60);
    return text;
}

/* How far the peak may be off, in 95 of 100 cases; nothing if that is little. */
static const char *error_text(char text[SIZE_TEXT], const struct summary *summary)
{
    static const double deviations = 1.96, least = 0.02;
    double error = deviations * sqrt(summary->peak_variance) / (double)summary->peak_bytes;
    text[0] = '\0';
    if (summary->peak_bytes > 0 && error > least)
        snprintf(text, SIZE_TEXT, " %s%.0f %%", terminal_utf8() ? "±" : "+-",
                 error < 1 ? error * 100 : 100);
    return text;
}

void summary_print(struct summary *summary, FILE *file, uint64_t time_ms, uint64_t rss_peak_bytes)
{
    char size[SIZE_TEXT], count[SIZE_TEXT], rate[SIZE_TEXT], time[SUMMARY_TIME];
    struct profile profile;
    uint64_t at_ms =
        summary->peak_ms > summary->start_ms ? summary->peak_ms - summary->start_ms : 0;
    if (summary->rate >= 0)
        fprintf(file, "    peak %s%s at %s", size_text(size, summary->peak_bytes),
                error_text(count, summary), summary_time(time, at_ms));
    fprintf(file, "     %s %s", summary->ended ? "end" : "last seen",
            size_text(size, summary->end_bytes));
    fprintf(file, "     allocated %s in %s calls", size_text(size, summary->alloc_bytes),
            count_text(count, (double)summary->allocs));
    if (time_ms > 0)
        fprintf(file, " (%s/s)",
                count_text(rate, (double)summary->allocs * 1000 / (double)time_ms));
    fprintf(file, "\n    RSS  %s peak\n", size_text(size, rss_peak_bytes));
    graph_print(summary, file, time_ms);
    profile_start(&profile);
    rows_blame(summary, &profile);
    rows_merge(summary);
    if (summary->rows.count > 0)
        fputc('\n', file);
    sites_print(summary, file, VALUE_PEAK, "biggest at peak");
    sites_print(summary, file, VALUE_LIVE, "still alive at end");
    sites_print(summary, file, VALUE_BRIEF, "most short-lived");
    profile_free(&profile);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool begins_with_any(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (strncmp(text, *words, strlen(*words)) == 0)
            return true;
    return false;
}

/* Frames between malloc and the code that wanted the memory. */
static bool is_plumbing(const struct row *frame, const char *system_name)
{
    static const char *const modules[] = {"libc.so",   "libc-2",     "ld-linux", "ld-musl",
                                          "libstdc++", "libc++",     "libgcc_s", "libmemoir",
                                          "libm.so",   "libpthread", NULL};
    static const char *const functions[] = {"_ZSt",  "_ZNSt", "_ZNKSt", "_ZN9__gnu_cxx",
                                            "_Znw",  "_Zna",  "_ZNSa",  "_ZNSo",
                                            "_ZNSi", "_ZNSs", NULL};
    static const char *const allocators[] = {
        "malloc",  "calloc",        "realloc",        "reallocarray",      "memalign", "strdup",
        "strndup", "aligned_alloc", "posix_memalign", "__libc_start_main", NULL};
    if (frame->map && frame->map->path && begins_with_any(base_name(frame->map->path), modules))
        return true;
    if (!frame->name || frame->guess)
        return false;
    if (begins_with_any(system_name, functions))
        return true;
    for (const char *const *word = allocators; *word; word++)
        if (strcmp(system_name, *word) == 0)
            return true;
    return false;
}

/* Names for the addresses of all stacks that have rows: locations[node] is the number of one. */
static bool nodes_resolve(struct summary *summary, struct profile *profile, uint32_t *locations)
{
    static const struct symbol_options options = {0};
    const struct node *nodes = summary->nodes.items;
    const struct row *rows = summary->rows.items;
    const struct map *maps = summary->maps.items;
    struct symbol_report report;
    for (size_t i = 0; i < summary->maps.count; i++) {
        struct profile_mapping mapping = {
            .start = maps[i].start, .limit = maps[i].end, .offset = maps[i].offset};
        mapping.path = profile_string_of(profile, maps[i].path ? maps[i].path : "");
        mapping.build_id = profile_string_of(profile, maps[i].build_id);
        profile_mapping(profile, &mapping);
    }
    for (size_t i = 0; i < summary->rows.count; i++) {
        uint32_t node = rows[i].stack;
        for (unsigned depth = 0; node > 1 && node < summary->nodes.count && depth < FRAMES_MAX;
             depth++) {
            locations[node] = profile_address(profile, nodes[node].pc, 0);
            node = nodes[node].caller;
        }
    }
    bool right = symbol_resolve(profile, &options, &report);
    symbol_report_free(&report);
    return right;
}

/* The first function at an address that is not plumbing. False: all are, *frame is the first. */
static bool location_blame(const struct summary *summary, const struct profile *profile,
                           uint32_t number, struct row *frame)
{
    const struct profile_location *location = profile_location_at(profile, number);
    const struct profile_line *lines = profile_lines_of(profile, number);
    const struct map *maps = summary->maps.items;
    frame->map = location->mapping > 0 ? &maps[location->mapping - 1] : NULL;
    frame->place = location->address - 1;
    if (frame->map)
        frame->place += frame->map->offset - frame->map->start;
    frame->name = NULL;
    frame->guess = location->flags & LOCATION_GUESS;
    if (location->lines == 0)
        return !is_plumbing(frame, "");
    for (uint32_t i = 0; i < location->lines; i++) {
        const struct profile_function *function = profile_function_at(profile, lines[i].function);
        struct row inner = *frame;
        inner.name = profile_text(profile, function->name);
        inner.place = function->name;
        bool plumbing = is_plumbing(&inner, profile_text(profile, function->system_name));
        if (i == 0 || !plumbing)
            *frame = inner;
        if (!plumbing)
            return true;
    }
    return false;
}

/* Finds for every row the function that is to blame. */
static void rows_blame(struct summary *summary, struct profile *profile)
{
    const struct node *nodes = summary->nodes.items;
    struct row *rows = summary->rows.items;
    uint32_t *locations = calloc(summary->nodes.count + 1, sizeof *locations);
    bool right = locations && nodes_resolve(summary, profile, locations);
    for (size_t i = 0; right && i < summary->rows.count; i++) {
        struct row *row = &rows[i], frame = *row, first = *row;
        bool found = false;
        uint32_t node = row->stack;
        for (unsigned depth = 0;
             !found && node > 1 && node < summary->nodes.count && depth < FRAMES_MAX; depth++) {
            found = location_blame(summary, profile, locations[node], &frame);
            if (depth == 0)
                first = frame;
            node = nodes[node].caller;
        }
        struct row *blamed = found ? &frame : &first;
        row->map = blamed->map;
        row->place = blamed->place;
        row->name = blamed->name;
        row->guess = blamed->guess;
    }
    free(locations);
}

static int site_order(const void *left, const void *right)
{
    const struct row *a = left, *b = right;
    if (a->map != b->map)
        return a->map < b->map ? -1 : 1;
    return a->place < b->place ? -1 : a->place > b->place;
}

/* Rows of one function become one. */
static void rows_merge(struct summary *summary)
{
    struct row *rows = summary->rows.items;
    size_t kept = 0;
    if (summary->rows.count == 0)
        return;
    qsort(rows, summary->rows.count, sizeof *rows, site_order);
    for (size_t i = 1; i < summary->rows.count; i++) {
        if (site_order(&rows[kept], &rows[i]) != 0) {
            rows[++kept] = rows[i];
            continue;
        }
        for (unsigned value = 0; value < VALUES; value++)
            rows[kept].values[value] += rows[i].values[value];
    }
    summary->rows.count = kept + 1;
}

static void site_name(const struct row *row, char *text, size_t size)
{
    if (row->name) {
        snprintf(text, size, "%s%s", row->guess ? "~" : "", row->name);
    } else if (row->map && row->map->path) {
        snprintf(text, size, "%s+0x%lx", base_name(row->map->path), row->place);
    } else {
        snprintf(text, size, row->stack <= 1 ? "(stack not recorded)" : "0x%lx", row->place);
    }
}

static void sites_print(struct summary *summary, FILE *file, unsigned value, const char *label)
{
    struct row *rows = summary->rows.items;
    double total = 0, least = 0.02;
    for (size_t i = 0; i < summary->rows.count; i++)
        total += rows[i].values[value];
    for (unsigned shown = 0; shown < SITES_SHOWN && total > 0; shown++) {
        struct row *best = rows;
        char size[SIZE_TEXT], name[512];
        for (size_t i = 1; i < summary->rows.count; i++)
            if (rows[i].values[value] > best->values[value])
                best = &rows[i];
        if (best->values[value] < least * total)
            break;
        if (value == VALUE_BRIEF)
            count_text(size, best->values[value]);
        else
            size_text(size, (uint64_t)(best->values[value] + 0.5));
        site_name(best, name, sizeof name);
        fprintf(file, "    %-19s %9s %3.0f %%  %-*s  %s\n", shown == 0 ? label : "", size,
                100 * best->values[value] / total, NAME_MOST, name,
                best->map && best->map->path && best->name ? base_name(best->map->path) : "");
        best->values[value] = 0;
    }
}

/* One line of blocks: the live heap from the start to the end. */
static void graph_print(const struct summary *summary, FILE *file, uint64_t time_ms)
{
    static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const letters[] = {" ", ".", ".", ":", ":", "-", "=", "#", "#"};
    enum { LEVELS = 8, POINTS_MIN = 4 };
    const struct point *points = summary->points.items;
    uint64_t most = 0, columns[GRAPH_WIDTH] = {0};
    char size[SIZE_TEXT], time[SUMMARY_TIME];
    if (summary->points.count < POINTS_MIN || time_ms == 0)
        return;
    size_t last = 0;
    for (size_t i = 0; i < summary->points.count; i++) {
        uint64_t time_at = points[i].time_ms, live = points[i].live_bytes;
        uint64_t since = time_at > summary->start_ms ? time_at - summary->start_ms : 0;
        size_t column = since >= time_ms ? GRAPH_WIDTH - 1 : since * GRAPH_WIDTH / time_ms;
        bool more = live > columns[last] || column > last;
        for (; last < column; last++) /* a column without a point is as the one before it */
            columns[last + 1] = columns[last];
        columns[last] = more ? live : columns[last];
        most = live > most ? live : most;
    }
    for (; last < GRAPH_WIDTH - 1; last++)
        columns[last + 1] = columns[last];
    if (most == 0)
        return;
    fprintf(file, "\n    heap %9s |", size_text(size, most));
    for (size_t i = 0; i < GRAPH_WIDTH; i++) {
        size_t level = (size_t)((columns[i] * LEVELS + most - 1) / most);
        fputs(terminal_utf8() ? blocks[level] : letters[level], file);
    }
    fprintf(file, "| %s\n", summary_time(time, time_ms));
}

/* SPDX-License-Identifier: MIT */
/*
 * The answer of `memoir sizes`: blocks by their size, and what was lost by rounding requests up to
 * sizes that the allocator has. JSON (memoir.sizes/1) and CSV have every size; the text puts them
 * together by powers of two where they are too many.
 */
#include "tool/report/text/report_sizes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tool/memory/memory.h"
#include "tool/report/report.h"
#include "tool/report/text/text.h"

enum { ROWS_USUAL = 28 };

_Static_assert(offsetof(struct sizes_row, max) ==
                   offsetof(struct sizes_row, min) + sizeof(uint64_t),
               "both ends of a range are its key");

static void columns_find(const struct view *view, int columns[3]);
static int64_t part(int64_t value, double share);
static bool row_count(struct sizes *sizes, struct map *known, size_t *room,
                      const struct sizes_row *row);
static const void *row_bytes(const void *context, uint32_t number, size_t *size);
static void row_add(struct sizes_row *to, const struct sizes_row *from);
static int row_order(const void *left, const void *right);
static void rows_join(struct sizes *sizes);
static bool same_power(uint64_t a, uint64_t b);
static void put_json(const struct view *view, const struct sizes *sizes, const struct style *style);
static uint64_t row_size(const struct sizes_row *row);
static void put_csv(const struct sizes *sizes, const struct style *style);
static void put_text(const struct view *view, const struct sizes *sizes, const struct style *style);
static bool is_narrow(const struct style *style, unsigned columns);
static void put_row(const struct sizes *sizes, const struct sizes_row *row, int64_t largest,
                    const struct style *style);
static void put_bar(const struct style *style, double share, unsigned room);

bool sizes_make(struct sizes *sizes, const struct view *view, size_t max)
{
    const struct profile_samples *samples = &view->profile->samples;
    struct map known = {0};
    size_t room = 64;
    int columns[3];
    columns_find(view, columns);
    *sizes = (struct sizes){.has_requested = columns[2] >= 0};
    sizes->rows = calloc(room, sizeof *sizes->rows);
    bool done = sizes->rows != NULL;
    for (size_t i = 0; i < samples->count && columns[0] >= 0 && columns[1] >= 0 && done; i++) {
        if (question_stack(view, i) == UINT32_MAX || samples->values[columns[1]][i] <= 0)
            continue;
        double share = filter_age_share(&view->options, view->profile, i);
        struct sizes_row row = {.objects = part(samples->values[columns[0]][i], share),
                                .bytes = part(samples->values[columns[1]][i], share)};
        row.requested = columns[2] >= 0 ? part(samples->values[columns[2]][i], share) : row.bytes;
        if (row.bytes <= 0)
            continue;
        struct block_size size = block_size_of(view->profile, i);
        row.min = size.bytes > 0 ? size.min : (uint64_t)row.bytes;
        row.max = size.bytes > 0 ? size.max : (uint64_t)row.bytes;
        sizes->objects += row.objects;
        sizes->bytes += row.bytes;
        sizes->requested += row.requested;
        done = row_count(sizes, &known, &room, &row);
    }
    map_free(&known);
    if (!done) {
        sizes_free(sizes);
        return false;
    }
    qsort(sizes->rows, sizes->count, sizeof *sizes->rows, row_order);
    if (max > 0 && sizes->count > max)
        rows_join(sizes);
    return true;
}

/* The columns that belong to the view's: inuse_objects, inuse_space, inuse_requested. */
static void columns_find(const struct view *view, int columns[3])
{
    static const char *const ends[3] = {"_objects", "_space", "_requested"};
    const char *type = "inuse";
    char name[64];
    if (view->options.type < view->profile->types)
        type = profile_text(view->profile, view->profile->type[view->options.type].name);
    for (unsigned i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "%.*s%s", (int)strcspn(type, "_") & 31, type, ends[i]);
        columns[i] = profile_type_named(view->profile, name);
    }
}

static int64_t part(int64_t value, double share)
{
    return share < 1 ? llround((double)value * share) : value;
}

/* To the row of its size. False when memory is out. */
static bool row_count(struct sizes *sizes, struct map *known, size_t *room,
                      const struct sizes_row *row)
{
    uint32_t number;
    if (!map_find(known, sizes, row_bytes, &row->min, sizeof(uint64_t[2]), &number))
        return false;
    if (number != MAP_NONE) {
        row_add(&sizes->rows[number], row);
        return true;
    }
    if (!list_reserve(&sizes->rows, room, sizes->count + 1, sizeof *sizes->rows))
        return false;
    map_add(known, (uint32_t)sizes->count);
    sizes->rows[sizes->count++] = *row;
    return true;
}

static const void *row_bytes(const void *context, uint32_t number, size_t *size)
{
    const struct sizes *sizes = context;
    *size = sizeof(uint64_t[2]);
    return &sizes->rows[number].min;
}

static void row_add(struct sizes_row *to, const struct sizes_row *from)
{
    if (from->min < to->min)
        to->min = from->min;
    if (from->max > to->max)
        to->max = from->max;
    to->objects += from->objects;
    to->bytes += from->bytes;
    to->requested += from->requested;
}

static int row_order(const void *left, const void *right)
{
    const struct sizes_row *a = left, *b = right;
    if (a->min != b->min)
        return a->min > b->min ? 1 : -1;
    return (a->max > b->max) - (a->max < b->max);
}

/* Rows between two powers of two become one. */
static void rows_join(struct sizes *sizes)
{
    size_t kept = 0;
    for (size_t i = 0; i < sizes->count; i++) {
        struct sizes_row *last = kept > 0 ? &sizes->rows[kept - 1] : NULL;
        const struct sizes_row *row = &sizes->rows[i];
        if (last && same_power(last->min, row->min))
            row_add(last, row);
        else
            sizes->rows[kept++] = *row;
    }
    sizes->count = kept;
}

static bool same_power(uint64_t a, uint64_t b)
{
    return a > 0 && b > 0 && __builtin_clzll(a) == __builtin_clzll(b);
}

void sizes_free(struct sizes *sizes)
{
    free(sizes->rows);
    sizes->rows = NULL;
    sizes->count = 0;
}

void report_sizes(const struct view *view, const struct style *style)
{
    struct sizes sizes;
    size_t max = style->rows > 0 ? style->rows : ROWS_USUAL;
    if (!sizes_make(&sizes, view, style->format == STYLE_TEXT && !style->verbose ? max : 0)) {
        shortage_note();
        return;
    }
    if (style->format == STYLE_JSON)
        put_json(view, &sizes, style);
    else if (style->format == STYLE_CSV)
        put_csv(&sizes, style);
    else
        put_text(view, &sizes, style);
    sizes_free(&sizes);
}

static void put_json(const struct view *view, const struct sizes *sizes, const struct style *style)
{
    struct json json;
    json_start(&json, style->out, true);
    json_object(&json, NULL);
    table_json_head(&json, view, style, "memoir.sizes/1");
    json_number(&json, "objects", sizes->objects);
    json_number(&json, "bytes", sizes->bytes);
    if (sizes->has_requested)
        json_number(&json, "requested", sizes->requested);
    json_array(&json, "sizes");
    for (size_t i = 0; i < sizes->count; i++) {
        const struct sizes_row *row = &sizes->rows[i];
        json_object(&json, NULL);
        json_number(&json, "size", (int64_t)row_size(row));
        if (row->min != row->max) {
            json_number(&json, "size_least", (int64_t)row->min);
            json_number(&json, "size_most", (int64_t)row->max);
        }
        json_number(&json, "objects", row->objects);
        json_number(&json, "bytes", row->bytes);
        if (sizes->has_requested)
            json_number(&json, "requested", row->requested);
        json_end(&json);
    }
    json_end(&json);
    json_end(&json);
    fputs("\n", style->out);
}

/* Of one block: its size, or the mean of a range. */
static uint64_t row_size(const struct sizes_row *row)
{
    return row->min == row->max || row->objects <= 0
               ? row->max
               : (uint64_t)row->bytes / (uint64_t)row->objects;
}

static void put_csv(const struct sizes *sizes, const struct style *style)
{
    fputs("size,objects,bytes,requested\n", style->out);
    for (size_t i = 0; i < sizes->count; i++) {
        const struct sizes_row *row = &sizes->rows[i];
        fprintf(style->out, "%llu,%lld,%lld,%lld\n", (unsigned long long)row_size(row),
                (long long)row->objects, (long long)row->bytes, (long long)row->requested);
    }
}

static void put_text(const struct view *view, const struct sizes *sizes, const struct style *style)
{
    char bytes[32], count[32], waste[32], share[16];
    int64_t largest = 0;
    fprintf(style->out, "%s    %s: %s in %s blocks", style->name ? style->name : "?",
            table_metric(view), style_value(bytes, (double)sizes->bytes, UNIT_BYTES),
            style_value(count, (double)sizes->objects, UNIT_COUNT));
    int64_t lost = sizes->bytes - sizes->requested;
    if (sizes->has_requested)
        fprintf(style->out, ", %s (%s) of it rounding",
                style_value(waste, (double)lost, UNIT_BYTES),
                style_share(share, (double)lost, (double)sizes->bytes));
    fputs("\n", style->out);
    if (sizes->count == 0) {
        if (view->total.value != 0)
            fputs("This profile does not count blocks.\n", style->out);
        return;
    }
    fprintf(style->out, "%20s%s%11s%s\n", "size", is_narrow(style, 50) ? "" : "    blocks", "bytes",
            sizes->has_requested && !is_narrow(style, 67) ? "         rounding" : "");
    for (size_t i = 0; i < sizes->count; i++)
        if (sizes->rows[i].bytes > largest)
            largest = sizes->rows[i].bytes;
    for (size_t i = 0; i < sizes->count; i++)
        put_row(sizes, &sizes->rows[i], largest, style);
}

/* Not enough room for these columns and a bar. */
static bool is_narrow(const struct style *style, unsigned columns)
{
    return style->fits && style->width < columns + 10;
}

static void put_row(const struct sizes *sizes, const struct sizes_row *row, int64_t largest,
                    const struct style *style)
{
    char text[32], min[32], share[16], range[80];
    int64_t waste = row->bytes - row->requested;
    snprintf(range, sizeof range, "%s", style_value(min, (double)row->min, UNIT_BYTES));
    if (row->max != row->min)
        snprintf(range, sizeof range, "%s %s %s", min, question_glyph(style, "–", "-"),
                 style_value(text, (double)row->max, UNIT_BYTES));
    question_pad(style, range, 20);
    if (!is_narrow(style, 50))
        fprintf(style->out, "%10s", style_value(text, (double)row->objects, UNIT_COUNT));
    fputs("  ", style->out);
    double part = sizes->bytes > 0 ? (double)row->bytes / (double)sizes->bytes : 0;
    style_heat(style, part, style_value(text, (double)row->bytes, UNIT_BYTES), 9);
    fprintf(style->out, "%7s", style_share(share, (double)row->bytes, (double)sizes->bytes));
    bool rounding = sizes->has_requested && !is_narrow(style, 67);
    unsigned used = rounding ? 67 : is_narrow(style, 50) ? 40 : 50;
    double length = largest > 0 ? (double)row->bytes / (double)largest : 0;
    bool bar = length * 8 * (style->width > used + 8 ? style->width - used - 2 : 8) >= 0.5 &&
               !is_narrow(style, 50);
    if (rounding && (bar || waste > 0)) {
        fprintf(style->out, "%10s", waste > 0 ? style_value(text, (double)waste, UNIT_BYTES) : "");
        fprintf(style->out, "%7s",
                waste > 0 ? style_share(share, (double)waste, (double)row->bytes) : "");
    }
    if (bar) {
        fputs("  ", style->out);
        put_bar(style, length, style->width > used + 8 ? style->width - used - 2 : 8);
    }
    fputs("\n", style->out);
}

static void put_bar(const struct style *style, double share, unsigned room)
{
    static const char *const parts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    unsigned eighths = (unsigned)(share * room * 8 + 0.5);
    for (unsigned i = 0; i < eighths / 8; i++)
        fputs(question_glyph(style, "█", "#"), style->out);
    if (style->utf8)
        fputs(parts[eighths % 8], style->out);
}

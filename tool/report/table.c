/* SPDX-License-Identifier: MIT */
/*
 * See tool/report/table.h. The width is shared out in one place: numbers first, then the site,
 * which is shortened inside of template arguments before anything else goes; columns that help
 * least are dropped on narrow terminals. JSON and CSV get the same values with all digits, by the
 * functions at the end.
 */
#include "tool/report/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

enum { INLINED_WIDTH = 10 }; /* " (inlined)" */

const char *table_metric(const struct view *view)
{
    static const char *const names[][2] = {
        {TYPE_INUSE_SPACE, "live heap"},
        {TYPE_INUSE_OBJECTS, "live objects"},
        {TYPE_INUSE_REQUESTED, "live heap, as requested"},
        {TYPE_ALLOC_SPACE, "allocated"},
        {TYPE_ALLOC_OBJECTS, "allocations"},
        {TYPE_ALLOC_REQUESTED, "allocated, as requested"},
        {TYPE_PEAK_SPACE, "live heap at peak"},
        {TYPE_PEAK_OBJECTS, "live objects at peak"},
        {TYPE_PEAK_REQUESTED, "live heap at peak, as requested"},
        {TYPE_CPU, "CPU time"},
        {TYPE_WALL, "time, waiting included"},
        {TYPE_DELAY, "time waited"},
        {TYPE_CONTENTIONS, "waits for locks"},
        {TYPE_CONDITION_DELAY, "time waited for conditions"},
        {TYPE_CONDITION_WAITS, "waits for conditions"},
    };
    const struct profile *profile = view->profile;
    const char *name = profile_text(profile, profile->type[view->options.type].name);
    if (profile->at_peak && strcmp(name, TYPE_INUSE_SPACE) == 0)
        return "live heap at peak";
    if (profile->at_peak && strcmp(name, TYPE_INUSE_OBJECTS) == 0)
        return "live objects at peak";
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strcmp(names[i][0], name) == 0)
            return names[i][1];
    return name;
}

const char *table_objects(const struct view *view)
{
    const struct profile *profile = view->profile;
    int partner = profile_type_partner(profile, view->options.type);
    const char *name = partner < 0 ? "" : profile_text(profile, profile->type[partner].name);
    return strcmp(name, TYPE_SAMPLES) == 0 ? "samples"
           : strcmp(name, TYPE_CONTENTIONS) == 0 || strcmp(name, TYPE_CONDITION_WAITS) == 0
               ? "waits"
               : "objects";
}

double table_share(const struct view *view, int64_t value)
{
    return view->total.value != 0 ? (double)value / (double)view->total.value : 0;
}

static enum type_blocks blocks_of(const struct view *view)
{
    return profile_type_blocks(
        profile_text(view->profile, view->profile->type[view->options.type].name));
}

bool table_is_peak(const struct view *view, const struct profile *profile)
{
    enum type_blocks blocks = blocks_of(view);
    return blocks == BLOCKS_AT_PEAK || (blocks == BLOCKS_LIVE && profile->at_peak);
}

const char *table_moment(char text[32], const struct view *view, const struct profile *profile)
{
    bool peak = table_is_peak(view, profile);
    int64_t time_ns = peak ? profile->peak_time_ns : profile->duration_ns;
    text[0] = '\0';
    if (time_ns >= 1000000 &&
        (peak || (blocks_of(view) == BLOCKS_LIVE && profile->moments.count > 0)))
        style_time(text, time_ns);
    return text;
}

/* "(1m02s)" behind "live heap at peak"; "at 1m02s" where the moment is one before the last. */
static void head_moment(const struct view *view, const struct style *style)
{
    char time[32];
    const struct profile *profile = view->profile;
    const struct profile_moment *moments = profile->moments.items;
    size_t count = profile->moments.count;
    table_moment(time, view, profile);
    if (time[0] == '\0' || (style->base_name && !view->base))
        return;
    if (table_is_peak(view, profile))
        fprintf(style->out, " (%s)", time);
    else if (moments[count - 1].time_ns > profile->duration_ns)
        fprintf(style->out, " at %s", time);
}

void table_head(const struct view *view, const struct style *style)
{
    char text[32], name[512];
    double error = view_error_share(view->total.value, view->total.variance);
    if (style->base_name && view->base) {
        style_cell(style, name, sizeof name, style->base_name, style->width);
        fprintf(style->out, "%s %s ", name, style->utf8 ? "→" : "->");
    }
    style_cell(style, name, sizeof name, style->name ? style->name : "", style->width);
    fprintf(style->out, "%s", name);
    bool taken = style->base_name && !view->base;
    if (taken) {
        style_cell(style, name, sizeof name, style->base_name, style->width);
        fprintf(style->out, " %s %s", style->utf8 ? "−" : "-", name);
    }
    fprintf(style->out, "%s%s", name[0] ? "    " : "", table_metric(view));
    head_moment(view, style);
    fprintf(style->out, ": %s", style_value(text, (double)view->total.value, view->unit));
    if (error > 0.02)
        fprintf(style->out, " %s%.0f %%", style->utf8 ? "±" : "+-", 100 * error);
    if (view->total.value != view->whole.value && !taken)
        fprintf(style->out, ", %s of all",
                style_share(text, (double)view->total.value, (double)view->whole.value));
    if (view->frames_count > 0)
        fprintf(style->out, "    %.*f %% of frames named", view->unnamed > 0 ? 1 : 0,
                100 * (1 - view->unnamed));
    putc('\n', style->out);
}

void table_foot(const struct view *view, const struct style *style)
{
    bool heap = view->profile->kind == PROFILE_HEAP && !view->timed && !view->waited;
    bool folds = view->options.frames == VIEW_BLAME && view->folds;
    const char *dot = style->utf8 ? "·" : "-";
    char text[256];
    if (view_by_has(view->options.by, BY_SAMPLES))
        return;
    snprintf(text, sizeof text, "self: %s%s %s total: with callees",
             heap                          ? "allocated at this site"
             : view->timed                 ? "in its own code"
             : view->waited && view->folds ? "waited at this site"
                                           : "of itself",
             !folds           ? ""
             : style->verbose ? ", library frames (below it) included"
                              : ", library frames included (-v shows them)",
             dot);
    style_dim(style, text);
    putc('\n', style->out);
}

void table_value(const struct view *view, const struct style *style, int64_t value, unsigned width)
{
    char text[32];
    style_heat(style, table_share(view, value), style_value(text, (double)value, view->unit),
               width);
}

void table_value_share(const struct view *view, const struct style *style, int64_t value,
                       unsigned width)
{
    char text[16];
    style_heat(style, table_share(view, value),
               style_share(text, (double)value, (double)view->total.value), width);
}

static const char *error_sign(const struct style *style)
{
    return style->utf8 ? "±" : "+-";
}

unsigned table_error_width(const struct style *style)
{
    return 1 + style_columns(error_sign(style)) + (unsigned)strlen("999%");
}

void table_error(const struct style *style, const struct view_value *value)
{
    char text[32] = "";
    double error = view_error_share(value->value, value->variance);
    if (error >= 9.995)
        snprintf(text, sizeof text, ">999%%");
    else if (error > 0.02)
        snprintf(text, sizeof text, "%s%.0f%%", error_sign(style), 100 * error);
    fprintf(style->out, "%*s", (int)(table_error_width(style) - style_columns(text)), "");
    style_dim(style, text);
}

/* file:line or the module, and how little of it can be shown. */
static bool site_place(const struct view *view, const struct view_frame *frame, char *text,
                       size_t size)
{
    bool place = frame->file[0] && view->options.by != VIEW_FILE;
    bool module = !place && frame->module[0] && !(frame->flags & FRAME_UNNAMED) &&
                  view->options.by < VIEW_FILE;
    text[0] = '\0';
    if (place)
        snprintf(text, size, frame->line > 0 ? "%s:%u" : "%s", frame->file, frame->line);
    else if (module)
        snprintf(text, size, "%s", name_base(frame->module));
    style_clean(text);
    return place;
}

/* Name and address of a frame in at most `name` columns. The columns it took. */
static unsigned site_name(const struct view *view, const struct style *style,
                          const struct view_frame *frame, unsigned name)
{
    char text[1024];
    unsigned taken = 0;
    bool address = view->options.by == VIEW_ADDRESS;
    if (address)
        taken = (unsigned)fprintf(style->out, "%#lx ", (unsigned long)frame->address);
    name = name > taken + 8 ? name - taken : 8;
    bool inlined = frame->flags & FRAME_INLINED && !address &&
                   (name > 24 || name >= style_columns(frame->name) + INLINED_WIDTH);
    bool guess = frame->flags & FRAME_GUESS && frame->name[0] == '~'; /* which must stay */
    text[0] = guess ? '~' : '\0';
    style_cell(style, text + guess, sizeof text - 14, frame->name + guess,
               (inlined ? name - INLINED_WIDTH : name) - guess);
    if (inlined)
        snprintf(text + strlen(text), 12, " (inlined)");
    style_paint(style, frame->flags & (FRAME_GUESS | FRAME_UNNAMED) ? "2" : "", text);
    return taken + style_columns(text);
}

/* Columns of a name whose arguments, but nothing else, may be left out. */
static unsigned site_needed(const struct view_frame *frame)
{
    char text[1024];
    static const struct style uncut = {.utf8 = true};
    style_cell(&uncut, text, sizeof text, frame->name, 1);
    const char *last = text;
    for (const char *at = text; (at = strstr(at, "::")) != NULL && at[2] != '\0'; at += 2)
        last = at + 2;
    return style_columns(last) + (last > text) + (frame->name[0] == '~');
}

void table_site(const struct view *view, const struct style *style, uint32_t number, unsigned name,
                unsigned width)
{
    enum { GAP = 2, NAME_MIN = 12 };
    const struct view_frame *frame = &view->frames[number];
    char rest[1024];
    bool place = site_place(view, frame, rest, sizeof rest);
    const char *shown = rest;
    unsigned min = style_columns(name_base(rest));
    if (rest[0] == '\0' || (style->fits && min + GAP + NAME_MIN > width)) {
        site_name(view, style, frame, width);
        return;
    }
    unsigned max = style->fits ? width - GAP - min : name, needed = site_needed(frame);
    if (name > max || needed > name) /* the folders of the place may go for the name */
        name = needed > name && needed < max ? needed : max;
    unsigned used = site_name(view, style, frame, name);
    fprintf(style->out, "%*s", (int)((used < name ? name - used : 0) + GAP), "");
    used = (used < name ? name : used) + GAP;
    unsigned left = width > used ? width - used : 1;
    while (style->fits && style_columns(shown) > left && strchr(shown, '/')) /* folders go first */
        shown = strchr(shown, '/') + 1;
    style_place_as(style, place ? frame->file : "", shown);
}

unsigned table_name_width(const struct view *view, const struct view_row *rows, size_t count,
                          unsigned max)
{
    unsigned longest = 0;
    for (size_t i = 0; i < count && longest < max; i++) {
        const struct view_frame *frame = &view->frames[rows[i].frame];
        unsigned length =
            style_columns(frame->name) + (frame->flags & FRAME_INLINED ? INLINED_WIDTH : 0);
        if (length > max) /* it will be cut */
            length = site_needed(frame);
        longest = length > longest ? length : longest;
    }
    return longest < max ? longest : max;
}

unsigned table_name_max(const struct style *style, unsigned room)
{
    enum { WIDE = 48 }; /* nothing is cut in a file, and what stands in rows is easier to read */
    unsigned max = room * 11 / 20;
    return style->fits || max > WIDE ? max : WIDE;
}

unsigned table_name_wanted(const struct view *view, const struct view_row *rows, size_t count,
                           unsigned room)
{
    unsigned place = 0;
    for (size_t i = 0; i < count; i++) {
        const struct view_frame *frame = &view->frames[rows[i].frame];
        const char *path = frame->file[0] ? frame->file : frame->module;
        unsigned length = style_columns(name_base(path)) + (frame->file[0] ? 6 : 0);
        if (!(frame->flags & FRAME_UNNAMED) && length > place)
            place = length;
    }
    unsigned max = place + 2 < room / 2 ? room - place - 2 : room / 2;
    return table_name_width(view, rows, count, max);
}

const char *table_squeeze(char *trend, unsigned count, unsigned width)
{
    char copy[256], *out = trend;
    unsigned cell = 0;
    if (count <= width || strlen(trend) >= sizeof copy)
        return trend;
    snprintf(copy, sizeof copy, "%s", trend);
    for (const char *at = copy; *at; cell++) {
        size_t length = 1;
        while (((unsigned char)at[length] & 0xc0) == 0x80)
            length++;
        /* the last of those that share a place: the end is what people look for */
        if ((cell + 1) * width / count > cell * width / count) {
            memcpy(out, at, length);
            out += length;
        }
        at += length;
    }
    *out = '\0';
    return trend;
}

void table_json_head(struct json *json, const struct view *view, const struct style *style,
                     const char *schema)
{
    const struct profile *profile = view->profile;
    const struct profile_type *type = &profile->type[view->options.type];
    json_text(json, "schema", schema);
    json_text(json, "input", style->name ? style->name : "");
    json_text(json, "format", profile->format);
    json_object(json, "metric");
    json_text(json, "name", profile_text(profile, type->name));
    json_text(json, "unit", profile_text(profile, type->unit));
    json_end(json);
    json_text(json, "by", view_by_word(view->options.by));
    json_number(json, "total", view->total.value);
    json_number(json, "total_objects", view->total.objects);
    json_real(json, "total_error", view_error_share(view->total.value, view->total.variance));
    json_number(json, "whole", view->whole.value);
    if (profile->off_time_ns > 0)
        json_number(json, "sampling_off_ns", profile->off_time_ns);
    if (view->base || style->base_name)
        json_text(json, "base_input", style->base_name ? style->base_name : "");
    if (view->base)
        json_number(json, "base_total", view->total.base);
    json_real(json, "named", 1 - view->unnamed);
}

void table_json_frame(struct json *json, const struct view *view, uint32_t number)
{
    const struct view_frame *frame = &view->frames[number];
    json_text(json, "name", frame->name);
    json_text(json, "file", frame->file);
    json_number(json, "line", frame->line);
    json_text(json, "module", frame->module);
    if (view->options.by == VIEW_ADDRESS) {
        char text[32];
        snprintf(text, sizeof text, "0x%lx", (unsigned long)frame->address);
        json_text(json, "address", text);
    }
    if (frame->flags & FRAME_INLINED)
        json_flag(json, "inlined", true);
    if (frame->flags & FRAME_GUESS)
        json_flag(json, "guess", true);
    if (frame->flags & FRAME_UNNAMED)
        json_flag(json, "unnamed", true);
}

void table_csv_text(const struct style *style, const char *text)
{
    bool quoted = strpbrk(text, ",\"\n\r") != NULL;
    char *clean = strdup(text);
    if (!clean)
        return;
    style_clean(clean);
    if (quoted)
        putc('"', style->out);
    for (const char *at = clean; *at; at++) {
        if (*at == '"')
            putc('"', style->out);
        putc(*at, style->out);
    }
    if (quoted)
        putc('"', style->out);
    free(clean);
}

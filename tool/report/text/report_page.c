/* SPDX-License-Identifier: MIT */
/*
 * `memoir report`: one page. Totals, the course of the heap, and a list for each question that the
 * profile can answer. `memoir run` ends with the short form.
 */
#include "tool/report/text/text.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "tool/memory/memory.h"
#include "tool/report/report.h"
#include "tool/report/text/heap_line.h"
#include "tool/report/text/resident.h"

enum { ROWS_EACH = 5, ROWS_BRIEF = 3, SHORT_US = 1024, VALUE_WIDTH = 10, SHARE_WIDTH = 7 };

struct ranking {
    const char *key, *title, *brief, *type;
    bool is_short;   /* blocks that ended early only */
    enum view_by by; /* of time; memory has the rows of the view that was asked for */
};

enum { LIST_PEAK, LIST_LIVE, LIST_ALLOCATED };

static const struct ranking lists[] = {
    {"peak", "live at the peak", "largest at peak", TYPE_PEAK_SPACE, false, VIEW_SITE},
    {"live", "still live at the end", "still live at end", TYPE_INUSE_SPACE, false, VIEW_SITE},
    {"allocated", "allocated in all", NULL, TYPE_ALLOC_SPACE, false, VIEW_SITE},
    {"calls", "allocations", NULL, TYPE_ALLOC_OBJECTS, false, VIEW_SITE},
    {"short_lived", "short-lived blocks (below 1 ms)", "most short-lived", TYPE_ALLOC_OBJECTS, true,
     VIEW_SITE},
    {"cpu", "CPU time by function", "most CPU time", TYPE_CPU, false, VIEW_FUNCTION},
    {"cpu_lines", "CPU time by line", NULL, TYPE_CPU, false, VIEW_SITE},
    {"cpu_threads", "CPU time by thread", NULL, TYPE_CPU, false, VIEW_THREAD},
    {"locks", "time waited", "longest lock waits", TYPE_DELAY, false, VIEW_SITE},
    {"wall", "time by function, waiting included", "most time", TYPE_WALL, false, VIEW_FUNCTION},
    {"wall_lines", "time by line, waiting included", NULL, TYPE_WALL, false, VIEW_SITE},
    {"wall_threads", "time by thread, waiting included", NULL, TYPE_WALL, false, VIEW_THREAD},
};

/* Which sites grow, by the rule of `memoir leaks` (leaks.h). */
struct growing {
    struct view live;
    struct leaks leaks;
};

/* A list of the short form, made before any is printed so that their columns fit together. */
struct brief {
    struct view view;
    struct view_row *rows;
    size_t count; /* to be shown */
};

static void page_json(const struct view *view, const struct style *style);
static void growing_make(struct growing *growing, const struct view *view);
static bool ranking_view(const struct view *view, const struct ranking *list, struct view *own);
static bool has_lines(const struct profile *profile);
static bool has_threads(const struct profile *profile);
static bool is_growing(const struct growing *growing, const struct view_frame *frame);
static void growing_free(struct growing *growing);
static void head_print(const struct view *view, const struct style *style);
static void totals_print(const struct view *view, const struct style *style);
static bool total_print(const struct profile *profile, const struct style *style, int64_t value);
static int64_t type_sum(const struct profile *profile, const char *name);
static void allocated_print(const struct profile *profile, const struct style *style);
static void clock_print(const struct profile *profile, const struct style *style);
static void locks_print(const struct profile *profile, const struct style *style);
static void warnings_print(const struct view *view, const struct style *style);
static void list_print(const struct view *view, const struct growing *growing,
                       const struct style *style, const char *title);
static unsigned room_left(const struct style *style, unsigned used);
static unsigned error_width(const struct view *view, const struct style *style);
static void row_print(const struct view *view, const struct growing *sites,
                      const struct style *style, const struct view_row *row, unsigned name,
                      unsigned room);
static void few_print(const struct view *view, const struct style *style);
static void early_print(const struct profile *profile, const struct style *style, int64_t time_ns);
static void brief_make(const struct view *view, const struct style *style,
                       const struct ranking *list, struct brief *brief);

void report_page(const struct view *view, const struct style *style)
{
    const struct profile *profile = view->profile;
    struct growing growing;
    bool any = false;
    if (style->format == STYLE_JSON) {
        page_json(view, style);
        return;
    }
    growing_make(&growing, view);
    head_print(view, style);
    if (profile->kind == PROFILE_HEAP)
        totals_print(view, style);
    resident_print(profile, style, 0);
    clock_print(profile, style);
    locks_print(profile, style);
    warnings_print(view, style);
    heap_line_print(profile, style, 4);
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        struct view own = {0};
        if (!ranking_view(view, &lists[i], &own))
            continue;
        const char *title =
            i == LIST_LIVE && !profile->ended ? "live when last seen" : lists[i].title;
        if (own.timed && own.options.by != lists[i].by)
            title = table_metric(&own);
        if (own.total.value != 0)
            list_print(&own, &growing, style, title);
        any = any || own.total.value != 0;
        view_free(&own);
    }
    if (!any)
        list_print(view, &growing, style, table_metric(view));
    growing_free(&growing);
}

static void page_json(const struct view *view, const struct style *style)
{
    const struct profile *profile = view->profile;
    size_t max = style->rows > 0 ? style->rows : ROWS_EACH;
    struct json json;
    struct growing growing;
    growing_make(&growing, view);
    json_start(&json, style->out, true);
    json_object(&json, NULL);
    table_json_head(&json, view, style, "memoir.report/1");
    json_number(&json, "duration_ns", profile->duration_ns);
    json_number(&json, "peak_time_ns", profile->peak_time_ns);
    json_number(&json, "resident_bytes", (int64_t)profile->resident_bytes);
    json_number(&json, "resident_peak_bytes", (int64_t)resident_max(profile));
    json_number(&json, "allocations", profile->exact_allocs);
    json_number(&json, "frees", profile->exact_frees);
    json_number(&json, "allocated_bytes", profile->exact_alloc_bytes);
    json_number(&json, "live_bytes", profile->at_peak ? -1 : profile->exact_live_bytes);
    if (profile->clock.rate > 0) {
        json_object(&json, "clock");
        json_text(&json, "source", profile_text(profile, profile->clock.source));
        json_number(&json, "rate", profile->clock.rate);
        json_number(&json, "on_ns", profile->clock.on_ns);
        json_number(&json, "lost", profile->clock.lost);
        json_number(&json, "uncovered", profile->clock.uncovered);
        json_number(&json, "user_ns", profile->clock.user_ns);
        json_number(&json, "system_ns", profile->clock.system_ns);
        json_end(&json);
    }
    json_flag(&json, "torn", profile->torn);
    json_object(&json, "lists");
    for (size_t k = 0; k < COUNT_OF(lists); k++) {
        struct view own = {0};
        size_t count;
        if (!ranking_view(view, &lists[k], &own))
            continue;
        struct view_row *rows = view_rows(&own, false, &count);
        json_object(&json, lists[k].key);
        json_number(&json, "total", own.total.value);
        json_real(&json, "total_error", view_error_share(own.total.value, own.total.variance));
        json_array(&json, "rows");
        for (size_t i = 0; rows && i < count && i < max && rows[i].self.value != 0; i++) {
            json_object(&json, NULL);
            table_json_frame(&json, &own, rows[i].frame);
            json_number(&json, "self", rows[i].self.value);
            json_number(&json, "total", rows[i].total.value);
            json_flag(&json, "growing",
                      !own.timed && !own.waited &&
                          is_growing(&growing, &own.frames[rows[i].frame]));
            json_end(&json);
        }
        json_end(&json);
        json_end(&json);
        free(rows);
        view_free(&own);
    }
    json_end(&json);
    json_end(&json);
    growing_free(&growing);
}

static void growing_make(struct growing *growing, const struct view *view)
{
    const struct profile *profile = view->profile;
    struct view all = *view;
    *growing = (struct growing){0};
    all.options.age_min_us = all.options.age_max_us = 0;
    all.options.base = NULL;
    all.options.rows_only = false;
    all.options.apart = true; /* as for memoir leaks */
    if (profile->kind != PROFILE_HEAP || !profile->samples.history ||
        profile->history_moments < 2 || !ranking_view(&all, &lists[LIST_LIVE], &growing->live))
        return;
    if (!leaks_make(&growing->leaks, &growing->live, &(struct leaks_options){.rule = LEAKS_AUTO}))
        shortage_note();
}

/* The view of one list. False: the profile has no such numbers. */
static bool ranking_view(const struct view *view, const struct ranking *list, struct view *own)
{
    struct view_error error = {.text = ""};
    struct view_options options = view->options;
    int type = profile_type_named(view->profile, list->type);
    if (type < 0 || (list->is_short && !view->profile->samples.lives))
        return false;
    options.type = (unsigned)type;
    if (list->is_short)
        options.age_max_us = SHORT_US;
    else if (profile_type_waited(view->profile, options.type))
        options.age_min_us = options.age_max_us = 0;
    if (profile_type_timed(view->profile, options.type)) {
        bool chosen = options.by != VIEW_SITE && options.by != VIEW_FUNCTION;
        if ((chosen && list->by != VIEW_FUNCTION) ||
            (list->by == VIEW_SITE && !has_lines(view->profile)) ||
            (list->by == VIEW_THREAD && !has_threads(view->profile)))
            return false;
        options.by = chosen ? options.by : list->by;
        options.age_min_us = options.age_max_us = 0;
    }
    bool made = view_make(own, view->profile, &options, &error);
    if (!made) /* the words are those of a view that there is */
        shortage_note();
    return made;
}

static bool has_lines(const struct profile *profile)
{
    const struct profile_line *lines = profile->lines.items;
    size_t i = 0;
    while (i < profile->lines.count && lines[i].line == 0)
        i++;
    return i < profile->lines.count;
}

static bool has_threads(const struct profile *profile)
{
    for (uint32_t set = 1; set < profile->label_sets.count; set++)
        if (profile_label_of(profile, set, "thread") || profile_label_of(profile, set, "tid"))
            return true;
    return false;
}

/* Of a frame of any view with the same filters. */
static bool is_growing(const struct growing *growing, const struct view_frame *frame)
{
    for (size_t i = 0; i < growing->leaks.count; i++) {
        const struct leaks_row *row = &growing->leaks.rows[i];
        if (!leaks_grows(row) || row->frame >= growing->live.frames_count)
            continue;
        const struct view_frame *of = &growing->live.frames[row->frame];
        if (of->line == frame->line && of->address == frame->address &&
            strcmp(of->name, frame->name) == 0 && strcmp(of->file, frame->file) == 0 &&
            strcmp(of->module, frame->module) == 0)
            return true;
    }
    return false;
}

static void growing_free(struct growing *growing)
{
    leaks_free(&growing->leaks);
    view_free(&growing->live);
}

static void head_print(const struct view *view, const struct style *style)
{
    const struct profile *profile = view->profile;
    char text[1024], time[32], size[32];
    bool bytes = profile_unit(profile, profile->period_type) == UNIT_BYTES;
    style_cell(style, text, sizeof text, style->name ? style->name : "", style->width);
    style_paint(style, "1", text);
    fprintf(style->out, "   %s", profile->format);
    if (profile->duration_ns > 0)
        fprintf(style->out, "   %s", style_time(time, profile->duration_ns));
    if (profile->period > 1 && bytes)
        fprintf(style->out, "   recorded 1 in %s",
                style_value(size, (double)profile->period, UNIT_BYTES));
    else if (profile->kind == PROFILE_HEAP && !profile->samples.weights)
        fputs("   recorded every block", style->out);
    else if (profile->kind == PROFILE_CPU && profile->period > 0 &&
             profile_unit(profile, profile->period_type) == UNIT_NANOSECONDS)
        fprintf(style->out, "   sampled %.4g times a second", 1e9 / (double)profile->period);
    putc('\n', style->out);
    if (profile->command || profile->program)
        fprintf(style->out, "    %s\n",
                style_name(
                    text, sizeof text,
                    profile_text(profile, profile->command ? profile->command : profile->program),
                    style->width - 4));
}

/* peak 1.31 GiB at 1m02s     end 214 MiB     allocated 88.4 GiB in 412 M allocations (3.1 M/s) */
static void totals_print(const struct view *view, const struct style *style)
{
    const struct profile *profile = view->profile;
    char time[32], live[32];
    struct view peak = {0}, all = *view;
    all.options.age_min_us = all.options.age_max_us = 0; /* which none of the live ones has */
    if (ranking_view(&all, &lists[LIST_PEAK], &peak)) {
        double error = view_error_share(peak.whole.value, peak.whole.variance);
        fputs("    peak ", style->out);
        if (total_print(profile, style, peak.whole.value) && error > 0.02)
            fprintf(style->out, " %s%.0f %%", style->utf8 ? "±" : "+-", 100 * error);
        if (profile->peak_time_ns >= 1000000)
            fprintf(style->out, " at %s", style_time(time, profile->peak_time_ns));
        view_free(&peak);
    }
    fputs(profile->ended ? "     end " : "     last seen ", style->out);
    if (!profile->counted && profile->period > 0 && profile->exact_live_bytes >= 0 &&
        !profile->at_peak)
        fputs(style_value(live, (double)profile->exact_live_bytes, UNIT_BYTES), style->out);
    else
        total_print(profile, style, type_sum(profile, TYPE_INUSE_SPACE));
    if (profile->torn && profile->duration_ns > 0)
        fprintf(style->out, " at %s", style_time(time, profile->duration_ns));
    allocated_print(profile, style);
    putc('\n', style->out);
}

/* "214 MiB"; "below 1.50 MiB" where no sample says how much, or one says far more than there can
 * be: so much would have had a sample in 19 of 20 runs, and more than all was never live. */
static bool total_print(const struct profile *profile, const struct style *style, int64_t value)
{
    char size[32];
    int64_t max = profile->exact_alloc_bytes, unseen = 3 * profile->period;
    bool known =
        profile->counted || profile->period <= 0 || max <= 0 || (value > 0 && value / 2 <= max);
    if (!known && value == 0 && unseen < max)
        max = unseen;
    fprintf(style->out, "%s%s", known ? "" : "below ",
            style_value(size, (double)(known ? value : max), UNIT_BYTES));
    return known;
}

static int64_t type_sum(const struct profile *profile, const char *name)
{
    int type = profile_type_named(profile, name);
    uint64_t sum = 0;
    for (size_t i = 0; type >= 0 && i < profile->samples.count; i++)
        sum += (uint64_t)profile->samples.values[type][i];
    return (int64_t)sum;
}

static void allocated_print(const struct profile *profile, const struct style *style)
{
    char size[32], count[32], rate[32];
    int64_t bytes = profile->exact_alloc_bytes, blocks = profile->exact_allocs;
    bool every = profile->counted || (profile->period == 0 && !profile->samples.weights);
    if (bytes < 0 || every) /* the lists are exact as well */
        bytes = type_sum(profile, TYPE_ALLOC_SPACE);
    if (blocks < 0 || every)
        blocks = type_sum(profile, TYPE_ALLOC_OBJECTS);
    if (bytes <= 0)
        return;
    fprintf(style->out, "     allocated %s in %s allocation%s",
            style_value(size, (double)bytes, UNIT_BYTES),
            style_value(count, (double)blocks, UNIT_COUNT), blocks == 1 ? "" : "s");
    if (profile->duration_ns > 0)
        fprintf(style->out, " (%s/s)",
                style_value(rate, (double)blocks * 1e9 / (double)profile->duration_ns, UNIT_COUNT));
}

/* CPU  1.30 s: user 1.21 s, system 90.0 ms     100 samples a second, by thread timers */
static void clock_print(const struct profile *profile, const struct style *style)
{
    char time[32], user[32], system[32];
    const struct profile_clock *clock = &profile->clock;
    bool wall = profile_type_named(profile, TYPE_WALL) >= 0;
    if (clock->rate <= 0)
        return;
    int64_t sum = type_sum(profile, wall ? TYPE_WALL : TYPE_CPU);
    fprintf(style->out, "    %s  %s", wall ? "time" : "CPU",
            sum > 0 ? style_value(time, (double)sum, UNIT_NANOSECONDS) : "no sample");
    if (clock->user_ns + clock->system_ns > 0)
        fprintf(style->out, "%s user %s, system %s", wall && sum > 0 ? ", of which" : ":",
                style_value(user, (double)clock->user_ns, UNIT_NANOSECONDS),
                style_value(system, (double)clock->system_ns, UNIT_NANOSECONDS));
    fprintf(style->out, "     %ld samples a second", (long)clock->rate);
    if (clock->source)
        fprintf(style->out, ", by %s", profile_text(profile, clock->source));
    putc('\n', style->out);
}

/* locks  86 waits, 892 ms */
static void locks_print(const struct profile *profile, const struct style *style)
{
    char time[32], count[32];
    if (profile->kind == PROFILE_CONTENTION || profile_type_named(profile, TYPE_DELAY) < 0)
        return;
    int64_t waits = type_sum(profile, TYPE_CONTENTIONS);
    fprintf(style->out, "    locks  %s wait%s, %s\n", style_value(count, (double)waits, UNIT_COUNT),
            waits == 1 ? "" : "s",
            style_value(time, (double)type_sum(profile, TYPE_DELAY), UNIT_NANOSECONDS));
}

static void warnings_print(const struct view *view, const struct style *style)
{
    const struct profile *profile = view->profile;
    char time[32];
    if (profile->torn)
        fputs("    the file ends early: the numbers below cover the part before\n", style->out);
    if (profile->off_time_ns > 0)
        fprintf(style->out, "    sampling was turned off %s after the start\n",
                style_time(time, profile->off_time_ns));
    if (profile->refused + profile->lost > 0)
        fprintf(style->out,
                "    not recorded, because the recorder's memory was full: %lu stacks, "
                "%lu blocks\n",
                (unsigned long)profile->refused, (unsigned long)profile->lost);
    if (view->unnamed > 0.05)
        fprintf(style->out, "    %.0f %% of the frames have no name: memoir doctor %s says why\n",
                100 * view->unnamed, style_file(style->name));
}

static void list_print(const struct view *view, const struct growing *growing,
                       const struct style *style, const char *title)
{
    char value[32];
    size_t count, max = style->rows > 0 ? style->rows : ROWS_EACH;
    struct view_row *rows = view_rows(view, false, &count);
    double error = view_error_share(view->total.value, view->total.variance);
    putc('\n', style->out);
    style_paint(style, "1", title);
    fprintf(style->out, ": %s", style_value(value, (double)view->total.value, view->unit));
    if (error > 0.02)
        fprintf(style->out, " %s%.0f %%", style->utf8 ? "±" : "+-", 100 * error);
    putc('\n', style->out);
    unsigned room = room_left(style, VALUE_WIDTH + error_width(view, style) + SHARE_WIDTH + 2);
    max = max < count ? max : count;
    unsigned name = rows ? table_name_width(view, rows, max, table_name_max(style, room)) : 0;
    for (size_t i = 0; rows && i < max && rows[i].self.value != 0; i++)
        row_print(view, growing, style, &rows[i], name, room);
    free(rows);
}

static unsigned room_left(const struct style *style, unsigned used)
{
    unsigned min = style->fits ? 16 : 44;
    return style->width > used + min ? style->width - used : min;
}

/* The sites of a sampled profile have bars. */
static unsigned error_width(const struct view *view, const struct style *style)
{
    const struct profile *profile = view->profile;
    bool bars = profile->samples.weights || view->timed || profile->clock.rate > 0;
    return bars ? table_error_width(style) : 0;
}

static void row_print(const struct view *view, const struct growing *sites,
                      const struct style *style, const struct view_row *row, unsigned name,
                      unsigned room)
{
    bool growing =
        room > 28 && !view->timed && !view->waited && is_growing(sites, &view->frames[row->frame]);
    table_value(view, style, row->self.value, VALUE_WIDTH);
    if (error_width(view, style) > 0)
        table_error(style, &row->self);
    table_value_share(view, style, row->self.value, SHARE_WIDTH);
    fputs("  ", style->out);
    table_site(view, style, row->frame, name, growing ? room - 12 : room);
    if (growing)
        fputs(style->utf8 ? "   ◢ growing" : "   growing", style->out);
    putc('\n', style->out);
}

void report_brief(const struct view *view, const struct style *style, int64_t time_ns,
                  uint64_t resident_bytes)
{
    enum { TITLE_WIDTH = 20 };
    struct brief briefs[COUNT_OF(lists)] = {0};
    bool beside = !style->fits || style->width >= 76; /* titles: or above their rows */
    unsigned used =
        4 + (beside ? TITLE_WIDTH : 0) + VALUE_WIDTH + error_width(view, style) + SHARE_WIDTH + 2;
    unsigned room = room_left(style, used), name = 0;
    bool first = true;
    struct growing growing;
    growing_make(&growing, view);
    if (view->profile->kind != PROFILE_CPU)
        totals_print(view, style);
    resident_print(view->profile, style, resident_bytes);
    clock_print(view->profile, style);
    locks_print(view->profile, style);
    few_print(view, style);
    early_print(view->profile, style, time_ns);
    heap_line_print(view->profile, style, 4);
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        struct brief *brief = &briefs[i];
        brief_make(view, style, &lists[i], brief);
        unsigned wanted = table_name_wanted(&brief->view, brief->rows, brief->count, room);
        name = wanted > name ? wanted : name;
    }
    bool nameless = false;
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        struct brief *brief = &briefs[i];
        for (size_t k = 0; k < brief->count; k++) {
            uint8_t flags = brief->view.frames[brief->rows[k].frame].flags;
            nameless = nameless || flags & (FRAME_UNNAMED | FRAME_GUESS);
            if (first)
                putc('\n', style->out);
            first = false;
            const char *title = k > 0 ? "" : lists[i].brief;
            if (k == 0 && i == LIST_LIVE && view->profile->torn)
                title = "live when last seen";
            if (beside || k == 0)
                fprintf(style->out, "    %-*s", TITLE_WIDTH, title);
            if (!beside)
                fprintf(style->out, "%s    ", k == 0 ? "\n" : "");
            row_print(&brief->view, &growing, style, &brief->rows[k], name, room);
        }
        free(brief->rows);
        view_free(&brief->view);
    }
    growing_free(&growing);
    if (nameless)
        fputs("    some sites have no name: see memoir symbols\n", style->out);
}

/* Numbers of a few samples are hardly any: what gives better ones. */
static void few_print(const struct view *view, const struct style *style)
{
    if (profile_is_idle(view->profile) && profile_type_named(view->profile, TYPE_PEAK_SPACE) >= 0) {
        fputs("    nothing was allocated: " PROFILE_IDLE "\n", style->out);
        return;
    }
    /* An error bar from which on the first rows may be in the wrong order. */
    static const double wide = 0.3;
    const struct profile *profile = view->profile;
    struct view peak = {0};
    double error = 1;
    if (profile->period <= 0 || !ranking_view(view, &lists[LIST_PEAK], &peak))
        return;
    bool none = !profile_has_recorded(profile, TYPE_PEAK_SPACE);
    bool exact = !none && peak.whole.spread.raw <= 0; /* a few large blocks, each recorded */
    if (!none && !exact) /* of all samples together: no single site has a smaller error */
        error = view_error_share((int64_t)peak.whole.spread.sampled, peak.whole.spread.raw);
    view_free(&peak);
    if (!exact && error > wide)
        fprintf(style->out, "    %s: memoir run --exact records every block\n",
                !none ? "few blocks were recorded, so the numbers of sites are imprecise"
                : profile_has_recorded(profile, TYPE_ALLOC_SPACE)
                    ? "no block of the peak was recorded"
                    : "no block was recorded, because it allocated little");
}

/* A program that was killed has no end in its capture. */
static void early_print(const struct profile *profile, const struct style *style, int64_t time_ns)
{
    char last[32], end[32];
    if (profile->torn && profile->duration_ns > 0 && time_ns > profile->duration_ns)
        fprintf(style->out,
                "    nothing was recorded after %s of %s: --every TIME takes snapshots "
                "more often\n",
                style_time(last, profile->duration_ns), style_time(end, time_ns));
}

static void brief_make(const struct view *view, const struct style *style,
                       const struct ranking *list, struct brief *brief)
{
    size_t count, max = style->rows > 0 ? style->rows : ROWS_BRIEF;
    if (!list->brief || !ranking_view(view, list, &brief->view))
        return;
    brief->rows = view_rows(&brief->view, false, &count);
    for (; brief->rows && brief->count < count && brief->count < max; brief->count++) {
        int64_t value = brief->rows[brief->count].self.value;
        bool little = style->rows == 0 && table_share(&brief->view, value) < 0.01;
        if (value == 0 || little)
            break;
    }
}

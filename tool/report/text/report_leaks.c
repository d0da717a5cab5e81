/* SPDX-License-Identifier: MIT */
/*
 * The answer of `memoir leaks`: what is a leak by the rule, with its stack and its shape over time;
 * in text, JSON (memoir.leaks/1), CSV, or as lines for a file of suppressions.
 */
#include <string.h>

#include "tool/memory/memory.h"
#include "tool/report/report.h"
#include "tool/report/text/report_looks.h"
#include "tool/report/text/text.h"

enum { ROWS_USUAL = 10, FRAMES_USUAL = 4, REST_USUAL = 5 };

static void put_list(const struct view *view, const struct leaks *leaks, const struct style *style);
static void put_line(const struct view *view, const struct leaks *leaks,
                     const struct leaks_row *row, const struct style *style);
static bool is_caller(const struct view *view, const struct leaks *leaks, const char *name);
static void put_json(const struct view *view, const struct leaks *leaks, const struct style *style);
static void json_scan(struct json *json, const struct profile_scan *scan);
static const char *rule_word(const struct leaks *leaks, const struct view *view);
static void json_row(struct json *json, const struct view *view, const struct leaks *leaks,
                     const struct leaks_row *row);
static void put_csv(const struct view *view, const struct leaks *leaks, const struct style *style);
static void put_text(const struct view *view, const struct leaks *leaks, const struct style *style);
static void put_head(const struct view *view, const struct leaks *leaks, const struct style *style);
static void put_verdicts(const struct view *view, const struct style *style);
static int64_t column_sum(const struct profile *profile, const char *name);
static void put_leak(const struct view *view, const struct leaks *leaks,
                     const struct leaks_row *row, size_t number, const struct style *style);
static void put_course(const struct view *view, const struct leaks_row *row,
                       const struct style *style);
static void put_shape(const struct leaks_row *row, const struct style *style);
static void put_stacks(const struct view *view, const struct leaks *leaks,
                       const struct leaks_row *row, const struct style *style);
static void put_stack(const struct view *view, const struct view_stack *stack, size_t max,
                      unsigned indent, const struct style *style);
static void put_rest(const struct view *view, const struct leaks *leaks, const struct style *style);
static void put_rule(const struct view *view, const struct leaks *leaks, const struct style *style);
static void put_scan(const struct profile_scan *scan, const struct style *style);

bool report_leaks(const struct view *view, const struct leaks_options *options,
                  const struct style *style)
{
    struct leaks leaks;
    if (!leaks_make(&leaks, view, options)) {
        shortage_note();
        return false;
    }
    if (options->list)
        put_list(view, &leaks, style);
    else if (style->format == STYLE_JSON)
        put_json(view, &leaks, style);
    else if (style->format == STYLE_CSV)
        put_csv(view, &leaks, style);
    else
        put_text(view, &leaks, style);
    bool found = leaks.found > 0;
    leaks_free(&leaks);
    return found;
}

static void put_list(const struct view *view, const struct leaks *leaks, const struct style *style)
{
    char text[32], count[32];
    fprintf(style->out,
            "# Leaks of %s, accepted: memoir leaks --suppressions FILE. LeakSanitizer reads it, "
            "too.\n",
            style->name ? style->name : "?");
    for (size_t i = 0; i < leaks->found; i++) {
        const struct leaks_row *row = &leaks->rows[i];
        fprintf(style->out, "# %s in %s %s\n",
                style_value(text, (double)row->value.value, UNIT_BYTES),
                question_count(count, (uint64_t)row->value.objects),
                row->value.objects == 1 ? "object" : "objects");
        put_line(view, leaks, row, style);
    }
}

/* One line: the function if that says enough, else the library's that it called. */
static void put_line(const struct view *view, const struct leaks *leaks,
                     const struct leaks_row *row, const struct style *style)
{
    struct view_stack stack = view_stack(view, row->stack);
    const struct view_frame *frame = question_frame(view, row->frame);
    bool broad = is_caller(view, leaks, frame->name);
    for (uint32_t i = 1; i <= stack.folded && broad; i++) {
        const struct view_frame *callee = question_frame(view, *(stack.frames - i));
        if (callee->flags & (FRAME_UNNAMED | FRAME_GUESS) || blame_is_allocator(callee->name))
            continue;
        frame = callee;
        broad = false;
    }
    const char *module = name_base(frame->module);
    bool named = (frame->flags & (FRAME_UNNAMED | FRAME_GUESS)) == 0;
    bool placed = frame->flags & FRAME_UNNAMED && strstr(frame->name, "+0x");
    if (!named && placed)
        fprintf(style->out,
                "# no name: valid for this build of %s only, and not for "
                "LeakSanitizer\n",
                module);
    if (broad)
        fprintf(style->out, "# would also hide others: ");
    else if (!named && *module == '\0')
        fprintf(style->out, "# changes with every run: ");
    else if (!named && !placed)
        fprintf(style->out,
                "# no name, would hide all leaks of %s; to get names, see memoir "
                "doctor %s: ",
                module, style_file(style->name));
    if (named || placed)
        fprintf(style->out, "leak:^%s$\n", frame->name);
    else
        fprintf(style->out, "leak:%s\n", *module == '\0' ? frame->name : module);
}

/* Whether leaks of others have the function on their way; it may call itself. */
static bool is_caller(const struct view *view, const struct leaks *leaks, const char *name)
{
    for (size_t i = 0; i < leaks->count; i++) {
        struct view_stack stack = view_stack(view, leaks->rows[i].stack);
        if (strcmp(question_frame(view, leaks->rows[i].frame)->name, name) == 0)
            continue;
        for (uint32_t k = 1; k < stack.count; k++)
            if (strcmp(question_frame(view, stack.frames[k])->name, name) == 0)
                return true;
    }
    return false;
}

static void put_json(const struct view *view, const struct leaks *leaks, const struct style *style)
{
    struct json json;
    json_start(&json, style->out, true);
    json_object(&json, NULL);
    table_json_head(&json, view, style, "memoir.leaks/1");
    json_text(&json, "rule", rule_word(leaks, view));
    json_number(&json, "leaks", (int64_t)leaks->found);
    json_number(&json, "leaked_bytes", leaks->found_bytes);
    json_number(&json, "suppressed_stacks", (int64_t)leaks->suppressed);
    json_number(&json, "suppressed_bytes", leaks->suppressed_bytes);
    if (leaks->rule == LEAKS_LOST) {
        json_number(&json, "not_sampled", view->profile->scan.shared_out);
        json_scan(&json, &view->profile->scan);
        looks_json_rest(&json, view, leaks);
    }
    json_array(&json, "sites");
    for (size_t i = 0; i < leaks->count && (style->rows == 0 || i < style->rows); i++)
        json_row(&json, view, leaks, &leaks->rows[i]);
    json_end(&json);
    json_end(&json);
    fputs("\n", style->out);
}

static void json_scan(struct json *json, const struct profile_scan *scan)
{
    json_object(json, "scan");
    json_number(json, "took_us", scan->took_us);
    json_number(json, "stood_us", scan->stood_us);
    if (scan->told) {
        json_number(json, "threads", scan->threads);
        json_number(json, "silent_threads", scan->silent);
        json_number(json, "own_bytes", scan->own_space);
        json_number(json, "copied_bytes", scan->copied_space);
        json_flag(json, "in_place", scan->in_place);
        json_number(json, "watched_ms", scan->watched_ms);
    }
    json_end(json);
}

static const char *rule_word(const struct leaks *leaks, const struct view *view)
{
    if (leaks->rule == LEAKS_LOST)
        return "lost";
    if (leaks->rule == LEAKS_EXIT)
        return "exit";
    return leaks->rule == LEAKS_NONE ? "none" : view->base ? "growth between profiles" : "growth";
}

static void json_row(struct json *json, const struct view *view, const struct leaks *leaks,
                     const struct leaks_row *row)
{
    struct view_stack stack = view_stack(view, row->stack);
    json_object(json, NULL);
    question_json(json, view, row->frame);
    json_number(json, "bytes", row->value.value);
    json_number(json, "objects", row->value.objects);
    json_real(json, "error", view_error_share(row->value.value, row->value.variance));
    if (view->base)
        json_number(json, "bytes_before", row->value.base);
    json_flag(json, "leak", row->leak);
    json_text(json, "shape", leaks_shape_word(row->shape));
    json_number(json, "first_ns", row->first_ns);
    json_number(json, "last_ns", row->last_ns);
    json_real(json, view->base ? "growth" : "growth_per_second", row->growth);
    if (leaks->rule == LEAKS_LOST)
        looks_json(json, view, leaks, row->frame);
    json_number(json, "stacks", (int64_t)row->stacks);
    json_array(json, "stack");
    for (uint32_t i = 0; i < stack.count; i++) {
        json_object(json, NULL);
        question_json(json, view, stack.frames[i]);
        json_end(json);
    }
    json_end(json);
    json_end(json);
}

static void put_csv(const struct view *view, const struct leaks *leaks, const struct style *style)
{
    fputs("bytes,objects,leak,shape,growth,function,file,line\n", style->out);
    for (size_t i = 0; i < leaks->count && (style->rows == 0 || i < style->rows); i++) {
        const struct leaks_row *row = &leaks->rows[i];
        const struct view_frame *frame = question_frame(view, row->frame);
        fprintf(style->out, "%lld,%lld,%d,%s,%.0f,", (long long)row->value.value,
                (long long)row->value.objects, row->leak, leaks_shape_word(row->shape),
                row->growth);
        question_field(style, frame->name, ',');
        question_field(style, frame->file, ',');
        fprintf(style->out, "%u\n", frame->line);
    }
}

static void put_text(const struct view *view, const struct leaks *leaks, const struct style *style)
{
    size_t max = style->rows > 0 ? style->rows : style->verbose ? SIZE_MAX : ROWS_USUAL;
    char text[32];
    size_t shown = 0;
    put_head(view, leaks, style);
    for (; shown < leaks->found && shown < max; shown++) {
        put_leak(view, leaks, &leaks->rows[shown], shown + 1, style);
        if (leaks->rule == LEAKS_LOST)
            looks_put(view, leaks, leaks->rows[shown].frame, style);
    }
    int64_t left = 0;
    for (size_t i = shown; i < leaks->found; i++)
        left += leaks->rows[i].value.value;
    if (shown < leaks->found)
        fprintf(style->out, "%s %zu more sites, %s (-v shows all)\n",
                question_glyph(style, "…", "..."), leaks->found - shown,
                style_value(text, (double)left, UNIT_BYTES));
    looks_put_indirect(view, leaks, style);
    looks_put_forgotten(view, leaks, style);
    put_rest(view, leaks, style);
    put_rule(view, leaks, style);
}

static void put_head(const struct view *view, const struct leaks *leaks, const struct style *style)
{
    char bytes[32], objects[32], suppressed[32];
    const char *dot = question_glyph(style, "·", "-");
    if (view->base)
        fprintf(style->out, "%s %s %s    ", style->base_name ? style->base_name : "?",
                question_glyph(style, "→", "->"), style->name ? style->name : "?");
    if (leaks->rule == LEAKS_NONE)
        fprintf(style->out, "live %s: %s in %s objects",
                view->profile->ended ? "at the end" : "when last seen",
                style_value(bytes, (double)view->total.value, UNIT_BYTES),
                question_count(objects, (uint64_t)view->total.objects));
    else if (leaks->found == 0)
        fputs(leaks->rule == LEAKS_LOST ? "nothing is lost" : "no leaks", style->out);
    else
        fprintf(style->out, "%s: %s at %zu %s",
                leaks->rule == LEAKS_LOST ? "definitely lost" : "leaks",
                style_value(bytes, (double)leaks->found_bytes, UNIT_BYTES), leaks->found,
                leaks->found == 1 ? "site" : "sites");
    int64_t rest = view->total.value - leaks->suppressed_bytes;
    if (leaks->rule == LEAKS_GROWTH && !view->base && rest > leaks->found_bytes)
        fprintf(style->out, " %s %s live and not growing", dot,
                style_value(bytes, (double)(rest - leaks->found_bytes), UNIT_BYTES));
    if (leaks->rule == LEAKS_LOST)
        put_verdicts(view, style);
    if (leaks->suppressed > 0)
        fprintf(style->out, " %s %zu %s suppressed (%s)", dot, leaks->suppressed,
                leaks->suppressed == 1 ? "stack" : "stacks",
                style_value(suppressed, (double)leaks->suppressed_bytes, UNIT_BYTES));
    fputs("\n", style->out);
}

/* The other verdicts of the scan, of the whole program. */
static void put_verdicts(const struct view *view, const struct style *style)
{
    const struct profile *profile = view->profile;
    const char *dot = question_glyph(style, "·", "-");
    char text[32];
    int64_t indirect = column_sum(profile, TYPE_INDIRECT_SPACE);
    int64_t possible = column_sum(profile, TYPE_POSSIBLE_SPACE);
    if (indirect > 0)
        fprintf(style->out, " %s %s indirectly", dot,
                style_value(text, (double)indirect, UNIT_BYTES));
    if (possible > 0)
        fprintf(style->out, " %s %s possibly", dot,
                style_value(text, (double)possible, UNIT_BYTES));
    fprintf(style->out, " %s %s reachable", dot,
            style_value(text, (double)profile->scan.reachable_space, UNIT_BYTES));
}

static int64_t column_sum(const struct profile *profile, const char *name)
{
    int type = profile_type_named(profile, name);
    int64_t sum = 0;
    for (size_t i = 0; type >= 0 && i < profile->samples.count; i++)
        sum += profile->samples.values[type][i];
    return sum;
}

static void put_leak(const struct view *view, const struct leaks *leaks,
                     const struct leaks_row *row, size_t number, const struct style *style)
{
    char text[32], count[32];
    struct view_stack stack = view_stack(view, row->stack);
    double share = view->total.value > 0 ? (double)row->value.value / (double)view->total.value : 0;

    fprintf(style->out, "%2zu. ", number);
    style_heat(style, share, style_value(text, (double)row->value.value, UNIT_BYTES), 9);
    if (row->value.objects > 0) /* massif does not count them */
        fprintf(style->out, "  %s %s", question_count(count, (uint64_t)row->value.objects),
                row->value.objects == 1 ? "object" : "objects");
    if (row->value.objects > 1)
        fprintf(
            style->out, " of %s%s", row->value.value % row->value.objects == 0 ? "" : "about ",
            style_value(text, (double)row->value.value / (double)row->value.objects, UNIT_BYTES));
    double error = view_error_share(row->value.value, row->value.variance);
    if (error > 0.02)
        fprintf(style->out, " %s%.0f %%", question_glyph(style, "±", "+-"), error * 100);
    put_course(view, row, style);
    fputs("\n", style->out);
    if (style->verbose)
        put_stacks(view, leaks, row, style);
    else
        put_stack(view, &stack, FRAMES_USUAL, 6, style);
    if (!style->verbose && row->stacks > 1)
        fprintf(style->out, "      and %s more %s, -v\n", question_count(count, row->stacks - 1),
                row->stacks == 2 ? "stack" : "stacks");
}

/* "first 0.2 s, last 2m13s, steady 90 objects/s  ◢ linear" */
static void put_course(const struct view *view, const struct leaks_row *row,
                       const struct style *style)
{
    char first[32], last[32], rate[32];
    if (view->base) {
        fprintf(style->out, "   %s since the first profile",
                question_change(rate, row->growth, UNIT_BYTES));
        return;
    }
    if (row->first_ns >= 0)
        fprintf(style->out, "   first seen %s, last grew %s", style_time(first, row->first_ns),
                style_time(last, row->last_ns));
    double size =
        row->value.objects > 0 ? (double)row->value.value / (double)row->value.objects : 0;
    if (row->growth > 0 && size > 0 && row->growth / size >= 1)
        fprintf(style->out, ", %s objects/s", style_value(rate, row->growth / size, UNIT_COUNT));
    else if (row->growth > 0)
        fprintf(style->out, ", %s/min", style_value(rate, row->growth * 60, UNIT_BYTES));
    put_shape(row, style);
}

static void put_shape(const struct leaks_row *row, const struct style *style)
{
    switch (row->shape) {
    case LEAKS_ONCE:
        fprintf(style->out, "  %s", question_glyph(style, "▬ once", "once"));
        break;
    case LEAKS_BOUNDED:
        fputs("  bounded", style->out);
        break;
    case LEAKS_LINEAR:
        fprintf(style->out, "  %s", question_glyph(style, "◢ linear", "linear"));
        break;
    case LEAKS_GROWING:
        fprintf(style->out, "  %s", question_glyph(style, "◢ growing", "growing"));
        break;
    default:
        break;
    }
}

/* -v: every stack of the site, whole. */
static void put_stacks(const struct view *view, const struct leaks *leaks,
                       const struct leaks_row *row, const struct style *style)
{
    char text[32], count[32];
    for (size_t i = 0; i < view->stacks_count; i++) {
        struct view_stack stack = view_stack(view, i);
        if (stack.count == 0 || stack.frames[0] != row->frame)
            continue;
        struct view_value sum = view_sum_without(view, i, leaks->left_out);
        if (sum.value <= 0)
            continue;
        if (row->stacks > 1)
            fprintf(style->out, "    %s in %s objects:\n",
                    style_value(text, (double)sum.value, UNIT_BYTES),
                    question_count(count, (uint64_t)sum.objects));
        stack.frames -= stack.folded; /* with the library's frames below the site */
        stack.count += stack.folded;
        put_stack(view, &stack, stack.count, 6, style);
    }
}

static void put_stack(const struct view *view, const struct view_stack *stack, size_t max,
                      unsigned indent, const struct style *style)
{
    for (uint32_t i = 0; i < stack->count && i < max; i++) {
        const char *name = question_frame(view, stack->frames[i])->name;
        if (!style->verbose && strcmp(name, "main") == 0)
            max = i + 1; /* what is above it is the same everywhere */
        unsigned in = indent + (i > 0 ? 2 * (i > 12 ? 12 : i - 1) : 0);
        fprintf(style->out, "%*s%s", (int)in, "", i > 0 ? question_glyph(style, "└ ", "- ") : "");
        question_site(view, style, stack->frames[i], in + 2);
        if (i + 1 == max && max < stack->count) {
            char text[48];
            snprintf(text, sizeof text, "   (%u frames, -v)", stack->count);
            style_dim(style, text);
        }
        fputs("\n", style->out);
    }
}

/* What is live but no leak. */
static void put_rest(const struct view *view, const struct leaks *leaks, const struct style *style)
{
    size_t max = style->rows > 0 ? style->rows : style->verbose ? SIZE_MAX : REST_USUAL;
    bool told = leaks->rule == LEAKS_NONE;
    char text[32];
    if (view->base)
        return;
    for (size_t i = leaks->found, shown = 0; i < leaks->count && shown < max; i++, shown++) {
        const struct leaks_row *row = &leaks->rows[i];
        if (!told)
            fputs("live at the end, but not growing:\n", style->out);
        told = true;
        fprintf(style->out, "    %9s  ", style_value(text, (double)row->value.value, UNIT_BYTES));
        question_site(view, style, row->frame, 30);
        put_shape(row, style);
        fputs("\n", style->out);
    }
}

static void put_rule(const struct view *view, const struct leaks *leaks, const struct style *style)
{
    const char *words = "A single moment can't show leaks. memoir run --leaks finds blocks that "
                        "nothing points to,\nmemoir leaks PID does so in a running process, memoir "
                        "leaks FIRST SECOND compares.";
    char count[32];
    if (view->base)
        words = "Counted as leaks: sites that grew by more than the noise from the "
                "first profile to the second.";
    else if (leaks->rule == LEAKS_LOST)
        words = "Lost: nothing that the program can reach points to these blocks. Indirectly: only "
                "lost blocks do.\nPossibly: only pointers into the middle of a block do.  --metric "
                "lost shows lost blocks in every report.";
    else if (leaks->rule == LEAKS_EXIT)
        words = "Counted as leaks: all blocks live at the end, reachable or not.  "
                "--rule growth: only growth.";
    else if (leaks->rule == LEAKS_GROWTH)
        words = "Counted as leaks: sites that grew by more than the noise in the "
                "second half of the run.";
    fprintf(style->out, "%s\n", words);
    int64_t shared_out = leaks->rule == LEAKS_LOST ? view->profile->scan.shared_out : 0;
    if (shared_out > 0)
        fprintf(style->out,
                "%s lost objects were not sampled; sampled ones of the same size stand for them.\n",
                question_count(count, (uint64_t)shared_out));
    if (leaks->rule == LEAKS_LOST && view->profile->scan.told)
        put_scan(&view->profile->scan, style);
    if (leaks->found > 0 && style->name)
        fprintf(style->out,
                "exit status 1 %s to accept these: memoir leaks%s%s %s --suppress > leaks.supp\n",
                question_glyph(style, "·", "-"), style->base_name ? " " : "",
                style->base_name ? style_file(style->base_name) : "", style_file(style->name));
}

/* What the scan did to the program. */
static void put_scan(const struct profile_scan *scan, const struct style *style)
{
    char when[32], took[32], stood[32], copied[32];
    style_value(when, (double)scan->time_ns, UNIT_NANOSECONDS);
    style_value(took, (double)scan->took_us * 1e3, UNIT_NANOSECONDS);
    style_value(stood, (double)scan->stood_us * 1e3, UNIT_NANOSECONDS);
    if (scan->in_place)
        fprintf(style->out,
                "The process could not be copied (limits, or too little memory): its threads stood "
                "still for the whole\nscan, %s.\n",
                stood);
    else
        fprintf(style->out,
                "The scan, %s after the start, took %s; threads stood still for %s.\n"
                "Pages copied because the program wrote to them: %s.\n",
                when, took, stood, style_value(copied, (double)scan->copied_space, UNIT_BYTES));
    if (scan->silent > 0)
        fprintf(style->out,
                "%lld of %lld threads did not answer: blocks that only their registers point to "
                "may count as lost.\n",
                (long long)scan->silent, (long long)scan->threads);
}

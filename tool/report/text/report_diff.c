/* SPDX-License-Identifier: MIT */
/*
 * The answer of `memoir diff`: what changed, the largest first; JSON is memoir.diff/1. What the
 * noise explains is kept apart from what changed. The colour is never alone: each verdict has a
 * sign of its own, for terminals and people without colours.
 */
#include <math.h>
#include <string.h>

#include "tool/memory/memory.h"
#include "tool/report/report.h"
#include "tool/report/text/text.h"

enum { ROWS_USUAL = 25, NOISE_USUAL = 5, LEFT_COLUMNS = 47 };

static void put_json(const struct view *view, const struct diff *diff, const struct style *style);
static void put_csv(const struct view *view, const struct diff *diff, const struct style *style);
static void put_text(const struct view *view, const struct diff *diff, const struct style *style);
static void put_head(const struct view *view, const struct diff *diff, const struct style *style);
static const char *name_of(const char *name);
static void put_moments(const struct view *view, const struct style *style);
static bool is_narrow(const struct style *style);
static void put_row(const struct view *view, const struct diff_row *row, const struct style *style);
static void put_mark(const struct style *style, enum diff_verdict verdict);
static void put_end(const struct diff *diff, size_t shown, bool moved, const struct style *style);

bool report_diff(const struct view *view, const struct style *style)
{
    struct diff diff;
    if (!diff_make(&diff, view, style->by_total)) {
        shortage_note();
        return false;
    }
    if (style->format == STYLE_JSON)
        put_json(view, &diff, style);
    else if (style->format == STYLE_CSV)
        put_csv(view, &diff, style);
    else
        put_text(view, &diff, style);
    bool changed = diff.real > 0;
    diff_free(&diff);
    return changed;
}

static void put_json(const struct view *view, const struct diff *diff, const struct style *style)
{
    struct json json;
    json_start(&json, style->out, true);
    json_object(&json, NULL);
    table_json_head(&json, view, style, "memoir.diff/1");
    json_real(&json, "change", diff->change);
    json_real(&json, "noise", diff->noise);
    json_number(&json, "explaining_sites", (int64_t)diff->explain_sites);
    json_real(&json, "explained_share", diff->explain_share);
    json_array(&json, "sites");
    for (size_t i = 0; i < diff->count && (style->rows == 0 || i < style->rows); i++) {
        const struct diff_row *row = &diff->rows[i];
        json_object(&json, NULL);
        question_json(&json, view, row->frame);
        json_number(&json, "line_before", view->frames[row->base_frame].line);
        json_number(&json, "before", row->value.base);
        json_number(&json, "after", row->value.value);
        json_number(&json, "objects_before", row->value.base_objects);
        json_number(&json, "objects_after", row->value.objects);
        json_real(&json, "change", row->change);
        json_real(&json, "noise", row->noise);
        json_text(&json, "verdict", diff_word(row->verdict));
        json_end(&json);
    }
    json_end(&json);
    json_end(&json);
    fputs("\n", style->out);
}

static void put_csv(const struct view *view, const struct diff *diff, const struct style *style)
{
    fputs("before,after,change,noise,verdict,function,file,line,line_before\n", style->out);
    for (size_t i = 0; i < diff->count && (style->rows == 0 || i < style->rows); i++) {
        const struct diff_row *row = &diff->rows[i];
        const struct view_frame *frame = &view->frames[row->frame];
        fprintf(style->out, "%lld,%lld,%.0f,%.0f,%s,", (long long)row->value.base,
                (long long)row->value.value, row->change, row->noise, diff_word(row->verdict));
        question_field(style, frame->name, ',');
        question_field(style, frame->file, ',');
        fprintf(style->out, "%u,%u\n", frame->line, view->frames[row->base_frame].line);
    }
}

static void put_text(const struct view *view, const struct diff *diff, const struct style *style)
{
    size_t max = style->rows > 0 ? style->rows : ROWS_USUAL, shown = 0;
    size_t noise_max = style->rows > 0 || style->verbose ? max : NOISE_USUAL;
    bool moved = false;
    put_head(view, diff, style);
    if (diff->real + diff->noisy > 0)
        fprintf(style->out, "%10s%11s%12s%*s     %s\n", "before", "after", "change",
                is_narrow(style) ? 0 : 9, "", view_by_word(view->options.by));
    for (size_t i = 0; i < diff->real + diff->noisy && shown < max; i++, shown++) {
        const struct diff_row *row = &diff->rows[i];
        if (row->verdict == DIFF_NOISE && noise_max-- == 0)
            break;
        moved |= view->frames[row->frame].line != view->frames[row->base_frame].line;
        put_row(view, row, style);
    }
    put_end(diff, shown, moved, style);
}

static void put_head(const struct view *view, const struct diff *diff, const struct style *style)
{
    char before[32], after[32], change[32], growth[16], noise[32];
    fprintf(style->out, "%s %s %s    %s", name_of(style->base_name),
            question_glyph(style, "→", "->"), name_of(style->name), table_metric(view));
    put_moments(view, style);
    fprintf(style->out, "  %s %s %s   %s  %s",
            style_value(before, (double)view->total.base, view->unit),
            question_glyph(style, "→", "->"),
            style_value(after, (double)view->total.value, view->unit),
            question_change(change, diff->change, view->unit),
            question_growth(growth, (double)view->total.base, (double)view->total.value));
    if (diff->noise > 0)
        fprintf(style->out, "   (noise %s%s, 95 %%)", question_glyph(style, "±", "+-"),
                style_value(noise, diff->noise, view->unit));
    fputs("\n", style->out);
}

static const char *name_of(const char *name)
{
    return name ? name : "?";
}

/* "(1m02s → 1m10s)": which moments are compared, where the profiles have several. */
static void put_moments(const struct view *view, const struct style *style)
{
    char before[32], after[32];
    table_moment(before, view, view->base);
    table_moment(after, view, view->profile);
    bool ends = view->base->ended && view->profile->ended && !table_is_peak(view, view->profile);
    if (before[0] && after[0])
        fprintf(style->out, "%s (%s %s %s)", ends ? " at the end" : "", before,
                question_glyph(style, "→", "->"), after);
}

/* Without the change in per cent, where there is hardly room for the others. */
static bool is_narrow(const struct style *style)
{
    return style->fits && style->width < LEFT_COLUMNS + 9;
}

static void put_row(const struct view *view, const struct diff_row *row, const struct style *style)
{
    char text[32], growth[16];
    const char *none = question_glyph(style, "–", "-");
    bool less = row->verdict == DIFF_LESS || row->verdict == DIFF_GONE;
    const struct view_value *value = &row->value;

    question_pad(style, value->base ? style_value(text, (double)value->base, view->unit) : none,
                 10);
    question_pad(style, value->value ? style_value(text, (double)value->value, view->unit) : none,
                 11);
    question_change(text, row->change, view->unit);
    if (row->verdict == DIFF_NOISE || row->verdict == DIFF_SAME)
        question_pad(style, text, 12);
    else
        question_paint(style, less ? QUESTION_GREEN : QUESTION_RED, text, 12);
    if (!is_narrow(style))
        question_pad(style, question_growth(growth, (double)value->base, (double)value->value), 9);
    fputs("  ", style->out);
    put_mark(style, row->verdict);
    fputs("  ", style->out);
    question_site(view, style, row->base_frame, LEFT_COLUMNS);
    if (view->frames[row->frame].line != view->frames[row->base_frame].line)
        fprintf(style->out, " %s :%u", question_glyph(style, "→", "->"),
                view->frames[row->frame].line);
    if (row->verdict == DIFF_NOISE)
        style_dim(style, "  (within noise)");
    fputs("\n", style->out);
}

static void put_mark(const struct style *style, enum diff_verdict verdict)
{
    switch (verdict) {
    case DIFF_MORE:
        question_paint(style, QUESTION_RED, question_glyph(style, "▲", "+"), 1);
        break;
    case DIFF_LESS:
        question_paint(style, QUESTION_GREEN, question_glyph(style, "▼", "-"), 1);
        break;
    case DIFF_NEW:
        question_paint(style, QUESTION_BLUE, question_glyph(style, "●", "*"), 1);
        break;
    case DIFF_GONE:
        style_dim(style, question_glyph(style, "○", "o"));
        break;
    default:
        style_dim(style, question_glyph(style, "·", "."));
    }
}

static void put_end(const struct diff *diff, size_t shown, bool moved, const struct style *style)
{
    char text[32];
    size_t left = diff->real + diff->noisy > shown ? diff->real + diff->noisy - shown : 0;
    size_t same = diff->count - diff->real - diff->noisy;
    if (left > 0 && diff->real > shown)
        fprintf(style->out, "  %s %s more sites have changed\n", question_glyph(style, "…", "..."),
                question_count(text, diff->real - shown));
    else if (left > 0)
        fprintf(style->out, "  %s %s more sites are within the noise\n",
                question_glyph(style, "…", "..."), question_count(text, left));
    if (diff->real == 0)
        fprintf(style->out, "Nothing has changed%s.",
                diff->noise > 0 || diff->noisy > 0 ? " beyond the noise of sampling" : "");
    else if (diff->explain_sites > 0)
        fprintf(style->out, "%zu %s %.0f %% of the %s.", diff->explain_sites,
                diff->explain_sites == 1 ? "site explains" : "sites explain",
                floor(diff->explain_share * 100 + 0.5), diff->change < 0 ? "decrease" : "growth");
    if (same > 0)
        fprintf(style->out, "   %s %s as before.", question_count(text, same),
                same == 1 ? "site is" : "sites are");
    if (moved)
        fputs("\nLines that moved between builds are matched by function.", style->out);
    fputs("\n", style->out);
}

/* SPDX-License-Identifier: MIT */
/*
 * The answer of `memoir frag`: how full the spans of blocks are, and which sites keep the emptiest
 * ones; JSON is memoir.frag/1.
 */
#include <math.h>

#include "base/compiler.h"
#include "tool/memory/memory.h"
#include "tool/report/report.h"
#include "tool/report/text/text.h"

enum { ROWS_USUAL = 15, LEFT_COLUMNS = 58, BAR_WIDTH = 30 };

static void put_json(const struct view *view, const struct frag *frag, const struct style *style);
static void put_csv(const struct view *view, const struct frag *frag, const struct style *style);
static void put_text(const struct view *view, const struct frag *frag, const struct style *style);
static void put_unknown(const struct profile *profile, const struct style *style);
static void put_head(const struct view *view, const struct frag *frag, const struct style *style);
static void put_fills(const struct profile_pins *pins, const struct style *style);
static void put_row(const struct view *view, const struct frag *frag, const struct frag_row *row,
                    const struct style *style);

void report_frag(const struct view *view, const struct style *style)
{
    struct frag frag;
    if (!frag_make(&frag, view)) {
        shortage_note();
        return;
    }
    if (style->format == STYLE_JSON)
        put_json(view, &frag, style);
    else if (style->format == STYLE_CSV)
        put_csv(view, &frag, style);
    else
        put_text(view, &frag, style);
    frag_free(&frag);
}

static void put_sums_json(struct json *json, const struct frag_row *row)
{
    json_number(json, "objects", row->objects);
    json_number(json, "held_bytes", row->held);
    json_number(json, "pinned_bytes", row->pinned);
    json_real(json, "pinned_error", question_noise(row->variance));
    json_number(json, "sparse_bytes", row->sparse);
    json_number(json, "alone_bytes", row->alone);
}

static void put_json(const struct view *view, const struct frag *frag, const struct style *style)
{
    const struct profile_pins *pins = &view->profile->pins;
    struct json json;
    json_start(&json, style->out, true);
    json_object(&json, NULL);
    table_json_head(&json, view, style, "memoir.frag/1");
    json_flag(&json, "known", frag->known);
    json_flag(&json, "exact", view->profile->period == 0);
    json_number(&json, "spans_bytes", pins->spans_space);
    json_number(&json, "live_bytes", pins->live_space);
    json_number(&json, "dirty_bytes", pins->dirty_space);
    json_number(&json, "resident_bytes", (int64_t)view->profile->resident_bytes);
    json_number(&json, "not_sampled_bytes", pins->unknown_space);
    json_number(&json, "took_us", pins->took_us);
    json_number(&json, "unplaced", pins->unplaced);
    json_array(&json, "by_fill");
    for (unsigned i = 0; frag->known && i < PROFILE_FILLS; i++)
        json_number(&json, NULL, pins->by_fill[i]);
    json_end(&json);
    json_object(&json, "sum");
    put_sums_json(&json, &frag->total);
    json_end(&json);
    json_array(&json, "sites");
    for (size_t i = 0; i < frag->count && (style->rows == 0 || i < style->rows); i++) {
        json_object(&json, NULL);
        question_json(&json, view, frag->rows[i].frame);
        put_sums_json(&json, &frag->rows[i]);
        json_end(&json);
    }
    json_end(&json);
    json_end(&json);
    fputs("\n", style->out);
}

static void put_csv(const struct view *view, const struct frag *frag, const struct style *style)
{
    fputs("pinned_bytes,pinned_error,held_bytes,sparse_bytes,alone_bytes,objects,function,file,"
          "line\n",
          style->out);
    for (size_t i = 0; i < frag->count && (style->rows == 0 || i < style->rows); i++) {
        const struct frag_row *row = &frag->rows[i];
        const struct view_frame *frame = question_frame(view, row->frame);
        fprintf(style->out, "%lld,%.0f,%lld,%lld,%lld,%lld,", (long long)row->pinned,
                question_noise(row->variance), (long long)row->held, (long long)row->sparse,
                (long long)row->alone, (long long)row->objects);
        question_field(style, frame->name, ',');
        question_field(style, frame->file, ',');
        fprintf(style->out, "%u\n", frame->line);
    }
}

static void put_text(const struct view *view, const struct frag *frag, const struct style *style)
{
    size_t max = style->rows > 0 ? style->rows : ROWS_USUAL;
    char text[32];
    if (!frag->known) {
        put_unknown(view->profile, style);
        return;
    }
    put_head(view, frag, style);
    put_fills(&view->profile->pins, style);
    if (frag->count > 0)
        fprintf(style->out, "%9s%7s%11s%*s%11s%11s%7s  %s\n", "empty", "", "pins",
                (int)table_error_width(style), "", "holds", "alone", "full", "site");
    for (size_t i = 0; i < frag->count && i < max; i++)
        put_row(view, frag, &frag->rows[i], style);
    if (frag->count > max)
        fprintf(style->out, "  %s %zu more sites\n", question_glyph(style, "…", "..."),
                frag->count - max);
    if (view->profile->pins.unknown_space > view->profile->pins.spans_space / 100)
        fprintf(style->out,
                "  %s of spans have no sampled block: a lower heap.rate, or --exact, "
                "would show their sites\n",
                style_value(text, (double)view->profile->pins.unknown_space, UNIT_BYTES));
    fprintf(style->out,
            "empty: pins less holds; pins: the site's part of the memory of the spans that its "
            "blocks are in;\nholds: its live blocks; alone: %swould return if this site freed its "
            "blocks\n",
            view->profile->period > 0 ? "about this much " : "");
}

static void put_unknown(const struct profile *profile, const struct style *style)
{
    const char *text = "This profile does not tell which pages blocks are on; captures of memoir "
                       "run and running processes do.\n";
    if (profile->at_peak)
        text = "Which pages blocks were on is known at snapshots only: --at TIME, or --at end.\n";
    fputs(text, style->out);
}

static void put_head(const struct view *view, const struct frag *frag, const struct style *style)
{
    const struct profile *profile = view->profile;
    const struct profile_pins *pins = &profile->pins;
    char spans[32], live[32], share[16], resident[32];
    fprintf(style->out, "%s    spans of blocks: %s in memory, %s live: %s full",
            style->name ? style->name : "?",
            style_value(spans, (double)pins->spans_space, UNIT_BYTES),
            style_value(live, (double)pins->live_space, UNIT_BYTES),
            style_share(share, (double)pins->live_space, (double)pins->spans_space));
    if (profile->resident_bytes > 0)
        fprintf(style->out, "; RSS %s",
                style_value(resident, (double)profile->resident_bytes, UNIT_BYTES));
    fputs("\n", style->out);
    if (frag->count > 0 && profile->period > 0)
        fprintf(style->out, "sites are estimates from %lld sample%s\n",
                (long long)pins->placed + (long long)pins->unplaced,
                pins->placed + pins->unplaced == 1 ? "" : "s");
}

static void put_fills(const struct profile_pins *pins, const struct style *style)
{
    char value[32], share[16];
    for (unsigned i = 0; i < PROFILE_FILLS && pins->spans_space > 0; i++) {
        double part = fmin((double)pins->by_fill[i] / (double)pins->spans_space, 1);
        if (pins->by_fill[i] == 0)
            continue;
        fprintf(style->out, "  up to %-4s full%11s%7s  ", frag_fill_word(i),
                style_value(value, (double)pins->by_fill[i], UNIT_BYTES),
                style_share(share, (double)pins->by_fill[i], (double)pins->spans_space));
        for (unsigned k = 0; k < (unsigned)(part * BAR_WIDTH + 0.5); k++)
            fputs(question_glyph(style, "█", "#"), style->out);
        fputs("\n", style->out);
    }
}

static void put_row(const struct view *view, const struct frag *frag, const struct frag_row *row,
                    const struct style *style)
{
    char text[32], share[16];
    int64_t all = frag_empty(&frag->total);
    struct view_value value = {.value = row->pinned, .variance = row->variance};
    style_heat(style, all > 0 ? (double)frag_empty(row) / (double)all : 0,
               style_value(text, (double)frag_empty(row), UNIT_BYTES), 9);
    fprintf(style->out, "%7s", style_share(share, (double)frag_empty(row), (double)all));
    fprintf(style->out, "%11s", style_value(text, (double)row->pinned, UNIT_BYTES));
    table_error(style, &value);
    fprintf(style->out, "%11s", style_value(text, (double)row->held, UNIT_BYTES));
    fprintf(style->out, "%11s", style_value(text, (double)row->alone, UNIT_BYTES));
    fprintf(style->out, "%7s  ", style_share(share, (double)row->held, (double)row->pinned));
    question_site(view, style, row->frame, LEFT_COLUMNS + table_error_width(style));
    fputs("\n", style->out);
}

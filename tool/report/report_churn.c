/* SPDX-License-Identifier: MIT */
/* The answer of `memoir churn`: sites of short-lived blocks; JSON is memoir.churn/1. */
#include "tool/report/churn.h"
#include "tool/report/question.h"
#include "tool/report/report.h"

enum { ROWS_USUAL = 15, LEFT_COLUMNS = 63 };

static void put_row(const struct view *view, const struct churn *churn, const struct churn_row *row,
                    const struct style *style)
{
    char text[32], share[16];
    style_heat(style, row->count / churn->total_count, style_value(text, row->count, "count"), 8);
    fprintf(style->out, "%7s", style_share(share, row->count, churn->total_count));
    if (churn->seconds > 0) {
        fprintf(style->out, "%9s/s", style_value(text, row->count / churn->seconds, "count"));
        fprintf(style->out, "%11s/s", style_value(text, row->bytes / churn->seconds, "bytes"));
    } else {
        fprintf(style->out, "%11s%13s", "", style_value(text, row->bytes, "bytes"));
    }
    question_pad(style, style_value(text, row->median_us * 1000, "nanoseconds"), 13);
    if (row->size_least == row->size_most)
        fprintf(style->out, "%10s  ", style_value(text, (double)row->size_most, "bytes"));
    else
        fprintf(style->out, "%10s  ", style_value(text, row->bytes / row->count, "bytes"));
    question_site(view, style, row->frame, LEFT_COLUMNS);
    fputs("\n", style->out);
    const char *hint = churn_hint(row);
    if (hint[0] != '\0' && row->count >= 0.05 * churn->total_count) {
        fprintf(style->out, "%*s", LEFT_COLUMNS + 1, "");
        style_dim(style, hint);
        fputs("\n", style->out);
    }
}

static void put_text(const struct view *view, const struct churn *churn, const struct style *style)
{
    size_t most = style->rows > 0 ? style->rows : ROWS_USUAL;
    char count[32], share[16], rate[32];
    if (!churn->known) {
        fputs("This profile does not tell how long blocks lived; captures of memoir run do.\n",
              style->out);
        return;
    }
    fprintf(style->out, "%s    short-lived: %s of %s blocks that were freed",
            style->name ? style->name : "?",
            style_share(share, churn->total_count, churn->total_ended),
            style_value(count, churn->total_ended, "count"));
    if (churn->seconds > 0)
        fprintf(style->out, ", %s/s",
                style_value(rate, churn->total_count / churn->seconds, "count"));
    fputs("\n", style->out);
    if (churn->count > 0)
        fprintf(style->out, "%8s%7s%11s%13s%13s%10s  %s\n", "blocks", "",
                churn->seconds > 0 ? "rate" : "", "bytes", "median life", "size", "site");
    for (size_t i = 0; i < churn->count && i < most; i++)
        put_row(view, churn, &churn->rows[i], style);
    if (churn->count > most)
        fprintf(style->out, "  %s %zu more sites\n", question_glyph(style, "…", "..."),
                churn->count - most);
    fputs("short-lived: freed within a millisecond; size: of one block, or the mean\n", style->out);
}

static void put_json(const struct view *view, const struct churn *churn, const struct style *style)
{
    struct json json;
    json_start(&json, style->out, true);
    json_object(&json, NULL);
    table_json_head(&json, view, style, "memoir.churn/1");
    json_flag(&json, "known", churn->known);
    json_real(&json, "seconds", churn->seconds);
    json_number(&json, "short_us", 1 << 2 * (CHURN_CLASSES - 1));
    json_real(&json, "short_lived", churn->total_count);
    json_real(&json, "short_lived_bytes", churn->total_bytes);
    json_real(&json, "freed", churn->total_ended);
    json_array(&json, "sites");
    for (size_t i = 0; i < churn->count && (style->rows == 0 || i < style->rows); i++) {
        const struct churn_row *row = &churn->rows[i];
        json_object(&json, NULL);
        question_json(&json, view, row->frame);
        json_real(&json, "short_lived", row->count);
        json_real(&json, "short_lived_bytes", row->bytes);
        json_real(&json, "freed", row->all);
        json_real(&json, "median_us", row->median_us);
        json_number(&json, "size_least", (int64_t)row->size_least);
        json_number(&json, "size_most", (int64_t)row->size_most);
        json_text(&json, "hint", churn_hint(row));
        json_array(&json, "freed_by_age");
        for (unsigned k = 0; k < FORMAT_LIVES; k++)
            json_real(&json, NULL, row->ended[k]);
        json_end(&json);
        json_end(&json);
    }
    json_end(&json);
    json_end(&json);
    fputs("\n", style->out);
}

static void put_csv(const struct view *view, const struct churn *churn, const struct style *style)
{
    fputs("short_lived,short_lived_bytes,freed,median_us,function,file,line\n", style->out);
    for (size_t i = 0; i < churn->count && (style->rows == 0 || i < style->rows); i++) {
        const struct churn_row *row = &churn->rows[i];
        const struct view_frame *frame = question_frame(view, row->frame);
        fprintf(style->out, "%.0f,%.0f,%.0f,%.3g,", row->count, row->bytes, row->all,
                row->median_us);
        question_field(style, frame->name, ',');
        question_field(style, frame->file, ',');
        fprintf(style->out, "%u\n", frame->line);
    }
}

void report_churn(const struct view *view, const struct style *style)
{
    struct churn churn;
    if (!churn_make(&churn, view))
        return;
    if (style->format == STYLE_JSON)
        put_json(view, &churn, style);
    else if (style->format == STYLE_CSV)
        put_csv(view, &churn, style);
    else
        put_text(view, &churn, style);
    churn_free(&churn);
}

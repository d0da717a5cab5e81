/* SPDX-License-Identifier: MIT */
/*
 * The answer of `memoir churn`: sites of short-lived blocks; JSON is memoir.churn/1. Which columns
 * there are depends on what the file knows: ages (memoir's own), or temporary blocks only
 * (heaptrack). A file with neither gets a sentence that says which recording would answer the
 * question.
 */
#include "base/compiler.h"
#include "tool/memory/memory.h"
#include "tool/report/report.h"
#include "tool/report/text/text.h"

enum { ROWS_USUAL = 15, HINT_WIDTH = 42, BLOCKS_WIDTH = 17, LEFT_COLUMNS = 64 };

/* Which columns there is room for; the last go first. */
struct columns {
    bool median, rate, size, bytes;
    unsigned used;
};

static void put_json(const struct view *view, const struct churn *churn, const struct style *style);
static void put_csv(const struct view *view, const struct churn *churn, const struct style *style);
static void put_text(const struct view *view, const struct churn *churn, const struct style *style);
static struct columns columns_choose(const struct style *style);
static void put_unknown(const struct profile *profile, const struct style *style);
static void put_row(const struct view *view, const struct churn *churn, const struct churn_row *row,
                    const struct columns *columns, const struct style *style);

void report_churn(const struct view *view, const struct style *style)
{
    struct churn churn;
    if (!churn_make(&churn, view)) {
        shortage_note();
        return;
    }
    if (style->format == STYLE_JSON)
        put_json(view, &churn, style);
    else if (style->format == STYLE_CSV)
        put_csv(view, &churn, style);
    else
        put_text(view, &churn, style);
    churn_free(&churn);
}

static void put_json(const struct view *view, const struct churn *churn, const struct style *style)
{
    struct json json;
    json_start(&json, style->out, true);
    json_object(&json, NULL);
    table_json_head(&json, view, style, "memoir.churn/1");
    json_flag(&json, "known", churn->by != CHURN_UNKNOWN);
    json_text(&json, "counted",
              churn->by == CHURN_AGES        ? "short-lived"
              : churn->by == CHURN_TEMPORARY ? "temporary"
                                             : "");
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
        json_number(&json, "size_least", (int64_t)row->size_min);
        json_number(&json, "size_most", (int64_t)row->size_max);
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

static void put_text(const struct view *view, const struct churn *churn, const struct style *style)
{
    size_t max = style->rows > 0 ? style->rows : ROWS_USUAL;
    char count[32], share[16], rate[32];
    struct columns columns = columns_choose(style);
    bool temporary = churn->by == CHURN_TEMPORARY;
    if (churn->by == CHURN_UNKNOWN) {
        put_unknown(view->profile, style);
        return;
    }
    fprintf(style->out, "%s    %s: %s of %s blocks that were freed",
            style->name ? style->name : "?", temporary ? "temporary" : "short-lived",
            style_share(share, churn->total_count, churn->total_ended),
            style_value(count, churn->total_ended, UNIT_COUNT));
    if (churn->seconds > 0)
        fprintf(style->out, ", %s/s",
                style_value(rate, churn->total_count / churn->seconds, UNIT_COUNT));
    fputs("\n", style->out);
    if (churn->count > 0)
        fprintf(style->out, "%8s%7s%*s%*s%*s%*s  %s\n", "blocks", "", columns.rate ? 11 : 0,
                columns.rate && churn->seconds > 0 ? "rate" : "", columns.bytes ? 13 : 0,
                columns.bytes ? "bytes" : "", columns.median ? 13 : 0,
                columns.median && !temporary ? "median life" : "", columns.size ? 10 : 0,
                columns.size ? "size" : "", "site");
    for (size_t i = 0; i < churn->count && i < max; i++)
        put_row(view, churn, &churn->rows[i], &columns, style);
    if (churn->count > max)
        fprintf(style->out, "  %s %zu more sites\n", question_glyph(style, "…", "..."),
                churn->count - max);
    fputs(temporary ? "temporary: freed before anything else was allocated, as heaptrack counts; "
                      "ages are not known\n"
                    : "short-lived: freed within a millisecond; size: of one block, or the mean\n",
          style->out);
}

static struct columns columns_choose(const struct style *style)
{
    enum { SITE_MIN = 26 };
    struct columns columns = {true, true, true, true, LEFT_COLUMNS};
    const struct {
        bool *shown;
        unsigned width;
    } order[] = {
        {&columns.bytes, 13}, {&columns.rate, 11}, {&columns.size, 10}, {&columns.median, 13}};
    for (size_t i = 0; i < COUNT_OF(order) && columns.used + SITE_MIN > style->width; i++) {
        *order[i].shown = !style->fits;
        columns.used -= style->fits ? order[i].width : 0;
    }
    return columns;
}

static void put_unknown(const struct profile *profile, const struct style *style)
{
    const char *text = "This profile has no block lifetimes; captures of memoir run have "
                       "them.\n";
    if (profile->exact_frees == 0)
        text = "No block was freed, so none was short-lived.\n";
    else if (profile->samples.count == 0)
        text = "No block was recorded.\n";
    else if (profile->exact_frees > 0 && profile->period > 0)
        text = "No recorded block was freed: memoir run --exact records all of them.\n";
    fputs(text, style->out);
}

static void put_row(const struct view *view, const struct churn *churn, const struct churn_row *row,
                    const struct columns *columns, const struct style *style)
{
    char text[32], share[16];
    bool timed = churn->seconds > 0;
    style_heat(style, row->count / churn->total_count, style_value(text, row->count, UNIT_COUNT),
               8);
    fprintf(style->out, "%7s", style_share(share, row->count, churn->total_count));
    if (columns->rate && timed)
        fprintf(style->out, "%9s/s", style_value(text, row->count / churn->seconds, UNIT_COUNT));
    else if (columns->rate)
        fprintf(style->out, "%11s", "");
    if (columns->bytes && timed)
        fprintf(style->out, "%11s/s", style_value(text, row->bytes / churn->seconds, UNIT_BYTES));
    else if (columns->bytes)
        fprintf(style->out, "%13s", style_value(text, row->bytes, UNIT_BYTES));
    if (columns->median)
        question_pad(
            style,
            row->median_us >= 0 ? style_value(text, row->median_us * 1000, UNIT_NANOSECONDS) : "",
            13);
    bool one = row->size_min == row->size_max;
    style_value(text, one ? (double)row->size_max : row->bytes / row->count, UNIT_BYTES);
    if (columns->size)
        fprintf(style->out, "%10s", text);
    fputs("  ", style->out);
    question_site(view, style, row->frame, columns->used);
    fputs("\n", style->out);
    const char *hint = churn_hint(row);
    if (hint[0] != '\0' && row->count >= 0.05 * churn->total_count) {
        bool narrow = style->fits && style->width < columns->used + HINT_WIDTH;
        fprintf(style->out, "%*s", narrow ? BLOCKS_WIDTH : (int)columns->used, "");
        style_dim(style, hint);
        fputs("\n", style->out);
    }
}

/* SPDX-License-Identifier: MIT */
/*
 * The answer of `memoir check`: a line a limit; JSON is memoir.check/1. For machines that run
 * tests: JUnit's XML, and GitHub's annotations with a table in Markdown.
 */
#include <string.h>

#include "tool/report/report.h"
#include "tool/report/text/text.h"

static void put_json(const struct check *check, const struct style *style);
static void put_csv(const struct check *check, const struct style *style);
static void put_text(const struct check *check, const struct style *style);
static void put_item(const struct check_item *item, const struct style *style);
static const char *value_text(char text[80], const struct check_item *item, const char *arrow);
static const char *number(char text[32], double value, enum value_unit unit);
static const char *limit_text(char text[48], const struct check_item *item);
static const char *place_short(const struct style *style, const char *file, unsigned detail);
static bool is_timed(const struct check *check);
static void put_xml(FILE *file, const char *text);
static bool item_fails(const struct check *check, const struct check_item *item);
static void put_annotation(const struct check_item *item, bool fails, FILE *file);
static void put_command(FILE *file, const char *text, bool property);
static void put_cell(FILE *file, const char *text);

void report_check(const struct check *check, const struct style *style)
{
    if (style->format == STYLE_JSON)
        put_json(check, style);
    else if (style->format == STYLE_CSV)
        put_csv(check, style);
    else
        put_text(check, style);
}

static void put_json(const struct check *check, const struct style *style)
{
    struct json json;
    json_start(&json, style->out, true);
    json_object(&json, NULL);
    json_text(&json, "schema", "memoir.check/1");
    json_text(&json, "input", style->name ? style->name : "");
    if (style->base_name)
        json_text(&json, "base_input", style->base_name);
    json_flag(&json, "pass", check_passes(check));
    json_flag(&json, "strict", check->strict);
    json_number(&json, "failed", (int64_t)check->failed);
    json_number(&json, "inconclusive", (int64_t)check->unsure);
    json_array(&json, "checks");
    for (size_t i = 0; i < check->count; i++) {
        const struct check_item *item = &check->items[i];
        json_object(&json, NULL);
        json_text(&json, "name", item->name);
        if (item->subject[0] != '\0')
            json_text(&json, "pattern", item->subject);
        json_text(&json, "verdict", check_word(item->verdict));
        json_text(&json, "unit", value_unit_name(item->unit));
        if (item->has_before)
            json_real(&json, "before", item->before);
        json_real(&json, "after", item->after);
        json_real(&json, "noise", item->noise);
        json_real(&json, "unseen", item->unseen);
        json_real(&json, item->limit.relative ? "limit_percent" : "limit", item->limit.value);
        json_text(&json, "detail", item->detail);
        json_text(&json, "file", item->file);
        json_number(&json, "line", item->line);
        json_end(&json);
    }
    json_end(&json);
    json_end(&json);
    fputs("\n", style->out);
}

static void put_csv(const struct check *check, const struct style *style)
{
    char limit[48];
    fputs("check,pattern,verdict,before,after,noise,unseen,limit,detail\n", style->out);
    for (size_t i = 0; i < check->count; i++) {
        const struct check_item *item = &check->items[i];
        question_field(style, item->name, ',');
        question_field(style, item->subject, ',');
        fprintf(style->out, "%s,%.0f,%.0f,%.0f,%.0f,", check_word(item->verdict), item->before,
                item->after, item->noise, item->unseen);
        snprintf(limit, sizeof limit, item->limit.relative ? "%g%%" : "%.0f", item->limit.value);
        question_field(style, limit, ',');
        question_field(style, item->detail, '\n');
    }
}

static void put_text(const struct check *check, const struct style *style)
{
    for (size_t i = 0; i < check->count; i++)
        put_item(&check->items[i], style);
    if (!check_passes(check))
        question_paint(style, QUESTION_RED, "FAIL", 4);
    else
        question_paint(style, QUESTION_GREEN, "PASS", 4);
    if (!check_passes(check))
        fprintf(style->out, " %zu of %zu", check->failed, check->count);
    else
        fprintf(style->out, " %zu", check->count - check->unsure);
    if (check->unsure > 0)
        fprintf(style->out, ", %zu inconclusive (%s)", check->unsure,
                is_timed(check) ? "more samples tell: a longer run, or a higher rate"
                                : "record every block: memoir run --exact");
    fputs("\n", style->out);
}

static void put_item(const struct check_item *item, const struct style *style)
{
    char text[80], limit[48], growth[16];
    bool fail = item->verdict == CHECK_FAIL, unsure = item->verdict == CHECK_UNSURE;
    const char *mark = fail     ? question_glyph(style, "✗", "FAIL")
                       : unsure ? "?"
                                : question_glyph(style, "✓", "ok");
    question_paint(style,
                   fail     ? QUESTION_RED
                   : unsure ? QUESTION_YELLOW
                            : QUESTION_GREEN,
                   mark, style->utf8 ? -1 : -4);
    fprintf(style->out, " %-12s ", item->name);
    if (item->subject[0] != '\0') {
        question_pad(style, item->subject, -14);
        fputs(" ", style->out);
        question_pad(style, value_text(text, item, question_glyph(style, "→", "->")), -11);
    } else {
        question_pad(style, value_text(text, item, question_glyph(style, "→", "->")), -26);
    }
    fputs(" ", style->out);
    question_pad(style, item->has_before ? question_growth(growth, item->before, item->after) : "",
                 8);
    fputs("   limit ", style->out);
    question_pad(style, limit_text(limit, item), unsure || item->detail[0] ? -10 : 0);
    if (unsure)
        fputs("  inconclusive:", style->out);
    if (unsure && item->noise > 0)
        fprintf(style->out, " known to %s%s only", question_glyph(style, "±", "+-"),
                style_value(text, item->noise, item->unit));
    else if (unsure && item->unseen > 0)
        fprintf(style->out, " up to %s may be missing from the samples",
                style_value(text, item->unseen, item->unit));
    if (item->detail[0] != '\0') {
        char detail[sizeof item->detail];
        snprintf(detail, sizeof detail, "%s", item->detail);
        style_clean(detail);
        fprintf(style->out, "%s%s", unsure && item->noise == 0 && item->unseen == 0 ? " " : "  ",
                detail);
        if (item->file[0] != '\0' && item->subject[0] == '\0') {
            fputs("  ", style->out);
            style_place(style, place_short(style, item->file, style_columns(detail)), item->line);
        }
    }
    fputs("\n", style->out);
}

/* "1.31 GiB → 1.30 GiB" */
static const char *value_text(char text[80], const struct check_item *item, const char *arrow)
{
    char before[32], after[32];
    number(after, item->after, item->unit);
    if (item->has_before)
        snprintf(text, 80, "%s %s %s", number(before, item->before, item->unit), arrow, after);
    else
        snprintf(text, 80, "%s", after);
    return text;
}

/* Counts are told to the last digit: one block more may be the whole point. */
static const char *number(char text[32], double value, enum value_unit unit)
{
    if (unit == UNIT_COUNT && value >= 0 && value < 1e15)
        return question_count(text, (uint64_t)value);
    return style_value(text, value, unit);
}

static const char *limit_text(char text[48], const struct check_item *item)
{
    char value[32];
    if (item->limit.relative)
        snprintf(text, 48, "+%g %%", item->limit.value);
    else
        snprintf(text, 48, "%s", number(value, item->limit.value, item->unit));
    return text;
}

/* As much of the path's end as the line has room for behind the detail. */
static const char *place_short(const struct style *style, const char *file, unsigned detail)
{
    enum { BEFORE = 73, LINE = 6 }; /* the columns in front of the detail; ":12345" */
    unsigned used = BEFORE + detail + LINE;
    while (used + style_columns(file) > style->width && strchr(file + 1, '/'))
        file = strchr(file + 1, '/') + 1;
    return file;
}

/* Whether all that can't be decided is about time. */
static bool is_timed(const struct check *check)
{
    for (size_t i = 0; i < check->count; i++)
        if (check->items[i].verdict == CHECK_UNSURE && check->items[i].unit != UNIT_NANOSECONDS)
            return false;
    return true;
}

void report_check_junit(const struct check *check, const char *name, FILE *file)
{
    char text[80], limit[48];
    size_t failed = check->failed + (check->strict ? check->unsure : 0);
    fprintf(file,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<testsuite name=\"memoir check\" tests=\"%zu\" failures=\"%zu\" skipped=\"%zu\">\n",
            check->count, failed, check->failed + check->unsure - failed);
    for (size_t i = 0; i < check->count; i++) {
        const struct check_item *item = &check->items[i];
        fputs("  <testcase classname=\"", file);
        put_xml(file, name);
        fputs("\" name=\"", file);
        put_xml(file, item->name);
        if (item->subject[0] != '\0') {
            putc(' ', file);
            put_xml(file, item->subject);
        }
        if (item->verdict == CHECK_PASS) {
            fputs("\"/>\n", file);
            continue;
        }
        bool fails = item_fails(check, item);
        fprintf(file, "\">\n    <%s message=\"", fails ? "failure" : "skipped");
        put_xml(file, value_text(text, item, "->"));
        fprintf(file, ", limit %s%s", limit_text(limit, item),
                item->verdict == CHECK_UNSURE ? ", within the noise of sampling" : "");
        if (fails) {
            fputs("\">", file);
            put_xml(file, item->detail);
            fputs("</failure>\n", file);
        } else {
            fputs("\"/>\n", file);
        }
        fputs("  </testcase>\n", file);
    }
    fputs("</testsuite>\n", file);
}

static void put_xml(FILE *file, const char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '&')
            fputs("&amp;", file);
        else if (c == '<')
            fputs("&lt;", file);
        else if (c == '>')
            fputs("&gt;", file);
        else if (c == '"')
            fputs("&quot;", file);
        else
            putc(c < ' ' ? ' ' : c, file);
    }
}

static bool item_fails(const struct check *check, const struct check_item *item)
{
    return item->verdict == CHECK_FAIL || (check->strict && item->verdict == CHECK_UNSURE);
}

void report_check_github(const struct check *check, FILE *commands, FILE *markdown)
{
    char text[80], limit[48], growth[16];
    for (size_t i = 0; i < check->count; i++)
        if (check->items[i].verdict != CHECK_PASS)
            put_annotation(&check->items[i], item_fails(check, &check->items[i]), commands);
    fprintf(markdown, "### memoir check: %s\n\n", check_passes(check) ? "PASS" : "FAIL");
    fputs("| | check | value | change | limit | |\n|---|---|---:|---:|---:|---|\n", markdown);
    for (size_t i = 0; i < check->count; i++) {
        const struct check_item *item = &check->items[i];
        fprintf(markdown, "| %s | %s ",
                item->verdict == CHECK_FAIL   ? "❌"
                : item->verdict == CHECK_PASS ? "✅"
                                              : "⚠️",
                item->name);
        put_cell(markdown, item->subject);
        fprintf(markdown, " | %s | %s | %s | ", value_text(text, item, "→"),
                item->has_before ? question_growth(growth, item->before, item->after) : "",
                limit_text(limit, item));
        put_cell(markdown, item->detail);
        fputs(" |\n", markdown);
    }
    fputs("\n", markdown);
}

static void put_annotation(const struct check_item *item, bool fails, FILE *file)
{
    char text[80], limit[48];
    fprintf(file, "::%s title=memoir", fails ? "error" : "warning");
    if (item->file[0] != '\0') {
        fputs(",file=", file);
        put_command(file, item->file, true);
        if (item->line > 0)
            fprintf(file, ",line=%u", item->line);
    }
    fputs("::", file);
    put_command(file, item->name, false);
    fputs(" ", file);
    put_command(file, item->subject, false);
    put_command(file, item->subject[0] ? " " : "", false);
    put_command(file, value_text(text, item, "->"), false);
    fputs(", limit ", file);
    put_command(file, limit_text(limit, item), false);
    if (item->verdict == CHECK_UNSURE)
        fputs(", inconclusive", file);
    if (item->detail[0] != '\0') {
        fputs(": ", file);
        put_command(file, item->detail, false);
    }
    fputs("\n", file);
}

/* Text of a workflow command: what would end it is written as its code. */
static void put_command(FILE *file, const char *text, bool property)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '%' || c < ' ' || (property && (c == ':' || c == ',')))
            fprintf(file, "%%%02X", c);
        else
            putc(c, file);
    }
}

/* A cell of a table in Markdown. */
static void put_cell(FILE *file, const char *text)
{
    for (; *text; text++) {
        if (strchr("|\\`*_<[&", *text))
            putc('\\', file);
        putc((unsigned char)*text < ' ' ? ' ' : *text, file);
    }
}

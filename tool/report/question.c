/* SPDX-License-Identifier: MIT */
/* See tool/report/question.h. */
#include "tool/report/question.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

double question_seconds(const struct profile *profile)
{
    int64_t end_ns = profile->duration_ns;
    const struct profile_point *points = profile->points.items;
    if (end_ns <= 0 && profile->points.count > 0)
        end_ns = points[profile->points.count - 1].time_ns;
    return end_ns >= 1000000 ? (double)end_ns / 1e9 : 0; /* the clock has milliseconds */
}

double question_noise(double variance)
{
    return variance > 0 ? 1.96 * sqrt(variance) : 0;
}

/* How many standard deviations are exceeded, to either side, with this probability. */
static double deviations(double probability)
{
    double low = 0, high = 40;
    for (unsigned i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        if (erfc(middle / sqrt(2)) > probability)
            low = middle;
        else
            high = middle;
    }
    return high;
}

double question_noise_among(double variance, size_t sites, double by_chance)
{
    double each = by_chance / (double)(sites > 0 ? sites : 1);
    return variance > 0 ? deviations(each) * sqrt(variance) : 0;
}

uint32_t question_stack(const struct view *view, size_t sample)
{
    return view->sample_stacks ? view->sample_stacks[sample] : UINT32_MAX;
}

const struct view_frame *question_frame(const struct view *view, uint32_t frame)
{
    static const struct view_frame none = {
        .name = "[stack not recorded]", .file = "", .module = "", .flags = FRAME_UNNAMED};
    return frame < view->frames_count ? &view->frames[frame] : &none;
}

const char *question_glyph(const struct style *style, const char *text, const char *ascii)
{
    return style->utf8 ? text : ascii;
}

void question_pad(const struct style *style, const char *text, int width)
{
    int missing = abs(width) - (int)style_columns(text);
    if (missing < 0)
        missing = 0;
    fprintf(style->out, "%*s%s%*s", width > 0 ? missing : 0, "", text, width < 0 ? missing : 0, "");
}

void question_paint(const struct style *style, enum question_paint paint, const char *text,
                    int width)
{
    if (style->color)
        fprintf(style->out, "\033[%dm", (int)paint);
    question_pad(style, text, width);
    if (style->color)
        fputs("\033[0m", style->out);
}

const char *question_change(char text[32], double change, enum value_unit unit)
{
    char value[32];
    snprintf(text, 32, "%s%.30s", change < 0 ? "-" : "+", style_value(value, fabs(change), unit));
    return text;
}

const char *question_growth(char text[16], double before, double after)
{
    if (before == 0)
        return after == 0 ? "" : "new";
    if (after == 0)
        return "gone";
    double percent = (after - before) / fabs(before) * 100;
    if (percent >= 99950)
        snprintf(text, 16, "x%.0f", fmin(after / before, 1e9));
    else
        snprintf(text, 16, fabs(percent) < 9.95 ? "%+.1f %%" : "%+.0f %%", percent);
    return text;
}

const char *question_count(char text[32], uint64_t count)
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)count);
    size_t at = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            text[at++] = ',';
        text[at++] = digits[i];
    }
    text[at] = '\0';
    return text;
}

void question_site(const struct view *view, const struct style *style, uint32_t frame,
                   unsigned left)
{
    enum { NAME = 22, WIDTH_MIN = 26, BELOW = 6 };
    unsigned width = style->width > left + WIDTH_MIN ? style->width - left : WIDTH_MIN;
    if (style->fits && style->width < left + WIDTH_MIN && left > BELOW) { /* a line of its own */
        fprintf(style->out, "\n%*s", BELOW, "");
        width = style->width > BELOW + NAME ? style->width - BELOW : NAME;
    }
    if (frame < view->frames_count)
        table_site(view, style, frame, NAME, width);
    else
        style_dim(style, question_frame(view, frame)->name);
}

void question_field(const struct style *style, const char *text, char end)
{
    table_csv_text(style, text);
    putc(end, style->out);
}

void question_json(struct json *json, const struct view *view, uint32_t frame)
{
    if (frame < view->frames_count)
        table_json_frame(json, view, frame);
    else
        json_text(json, "name", question_frame(view, frame)->name);
}

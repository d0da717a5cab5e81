/* SPDX-License-Identifier: MIT */
/* What the reports that answer one question share: words for columns, signs, padding, sorting. */
#ifndef REPORT_QUESTION_H
#define REPORT_QUESTION_H

#include "tool/report/table.h"
#include "tool/report/view.h"
#include "tool/terminal/terminal.h"

enum question_paint { QUESTION_RED = 31, QUESTION_GREEN, QUESTION_YELLOW, QUESTION_BLUE };

/* How long was recorded, in seconds; 0: not known. */
double question_seconds(const struct profile *profile);
/* 95 % of the estimates lie no further away than this. */
double question_noise(double variance);
/* The same for a comparison of `sites` sites: `by_chance` is the probability that one of them lies
 * further away by chance alone. */
double question_noise_among(double variance, size_t sites, double by_chance);
/* The stack of this view that a sample is part of; UINT32_MAX: the filters took it out. */
uint32_t question_stack(const struct view *view, size_t sample);
/* The frame of that number; one that says so where there is none (UINT32_MAX). */
const struct view_frame *question_frame(const struct view *view, uint32_t frame);

/* `text` where the locale has it, else `ascii`. */
const char *question_glyph(const struct style *style, const char *text, const char *ascii);
/* Padded with spaces to `width` columns: on the left if positive, on the right if negative. */
void question_pad(const struct style *style, const char *text, int width);
void question_paint(const struct style *style, enum question_paint paint, const char *text,
                    int width);
/* "+254 MiB" */
const char *question_change(char text[32], double change, enum value_unit unit);
/* "+172 %"; "new", "gone" */
const char *question_growth(char text[16], double before, double after);
/* 12,080 */
const char *question_count(char text[32], uint64_t count);
/* Function and place of a frame: the last column, behind `left` columns. */
void question_site(const struct view *view, const struct style *style, uint32_t frame,
                   unsigned left);
/* A field of CSV, quoted where it must be, and what follows it. */
void question_field(const struct style *style, const char *text, char end);
/* The frame's members in the open object. */
void question_json(struct json *json, const struct view *view, uint32_t frame);

#endif

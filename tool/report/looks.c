/* SPDX-License-Identifier: MIT */
/* See tool/report/looks.h. */
#include "tool/report/looks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/report/question.h"

/* Fewer printable bytes in a row are as likely a number. */
enum { NONE = UINT32_MAX, TEXT_MIN = 4 };

static uint32_t frame_of(const struct view *view, size_t sample);
static int rows_order(const void *left, const void *right);

struct looks looks_of(const struct view *view, uint32_t frame, const bool *left_out)
{
    const struct profile *profile = view->profile;
    const struct profile_look *all = profile->looks.items;
    struct looks looks = {0};
    int64_t largest = -1;
    for (size_t i = 0; i < profile->looks.count; i++) {
        const struct profile_look *look = &all[i];
        if (look->sample >= profile->samples.count || question_stack(view, look->sample) == NONE ||
            left_out[look->sample] || frame_of(view, look->sample) != frame)
            continue;
        int64_t value = profile->samples.values[view->options.type][look->sample];
        looks.known = true;
        looks.cycles += look->cycles;
        looks.owned_objects += look->owned_objects;
        looks.owned_space += look->owned_space;
        if (look->oldest_us > looks.oldest_us)
            looks.oldest_us = look->oldest_us;
        if (look->oldest_us > 0 &&
            (looks.youngest_us == 0 || look->youngest_us < looks.youngest_us))
            looks.youngest_us = look->youngest_us;
        if (value > largest) {
            looks.example = look;
            largest = value;
        }
    }
    return looks;
}

bool looks_text(const struct profile_look *look, char *text, size_t size)
{
    size_t length = 0;
    while (length < look->first_count && look->first[length] >= ' ' && look->first[length] < 127)
        length++;
    if (length < TEXT_MIN)
        return false;
    snprintf(text, size, "\"%.*s%s\"", (int)length, (const char *)look->first,
             length == PROFILE_LOOK_BYTES ? "..." : "");
    return true;
}

/* The site that a sample belongs to; NONE: its stack was not recorded. */
static uint32_t frame_of(const struct view *view, size_t sample)
{
    struct view_stack stack = view_stack(view, question_stack(view, sample));
    return stack.count > 0 ? stack.frames[0] : NONE;
}

/* The site of a block that points to a block of the sample. */
static void from_find(struct looks_row *row, const struct view *view, size_t sample)
{
    const struct profile_look *all = view->profile->looks.items;
    for (size_t i = 0; i < view->profile->looks.count && !row->from_known; i++) {
        int64_t from = all[i].from_sample;
        if (all[i].sample != sample || from < 0 || (size_t)from >= view->profile->samples.count ||
            question_stack(view, (size_t)from) == NONE)
            continue;
        row->from = frame_of(view, (size_t)from);
        row->from_known = true;
    }
}

struct looks_row *looks_rows(const struct view *view, const char *objects, const char *space,
                             const bool *left_out, size_t *count)
{
    const struct profile *profile = view->profile;
    int counted = profile_type_named(profile, objects), bytes = profile_type_named(profile, space);
    uint32_t *row_of = calloc(view->frames_count + 1, sizeof *row_of);
    struct looks_row *rows = calloc(view->stacks_count + 1, sizeof *rows);
    *count = 0;
    for (size_t i = 0; row_of && rows && counted >= 0 && bytes >= 0 && i < profile->samples.count;
         i++) {
        uint32_t stack = question_stack(view, i);
        int64_t value = profile->samples.values[bytes][i];
        if (value <= 0 || stack == NONE || left_out[i])
            continue;
        uint32_t frame = frame_of(view, i);
        uint32_t *place = &row_of[frame < view->frames_count ? frame : view->frames_count];
        if (*place == 0) {
            rows[*count] = (struct looks_row){.frame = frame, .stack = stack, .from = NONE};
            *place = (uint32_t)++ * count;
        }
        struct looks_row *row = &rows[*place - 1];
        row->objects += profile->samples.values[counted][i];
        row->bytes += value;
        from_find(row, view, i);
    }
    if (!row_of) {
        free(rows);
        rows = NULL;
    }
    free(row_of);
    if (rows)
        qsort(rows, *count, sizeof *rows, rows_order);
    return rows;
}

static int rows_order(const void *left, const void *right)
{
    const struct looks_row *a = left, *b = right;
    return a->bytes != b->bytes ? (a->bytes < b->bytes ? 1 : -1)
                                : (a->frame > b->frame) - (a->frame < b->frame);
}

/* SPDX-License-Identifier: MIT */
/*
 * See tool/report/diff.h. Sites are put together by function: equal ones first, then those whose
 * lines have moved; what is left is new or gone. How far a change must exceed the noise grows with
 * the number of sites, because among a thousand equal ones some would differ by chance.
 */
#include "tool/report/diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tool/report/question.h"

/* One side of a row while sites are matched. */
struct half {
    const struct view_frame *frame;
    uint32_t number; /* of the frame */
    struct view_value value;
    bool old;    /* of the base */
    bool placed; /* is in a row of the diff */
};

/* The files of a profile whose build ids are known, by path. */
struct build {
    const char *path, *id;
};

struct builds {
    struct build *items;
    size_t count;
};

static bool builds_make(struct builds *builds, const struct profile *profile);
static const char *build_id(const struct builds *builds, const char *path);
static int build_order(const void *left, const void *right);
static int half_order(const void *left, const void *right);
static void match_name(struct diff *diff, const struct builds builds[2], struct half *halves,
                       size_t count);
static bool same_file(const struct half *a, const struct half *b);
static void match_lines(struct diff *diff, const struct builds builds[2], struct half *halves,
                        size_t count);
static bool same_build(const struct builds builds[2], const struct half *half);
static void place(struct diff *diff, struct half *before, struct half *after);
static void place_nearest(struct diff *diff, struct half *old, size_t olds, struct half *new,
                          size_t news);
static void judge(const struct view *view, struct diff_row *row, size_t sites);
static double chance_of(const struct view *view);
static int row_class(const struct diff_row *row);
static int row_order(const void *left, const void *right);
static void explain(struct diff *diff);

bool diff_make(struct diff *diff, const struct view *view, bool by_total)
{
    size_t count, halves_count = 0;
    struct builds builds[2];
    struct view_row *rows = view_rows(view, by_total, &count);
    memset(diff, 0, sizeof *diff);
    struct half *halves = rows ? calloc(count * 2 + 1, sizeof *halves) : NULL;
    diff->rows = halves ? calloc(count * 2 + 1, sizeof *diff->rows) : NULL;
    bool ok = builds_make(&builds[0], view->profile);
    ok = builds_make(&builds[1], view->base) && ok && diff->rows;
    for (size_t i = 0; i < count && ok; i++) {
        const struct view_value *value = by_total ? &rows[i].total : &rows[i].self;
        const struct view_frame *frame = &view->frames[rows[i].frame];
        if (value->base != 0)
            halves[halves_count++] = (struct half){frame, rows[i].frame, *value, true, false};
        if (value->value != 0)
            halves[halves_count++] = (struct half){frame, rows[i].frame, *value, false, false};
    }
    if (ok)
        qsort(halves, halves_count, sizeof *halves, half_order);
    for (size_t i = 0, end; i < halves_count; i = end) {
        for (end = i + 1;
             end < halves_count && strcmp(halves[i].frame->name, halves[end].frame->name) == 0;)
            end++;
        match_name(diff, builds, &halves[i], end - i);
    }
    for (size_t i = 0; i < diff->count && ok; i++) {
        judge(view, &diff->rows[i], diff->count);
        diff->real += row_class(&diff->rows[i]) == 0;
        diff->noisy += row_class(&diff->rows[i]) == 1;
    }
    diff->change = (double)view->total.value - (double)view->total.base;
    diff->noise = question_noise(view->total.variance + view->total.base_variance);
    if (ok) {
        qsort(diff->rows, diff->count, sizeof *diff->rows, row_order);
        explain(diff);
    }
    free(builds[0].items);
    free(builds[1].items);
    free(halves);
    free(rows);
    if (!ok)
        diff_free(diff);
    return ok;
}

static bool builds_make(struct builds *builds, const struct profile *profile)
{
    size_t mappings = profile ? profile->mappings.count : 0;
    *builds = (struct builds){calloc(mappings + 1, sizeof *builds->items), 0};
    for (uint32_t i = 1; i < mappings && builds->items; i++) {
        const struct profile_mapping *mapping = profile_mapping_at(profile, i);
        if (mapping->build_id != 0)
            builds->items[builds->count++] = (struct build){
                profile_text(profile, mapping->path), profile_text(profile, mapping->build_id)};
    }
    if (builds->items)
        qsort(builds->items, builds->count, sizeof *builds->items, build_order);
    return builds->items != NULL;
}

static const char *build_id(const struct builds *builds, const char *path)
{
    struct build wanted = {.path = path};
    const struct build *found =
        bsearch(&wanted, builds->items, builds->count, sizeof wanted, build_order);
    return found ? found->id : "";
}

static int build_order(const void *left, const void *right)
{
    return strcmp(((const struct build *)left)->path, ((const struct build *)right)->path);
}

/* By function, file, side and line; what two builds call the same comes together. */
static int half_order(const void *left, const void *right)
{
    const struct half *a = left, *b = right;
    int order = strcmp(a->frame->name, b->frame->name);
    if (order == 0)
        order = strcmp(name_base(a->frame->file), name_base(b->frame->file));
    if (order == 0 && a->old != b->old)
        order = a->old ? -1 : 1;
    if (order == 0 && a->frame->line != b->frame->line)
        order = a->frame->line < b->frame->line ? -1 : 1;
    return order != 0 ? order : (a->number > b->number) - (a->number < b->number);
}

/* All halves of one name: by file, and what is left then, since a file may have another name now.
 */
static void match_name(struct diff *diff, const struct builds builds[2], struct half *halves,
                       size_t count)
{
    size_t left = 0;
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && same_file(&halves[i], &halves[end]);)
            end++;
        match_lines(diff, builds, &halves[i], end - i);
    }
    for (unsigned old = 2; old-- > 0;) /* those of the base first */
        for (size_t i = left; i < count; i++)
            if (!halves[i].placed && halves[i].old == (old == 1)) {
                struct half swap = halves[left];
                halves[left++] = halves[i];
                halves[i] = swap;
            }
    if (left > 0 && !(halves[0].frame->flags & FRAME_UNNAMED))
        match_lines(diff, builds, halves, left);
    for (size_t i = 0; i < left; i++)
        if (!halves[i].placed)
            place(diff, halves[i].old ? &halves[i] : NULL, halves[i].old ? NULL : &halves[i]);
}

static bool same_file(const struct half *a, const struct half *b)
{
    return strcmp(name_base(a->frame->file), name_base(b->frame->file)) == 0;
}

/* The halves of a function in one file: first those of the base, then the others, each by line.
 * Between two builds lines move, but their order seldom changes. */
static void match_lines(struct diff *diff, const struct builds builds[2], struct half *halves,
                        size_t count)
{
    enum { NEAREST_MAX = 64 }; /* each line is compared with each: 4,096 pairs at most */
    size_t olds = 0;
    while (olds < count && halves[olds].old)
        olds++;
    struct half *new = halves + olds;
    size_t news = count - olds;
    if (olds == 0 || news == 0)
        return;
    bool moved = !same_build(builds, halves), in_order = olds == news && moved;
    for (size_t i = 0; i < olds && in_order; i++)
        place(diff, &halves[i], &new[i]);
    for (size_t i = 0, k = 0; i < olds && k < news && !in_order;) {
        if (halves[i].frame->line == new[k].frame->line)
            place(diff, &halves[i++], &new[k++]);
        else if (halves[i].frame->line < new[k].frame->line)
            i++;
        else
            k++;
    }
    if (!in_order && moved && olds <= NEAREST_MAX && news <= NEAREST_MAX)
        place_nearest(diff, halves, olds, new, news);
}

/* Whether the code is known to be the same in both profiles, so that no line can have moved. */
static bool same_build(const struct builds builds[2], const struct half *half)
{
    const char *path = half->frame->module, *before = build_id(&builds[1], path);
    return before[0] != '\0' && strcmp(before, build_id(&builds[0], path)) == 0;
}

static void place(struct diff *diff, struct half *before, struct half *after)
{
    struct diff_row *row = &diff->rows[diff->count++];
    memset(row, 0, sizeof *row);
    if (before) {
        row->frame = row->base_frame = before->number;
        row->value.base = before->value.base;
        row->value.base_objects = before->value.base_objects;
        row->value.base_variance = before->value.base_variance;
        before->placed = true;
    }
    if (after) {
        row->frame = after->number;
        if (!before)
            row->base_frame = after->number;
        row->value.value = after->value.value;
        row->value.objects = after->value.objects;
        row->value.variance = after->value.variance;
        after->placed = true;
    }
}

static void place_nearest(struct diff *diff, struct half *old, size_t olds, struct half *new,
                          size_t news)
{
    for (;;) {
        struct half *left = NULL, *right = NULL;
        int64_t best = INT64_MAX;
        for (size_t i = 0; i < olds; i++)
            for (size_t k = 0; k < news && !old[i].placed; k++) {
                int64_t distance = llabs((int64_t)old[i].frame->line - new[k].frame->line);
                if (!new[k].placed && distance < best) {
                    best = distance;
                    left = &old[i];
                    right = &new[k];
                }
            }
        if (!left)
            return;
        place(diff, left, right);
    }
}

/* `sites`: how many of them are compared. */
static void judge(const struct view *view, struct diff_row *row, size_t sites)
{
    const struct view_value *value = &row->value;
    const char *name = view->frames[row->frame].name;
    row->change = (double)value->value - (double)value->base;
    row->noise =
        question_noise_among(value->variance + value->base_variance, sites, chance_of(view));
    if (row->change == 0)
        row->verdict = DIFF_SAME;
    else if (fabs(row->change) <= row->noise || strcmp(name, PROFILE_NOT_SAMPLED) == 0)
        row->verdict = DIFF_NOISE;
    else if (value->base == 0)
        row->verdict = DIFF_NEW;
    else if (value->value == 0)
        row->verdict = DIFF_GONE;
    else
        row->verdict = row->change > 0 ? DIFF_MORE : DIFF_LESS;
}

/* Counted totals that are equal leave little doubt that nothing has changed. */
static double chance_of(const struct view *view)
{
    bool counted = view->profile->counted && view->base && view->base->counted;
    return counted && view->whole.value == view->whole.base &&
                   view->whole.objects == view->whole.base_objects
               ? 0.0001
               : 0.01;
}

static int row_class(const struct diff_row *row)
{
    return row->verdict == DIFF_SAME ? 2 : row->verdict == DIFF_NOISE ? 1 : 0;
}

static int row_order(const void *left, const void *right)
{
    const struct diff_row *a = left, *b = right;
    if (row_class(a) != row_class(b))
        return row_class(a) - row_class(b);
    double left_size = fabs(a->change), right_size = fabs(b->change);
    if (left_size != right_size)
        return left_size > right_size ? -1 : 1;
    if (a->value.value != b->value.value)
        return a->value.value > b->value.value ? -1 : 1;
    return (a->frame > b->frame) - (a->frame < b->frame);
}

/* How few sites make up nine tenths of what moved in the direction of the total. */
static void explain(struct diff *diff)
{
    double sign = diff->change < 0 ? -1 : 1, all = 0, sum = 0;
    for (size_t i = 0; i < diff->count; i++)
        all += fmax(diff->rows[i].change * sign, 0);
    for (size_t i = 0; i < diff->real && all > 0 && sum < 0.9 * all; i++) {
        double part = fmax(diff->rows[i].change * sign, 0);
        sum += part;
        diff->explain_sites += part > 0;
    }
    diff->explain_share = all > 0 ? sum / all : 0;
}

void diff_free(struct diff *diff)
{
    free(diff->rows);
    diff->rows = NULL;
}

const char *diff_word(enum diff_verdict verdict)
{
    static const char *const words[] = {"same", "noise", "more", "less", "new", "gone"};
    return words[verdict];
}

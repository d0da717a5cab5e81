/* SPDX-License-Identifier: MIT */
/*
 * See tool/report/churn.h. Ages come as counts in classes that are four times as wide each; the
 * median is read off between them on a logarithmic scale, which is as exact as the classes are.
 * Sites whose blocks have not ended are left out: nothing is known of their age.
 */
#include "tool/report/churn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "tool/report/question.h"

double churn_median_us(const double ended[FORMAT_LIVES])
{
    double all = 0, sum = 0;
    for (unsigned i = 0; i < FORMAT_LIVES; i++)
        all += ended[i];
    if (all <= 0)
        return -1;
    for (unsigned i = 0; i < FORMAT_LIVES; i++) {
        if (sum + ended[i] < all / 2) {
            sum += ended[i];
            continue;
        }
        /* Inside of a class ages are taken as even on the logarithmic scale. */
        double inside = ended[i] > 0 ? (all / 2 - sum) / ended[i] : 0;
        double low = i == 0 ? 0.25 : pow(4, (double)i - 1);
        return i == FORMAT_LIVES - 1 ? low : low * pow(4, inside);
    }
    return pow(4, FORMAT_LIVES - 1);
}

static double ended_of(const struct profile *profile, size_t sample, double ended[FORMAT_LIVES])
{
    const struct profile_samples *samples = &profile->samples;
    memset(ended, 0, FORMAT_LIVES * sizeof *ended);
    if (!samples->lives)
        return 0;
    double weight =
        samples->weights && samples->weights[sample] > 0 ? (double)samples->weights[sample] : 1;
    double all = 0;
    for (unsigned i = 0; i < FORMAT_LIVES; i++) {
        ended[i] = weight * samples->lives[sample][i];
        all += ended[i];
    }
    return all;
}

/* Whether a frame below the site is one of something that is filled bit by bit. */
static bool is_growing(const struct view *view, const struct view_stack *stack)
{
    static const char *const words[] = {"realloc",   "_M_append",     "push_back", "emplace_back",
                                        "_M_create", "_M_mutate",     "reserve",   "open_memstream",
                                        "RawVec",    "_M_insert_aux", "g_string_", "g_array_"};
    for (uint32_t i = stack->folded; i > 0; i--) {
        const char *name = view->frames[*(stack->frames - i)].name;
        for (size_t k = 0; k < COUNT_OF(words); k++)
            if (strstr(name, words[k]))
                return true;
    }
    return false;
}

static int64_t value_named(const struct profile *profile, const char *type, size_t sample)
{
    int column = profile_type_named(profile, type);
    return column >= 0 ? profile->samples.values[column][sample] : 0;
}

/* The same for a profile without ages: temporary blocks, of all that were freed. */
static double temporary_of(const struct profile *profile, size_t sample, double *count)
{
    double freed = (double)value_named(profile, TYPE_ALLOC_OBJECTS, sample) -
                   (double)value_named(profile, TYPE_INUSE_OBJECTS, sample);
    *count = (double)value_named(profile, TYPE_TEMP_OBJECTS, sample);
    return freed > *count ? freed : *count;
}

static void row_add(struct churn *churn, const struct view *view, size_t sample,
                    const struct view_stack *stack, struct churn_row *row)
{
    double ended[FORMAT_LIVES] = {0}, count = 0;
    double all = churn->by == CHURN_AGES ? ended_of(view->profile, sample, ended)
                                         : temporary_of(view->profile, sample, &count);
    uint64_t size = block_size_of(view->profile, sample).bytes;
    for (unsigned i = 0; i < FORMAT_LIVES; i++) {
        row->ended[i] += ended[i];
        count += i < CHURN_CLASSES ? ended[i] : 0;
    }
    if (row->all == 0 || size < row->size_min)
        row->size_min = size;
    if (size > row->size_max)
        row->size_max = size;
    row->all += all;
    row->count += count;
    row->bytes += count * (double)size;
    row->grows |= is_growing(view, stack);
    churn->total_count += count;
    churn->total_bytes += count * (double)size;
    churn->total_ended += all;
}

/* Whether a sample has blocks that ended. */
static bool has_ended(const struct churn *churn, const struct profile *profile, size_t sample)
{
    double none[FORMAT_LIVES], count;
    return churn->by == CHURN_AGES ? ended_of(profile, sample, none) > 0
                                   : temporary_of(profile, sample, &count) > 0;
}

static int row_order(const void *left, const void *right)
{
    const struct churn_row *a = left, *b = right;
    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    return (a->frame > b->frame) - (a->frame < b->frame);
}

/* Blocks that were freed, where allocations and live blocks were counted; -1: not known. */
static double freed_count(const struct view *view)
{
    const struct profile *profile = view->profile;
    int allocated = profile_type_named(profile, TYPE_ALLOC_OBJECTS);
    int live = profile_type_named(profile, TYPE_INUSE_OBJECTS);
    double sum = 0;
    if (!profile->counted || profile->at_peak || allocated < 0 || live < 0 ||
        view->options.age_min_us > 0 || view->options.age_max_us > 0)
        return -1;
    for (size_t i = 0; i < profile->samples.count; i++)
        if (question_stack(view, i) != UINT32_MAX)
            sum +=
                (double)(profile->samples.values[allocated][i] - profile->samples.values[live][i]);
    return sum;
}

bool churn_make(struct churn *churn, const struct view *view)
{
    const struct profile *profile = view->profile;
    uint32_t *row_of = malloc((view->frames_count + 1) * sizeof *row_of);

    *churn =
        (struct churn){.by = profile->samples.lives                                ? CHURN_AGES
                             : profile_type_named(profile, TYPE_TEMP_OBJECTS) >= 0 ? CHURN_TEMPORARY
                                                                                   : CHURN_UNKNOWN,
                       .seconds = question_seconds(profile)};
    churn->rows = calloc(view->frames_count + 1, sizeof *churn->rows);
    if (!row_of || !churn->rows) {
        free(row_of);
        churn_free(churn);
        return false;
    }
    memset(row_of, 0xff, (view->frames_count + 1) * sizeof *row_of);
    for (size_t i = 0; churn->by != CHURN_UNKNOWN && i < profile->samples.count; i++) {
        uint32_t number = question_stack(view, i);
        if (number == UINT32_MAX || !has_ended(churn, profile, i))
            continue;
        struct view_stack stack = view_stack(view, number);
        uint32_t frame = stack.count > 0 ? stack.frames[0] : UINT32_MAX;
        uint32_t *place = &row_of[frame < view->frames_count ? frame : view->frames_count];
        if (*place == UINT32_MAX) {
            *place = (uint32_t)churn->count++;
            churn->rows[*place].frame = frame;
        }
        row_add(churn, view, i, &stack, &churn->rows[*place]);
    }
    free(row_of);
    double freed = freed_count(view);
    if (freed >= 0)
        churn->total_ended = freed;
    for (size_t i = 0; i < churn->count; i++)
        churn->rows[i].median_us =
            churn->by == CHURN_AGES ? churn_median_us(churn->rows[i].ended) : -1;
    qsort(churn->rows, churn->count, sizeof *churn->rows, row_order);
    while (churn->count > 0 && churn->rows[churn->count - 1].count == 0)
        churn->count--;
    return true;
}

void churn_free(struct churn *churn)
{
    free(churn->rows);
    churn->rows = NULL;
    churn->count = 0;
}

const char *churn_hint(const struct churn_row *row)
{
    /* Bytes: advice that is safe for any thread's stack. */
    enum { STACK_MAX = 1024 };
    if (row->grows)
        return "grows as it is filled: reserve() its size";
    if (row->median_us > 1000 || row->count < 0.5 * row->all)
        return "";
    if (row->size_min == row->size_max && row->size_max <= STACK_MAX)
        return "one small size: could be on the stack";
    if (row->size_max <= STACK_MAX)
        return "small: a buffer on the stack would do";
    return "reuse one buffer";
}

/* SPDX-License-Identifier: MIT */
/*
 * See tool/report/leaks.h. Which rule applies is decided once, by what the profile knows: a scan, a
 * complete recording that ended normally, moments to compare, or none of these. The shape of a site
 * (once, bounded, linear, growing) is read off its history, where 2 % up or down count as level.
 * Stacks that are suppressed are counted apart, so that their sum can be said.
 */
#include "tool/report/leaks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tool/report/diff.h"
#include "tool/report/question.h"

enum { DEPTH_MAX = 4096 }; /* suppressions look at no more frames of a stack */

/* The moments that rows have a history of. */
struct moments {
    unsigned count;
    unsigned middle; /* the last one in the first half of the time */
    int64_t times_ns[PROFILE_MOMENTS_MAX];
};

static bool rest_make(struct leaks *leaks, const struct view *view);
static bool *samples_suppressed(const struct view *view, const struct suppressions *suppressions);
static bool stack_fits(const struct profile *profile, uint32_t stack,
                       const struct suppressions *suppressions);
static size_t frames_of(const struct profile *profile, uint32_t stack,
                        struct suppressions_frame frames[DEPTH_MAX]);
static struct suppressions_frame frame_unnamed(const struct profile *profile,
                                               const struct profile_location *location,
                                               const char *module);
static void moments_of(struct moments *moments, const struct profile *profile);
static enum leaks_rule rule_of(const struct view *view, const struct leaks_options *options,
                               const struct moments *moments);
static bool is_lost(const struct view *view);
static bool is_exact(const struct profile *profile);
static bool rows_make(struct leaks *leaks, const struct view *view,
                      float (*history)[PROFILE_MOMENTS_MAX]);
static void row_add(struct leaks *leaks, struct leaks_row *row, const struct view *view,
                    size_t stack, float history[PROFILE_MOMENTS_MAX]);
static void rows_keep(struct leaks *leaks, float (*history)[PROFILE_MOMENTS_MAX]);
static bool rows_base(struct leaks *leaks, const struct view *view);
static void row_history(struct leaks_row *row, const struct moments *moments, const float *history);
static double growth_of(const struct leaks_row *row, const struct moments *moments,
                        const float *history);
static enum leaks_shape shape_of(const struct moments *moments, const float *history, bool grew);
static void row_judge(struct leaks_row *row, const struct view *view, enum leaks_rule rule,
                      size_t sites);
static int row_order(const void *left, const void *right);

bool leaks_make(struct leaks *leaks, const struct view *view, const struct leaks_options *options)
{
    struct moments moments;
    size_t room = view->stacks_count + 1;
    float(*history)[PROFILE_MOMENTS_MAX] = calloc(room, sizeof *history);

    moments_of(&moments, view->profile);
    *leaks = (struct leaks){.rule = rule_of(view, options, &moments)};
    leaks->rows = calloc(room, sizeof *leaks->rows);
    leaks->left_out = samples_suppressed(view, options->suppressions);
    bool done = leaks->left_out && history && leaks->rows && rows_make(leaks, view, history) &&
                (!view->base || rows_base(leaks, view));
    done = done && (leaks->rule != LEAKS_LOST || rest_make(leaks, view));
    for (size_t i = 0; done && i < leaks->count; i++) {
        struct leaks_row *row = &leaks->rows[i];
        row_history(row, &moments, history[i]);
        row_judge(row, view, leaks->rule, leaks->count);
        if (row->leak) {
            leaks->found++;
            leaks->found_bytes += row->value.value - (view->base ? row->value.base : 0);
        }
    }
    if (done)
        qsort(leaks->rows, leaks->count, sizeof *leaks->rows, row_order);
    else
        leaks_free(leaks);
    free(history);
    return done;
}

static bool rest_make(struct leaks *leaks, const struct view *view)
{
    leaks->indirect = looks_rows(view, TYPE_INDIRECT_OBJECTS, TYPE_INDIRECT_SPACE, leaks->left_out,
                                 &leaks->indirect_count);
    leaks->forgotten = looks_rows(view, TYPE_FORGOTTEN_OBJECTS, TYPE_FORGOTTEN_SPACE,
                                  leaks->left_out, &leaks->forgotten_count);
    for (size_t i = 0; leaks->forgotten && i < leaks->forgotten_count; i++)
        leaks->forgotten_bytes += leaks->forgotten[i].bytes;
    return leaks->indirect && leaks->forgotten;
}

/* By sample: stacks of the view leave frames out, and may be those of samples that are suppressed
 * and of others. The whole stacks are looked at. */
static bool *samples_suppressed(const struct view *view, const struct suppressions *suppressions)
{
    const struct profile *profile = view->profile;
    bool *left_out = calloc(profile->samples.count + 1, sizeof *left_out);
    uint8_t *known = calloc(profile->stacks.count + 1, 1);
    for (size_t i = 0; left_out && known && i < profile->samples.count; i++) {
        uint32_t stack = profile->samples.stacks[i];
        if (question_stack(view, i) == UINT32_MAX)
            continue;
        if (known[stack] == 0)
            known[stack] = stack_fits(profile, stack, suppressions) ? 2 : 1;
        left_out[i] = known[stack] == 2;
    }
    if (!known) {
        free(left_out);
        left_out = NULL;
    }
    free(known);
    return left_out;
}

/* By stack of the profile: whether it is suppressed. */
static bool stack_fits(const struct profile *profile, uint32_t stack,
                       const struct suppressions *suppressions)
{
    static struct suppressions_frame frames[DEPTH_MAX];
    return suppressions_fit(suppressions, frames, frames_of(profile, stack, frames));
}

/* The frames of a stack, inlined ones among them; beyond some thousand the rest is left out. */
static size_t frames_of(const struct profile *profile, uint32_t stack,
                        struct suppressions_frame frames[DEPTH_MAX])
{
    uint32_t count;
    size_t made = 0;
    const uint32_t *locations = profile_frames_of(profile, stack, &count);
    for (uint32_t i = 0; i < count && made < DEPTH_MAX; i++) {
        const struct profile_location *location = profile_location_at(profile, locations[i]);
        const struct profile_line *lines = profile_lines_of(profile, locations[i]);
        const char *module =
            profile_text(profile, profile_mapping_at(profile, location->mapping)->path);
        bool named = location->lines > 0 && !(location->flags & LOCATION_GUESS);
        for (uint32_t k = 0; k < location->lines && named && made < DEPTH_MAX; k++) {
            const struct profile_function *function =
                profile_function_at(profile, lines[k].function);
            frames[made++] = (struct suppressions_frame){
                .function = profile_text(profile, function->name),
                .system_name = profile_text(profile, function->system_name),
                .file = profile_text(profile, function->file),
                .module = module,
                .line = lines[k].line,
            };
        }
        if (!named)
            frames[made++] = frame_unnamed(profile, location, module);
    }
    return made;
}

/* Places in the module as frames.c has them. */
static struct suppressions_frame frame_unnamed(const struct profile *profile,
                                               const struct profile_location *location,
                                               const char *module)
{
    const struct profile_mapping *mapping = profile_mapping_at(profile, location->mapping);
    struct suppressions_frame frame = {"", "", "", module, 0, 0, 0};
    uint64_t code = location->address - (location->flags & LOCATION_EXACT ? 0 : 1);
    if (location->address == 0 || code < mapping->start)
        return frame;
    uint64_t inside = code - mapping->start;
    frame.offset = inside + mapping->offset;
    frame.start = frame.offset - (inside >= location->behind ? location->behind : 0);
    return frame;
}

static void moments_of(struct moments *moments, const struct profile *profile)
{
    const struct profile_moment *all = profile->moments.items;
    unsigned max = profile->samples.history ? profile->history_moments : 0;
    *moments = (struct moments){0};
    if (max > PROFILE_MOMENTS_MAX)
        max = PROFILE_MOMENTS_MAX;
    for (size_t i = 0; i < profile->moments.count && moments->count < max; i++)
        if (all[i].rows)
            moments->times_ns[moments->count++] = all[i].time_ns;
    for (unsigned i = 1; i + 1 < moments->count; i++)
        if (moments->times_ns[i] <= moments->times_ns[moments->count - 1] / 2)
            moments->middle = i;
}

static enum leaks_rule rule_of(const struct view *view, const struct leaks_options *options,
                               const struct moments *moments)
{
    if (options->rule != LEAKS_AUTO)
        return options->rule;
    if (is_lost(view))
        return LEAKS_LOST;
    if (view->base)
        return LEAKS_GROWTH;
    if (is_exact(view->profile) && view->profile->ended)
        return LEAKS_EXIT;
    return moments->count >= 2 ? LEAKS_GROWTH : LEAKS_NONE;
}

static bool is_lost(const struct view *view)
{
    const struct profile *profile = view->profile;
    return strcmp(profile_text(profile, profile->type[view->options.type].name), TYPE_LOST_SPACE) ==
           0;
}

static bool is_exact(const struct profile *profile)
{
    return profile->period <= 1 && !profile->samples.weights;
}

/* The rows: sites with something live, from the samples that are not suppressed. What a site had on
 * stacks that are gone is part of its history: else memory that moves from one caller to another
 * would look like growth. */
static bool rows_make(struct leaks *leaks, const struct view *view,
                      float (*history)[PROFILE_MOMENTS_MAX])
{
    uint32_t *row_of = malloc((view->frames_count + 1) * sizeof *row_of);
    if (!row_of)
        return false;
    memset(row_of, 0xff, (view->frames_count + 1) * sizeof *row_of);
    for (size_t i = 0; i < view->stacks_count; i++) {
        struct view_stack stack = view_stack(view, i);
        uint32_t frame = stack.count > 0 ? stack.frames[0] : UINT32_MAX;
        uint32_t *place = &row_of[frame < view->frames_count ? frame : view->frames_count];
        if (*place == UINT32_MAX) {
            *place = (uint32_t)leaks->count++;
            leaks->rows[*place] = (struct leaks_row){.frame = frame, .stack = (uint32_t)i};
        }
        row_add(leaks, &leaks->rows[*place], view, i, history[*place]);
    }
    rows_keep(leaks, history);
    free(row_of);
    return true;
}

/* Adds a stack to the row of its site. */
static void row_add(struct leaks *leaks, struct leaks_row *row, const struct view *view,
                    size_t stack, float history[PROFILE_MOMENTS_MAX])
{
    float past[PROFILE_MOMENTS_MAX];
    const bool *left_out = leaks->left_out;
    struct view_value all = view_sum(view, stack), sum = view_sum_without(view, stack, left_out);
    if (all.value > sum.value) {
        leaks->suppressed++;
        leaks->suppressed_bytes += all.value - sum.value;
    }
    for (unsigned k = 0; view_history(view, stack, left_out, past) && k < PROFILE_MOMENTS_MAX; k++)
        history[k] += past[k];
    if (sum.value <= 0)
        return;
    if (row->stacks == 0 || sum.value > view_sum_without(view, row->stack, left_out).value)
        row->stack = (uint32_t)stack;
    view_add(&row->value, &sum);
    row->stacks++;
}

/* Rows with something live, and their history, in front. */
static void rows_keep(struct leaks *leaks, float (*history)[PROFILE_MOMENTS_MAX])
{
    size_t kept = 0;
    for (size_t i = 0; i < leaks->count; i++)
        if (leaks->rows[i].stacks > 0) {
            leaks->rows[kept] = leaks->rows[i];
            memmove(history[kept++], history[i], sizeof *history);
        }
    leaks->count = kept;
}

/* The same places in the base: lines may have moved since. */
static bool rows_base(struct leaks *leaks, const struct view *view)
{
    struct diff diff;
    uint32_t *row_of = calloc(view->frames_count + 1, sizeof *row_of);
    bool done = row_of && diff_make(&diff, view, false);
    for (size_t i = 0; done && i < leaks->count; i++)
        if (leaks->rows[i].frame < view->frames_count)
            row_of[leaks->rows[i].frame] = (uint32_t)i + 1;
    for (size_t i = 0; done && i < diff.count; i++) {
        const struct diff_row *row = &diff.rows[i];
        if (row_of[row->frame] == 0)
            continue;
        struct view_value *value = &leaks->rows[row_of[row->frame] - 1].value;
        value->base = row->value.base;
        value->base_objects = row->value.base_objects;
        value->base_variance = row->value.base_variance;
    }
    if (done)
        diff_free(&diff);
    free(row_of);
    return done;
}

/* What the history of a row says. */
static void row_history(struct leaks_row *row, const struct moments *moments, const float *history)
{
    unsigned last = moments->count - 1;
    row->first_ns = row->last_ns = -1;
    if (moments->count < 2)
        return;
    for (unsigned i = 0; i <= last; i++) {
        float before = i > 0 ? history[i - 1] : 0;
        if (row->first_ns < 0 && history[i] > 0)
            row->first_ns = moments->times_ns[i];
        if (history[i] > before)
            row->last_ns = moments->times_ns[i];
    }
    double grown = growth_of(row, moments, history);
    double seconds = (double)(moments->times_ns[last] - moments->times_ns[moments->middle]) / 1e9;
    row->growth = grown > 0 && seconds > 0 ? grown / seconds : 0;
    row->shape = shape_of(moments, history, grown > 0);
}

/* By how much it grew in the second half; 0: it did not. What comes and goes is no growth, though
 * it may be more at the end than in the middle: it must be more than ever in the first half, by
 * more than it ever fell, and by more than the one block that may have been missing because a
 * snapshot is taken inside of malloc. */
static double growth_of(const struct leaks_row *row, const struct moments *moments,
                        const float *history)
{
    unsigned last = moments->count - 1;
    float highest = 0, fall = 0;
    for (unsigned i = 0; i <= last; i++) {
        if (i <= moments->middle)
            highest = fmaxf(highest, history[i]);
        if (i > 0)
            fall = fmaxf(fall, history[i - 1] - history[i]);
    }
    double grown = (double)history[last] - highest, value = (double)row->value.value;
    double block = row->value.objects > 0 ? value / (double)row->value.objects : 0;
    /* Blocks that are live at both moments are the same: only what came has noise. */
    double share = value > 0 ? fmin(grown / value, 1) : 1;
    bool grew = grown > fall && grown > 1.5 * block && grown > 0.01 * (double)history[last] &&
                grown > question_noise(row->value.variance * share);
    return grew ? grown : 0;
}

static enum leaks_shape shape_of(const struct moments *moments, const float *history, bool grew)
{
    unsigned last = moments->count - 1, steps = 0;
    bool fell = false;
    for (unsigned i = 0; i <= last; i++) {
        float before = i > 0 ? history[i - 1] : 0;
        steps += history[i] > before * 1.02F;
        fell |= history[i] < before * 0.98F;
    }
    if (!grew)
        return steps <= 1 && !fell ? LEAKS_ONCE : LEAKS_BOUNDED;
    double early = history[moments->middle], late = (double)history[last] - early;
    double middle_ns = (double)moments->times_ns[moments->middle];
    double late_ns = (double)moments->times_ns[last] - middle_ns;
    if (middle_ns <= 0 || late_ns <= 0 || early <= 0)
        return LEAKS_GROWING;
    double ratio = (late / late_ns) / (early / middle_ns);
    return !fell && ratio > 0.5 && ratio < 2 ? LEAKS_LINEAR : LEAKS_GROWING;
}

static void row_judge(struct leaks_row *row, const struct view *view, enum leaks_rule rule,
                      size_t sites)
{
    if (strcmp(question_frame(view, row->frame)->name, PROFILE_NOT_SAMPLED) == 0) {
        row->leak = false; /* it is no site, and what of it was sampled before is elsewhere */
        row->growth = 0;
        row->shape = LEAKS_UNKNOWN;
    } else if (rule == LEAKS_EXIT || rule == LEAKS_LOST)
        row->leak = true;
    else if (rule == LEAKS_GROWTH && view->base) {
        row->growth = (double)row->value.value - (double)row->value.base;
        row->leak = row->growth > question_noise_among(
                                      row->value.variance + row->value.base_variance, sites, 0.01);
    } else if (rule == LEAKS_GROWTH) {
        row->leak = row->growth > 0;
    }
}

static int row_order(const void *left, const void *right)
{
    const struct leaks_row *a = left, *b = right;
    if (a->leak != b->leak)
        return a->leak ? -1 : 1;
    int64_t left_size = a->value.value - a->value.base;
    int64_t right_size = b->value.value - b->value.base;
    if (left_size != right_size)
        return left_size > right_size ? -1 : 1;
    return (a->frame > b->frame) - (a->frame < b->frame);
}

void leaks_free(struct leaks *leaks)
{
    free(leaks->indirect);
    free(leaks->forgotten);
    free(leaks->rows);
    free(leaks->left_out);
    *leaks = (struct leaks){0}; /* after a failure both `leaks_make` and its callers free */
}

bool leaks_grows(const struct leaks_row *row)
{
    return row->shape == LEAKS_LINEAR || row->shape == LEAKS_GROWING;
}

const char *leaks_shape_word(enum leaks_shape shape)
{
    static const char *const words[] = {"unknown", "once", "bounded", "linear", "growing"};
    return words[shape];
}

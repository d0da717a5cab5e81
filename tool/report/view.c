/* SPDX-License-Identifier: MIT */
/*
 * See tool/report/view.h. Each stack of a profile is looked at once (path.c); samples with equal
 * frames are one stack of the view (stacks.c), whose numbers are added up whenever they are asked
 * for.
 */
#include "tool/report/view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tool/memory/memory.h"
#include "tool/report/maker.h"
#include "tool/terminal/terminal.h"

static const uint32_t DROPPED = UINT32_MAX;

bool maker_room(struct maker *maker, void *items, size_t item_size, size_t count, size_t *room)
{
    bool ok = list_reserve(items, room, count + 1, item_size);
    maker->failed |= !ok;
    return ok;
}

/* Rows for all frames that there are by now. */
static bool rows_room(struct maker *maker)
{
    struct view *view = maker->view;
    size_t used = view->rows_count, room = maker->frames_room;
    if (view->frames_count <= used)
        return true;
    if (!list_resize(&view->rows, room, sizeof *view->rows) ||
        !list_resize(&maker->seen, room, sizeof *maker->seen))
        return false;
    memset(view->rows + used, 0, (room - used) * sizeof *view->rows);
    memset(maker->seen + used, 0, (room - used) * sizeof *maker->seen);
    view->rows_count = room;
    return true;
}

/* One sample of a view without stacks. */
static void row_add(struct maker *maker, struct source *source, size_t sample,
                    const struct view_value *value)
{
    const struct profile_samples *samples = &source->profile->samples;
    size_t before = source->base ? maker->view->profile->samples.count : 0;
    struct path *path = maker->paths[0];
    if (!path_make(maker, source, samples->stacks[sample], path))
        return;
    if (!rows_room(maker)) {
        maker->failed = true;
        return;
    }
    rows_add(maker->view->rows, maker->seen, before + sample, path->frames + path->start,
             path->count, value,
             source->base || !samples->history ? NULL : samples->history[sample]);
    view_add(&maker->view->total, value);
    maker->view->kept++;
}

/* ---- samples ---------------------------------------------------------------------------- */

static int64_t scaled(double value)
{
    static const double max = 9e18;
    return value > max ? (int64_t)max : value < -max ? (int64_t)-max : (int64_t)llround(value);
}

static struct view_value sample_value(const struct maker *maker, const struct source *source,
                                      size_t row)
{
    const struct profile_samples *samples = &source->profile->samples;
    double share = filter_age_share(&maker->options, source->profile, row) * source->factor;
    double value = source->type >= 0 ? (double)samples->values[source->type][row] : 0;
    double objects = source->partner >= 0 ? (double)samples->values[source->partner][row] : 0;
    bool whole = share == 1;
    int64_t number = source->type < 0 ? 0
                     : whole          ? samples->values[source->type][row]
                                      : scaled(value * share);
    int64_t number_objects = source->partner < 0 ? 0
                             : whole             ? samples->values[source->partner][row]
                                                 : scaled(objects * share);
    struct spread spread = {0};
    if (source->sampled) {
        struct spread_sample sample =
            spread_sample(source->profile, source->type, source->partner, row);
        spread = spread_of(&source->classes, &sample, samples->label_sets[row], share);
    }
    double variance = spread_variance(&spread);
    if (source->base)
        return (struct view_value){.base = number,
                                   .base_objects = number_objects,
                                   .base_variance = variance,
                                   .base_spread = spread};
    return (struct view_value){
        .value = number, .objects = number_objects, .variance = variance, .spread = spread};
}

void view_add(struct view_value *sum, const struct view_value *more)
{
    sum->value = (int64_t)((uint64_t)sum->value + (uint64_t)more->value);
    sum->objects = (int64_t)((uint64_t)sum->objects + (uint64_t)more->objects);
    sum->base = (int64_t)((uint64_t)sum->base + (uint64_t)more->base);
    sum->base_objects = (int64_t)((uint64_t)sum->base_objects + (uint64_t)more->base_objects);
    if (more->spread.raw > 0) {
        spread_add(&sum->spread, &more->spread);
        sum->variance = spread_variance(&sum->spread);
    }
    if (more->base_spread.raw > 0) {
        spread_add(&sum->base_spread, &more->base_spread);
        sum->base_variance = spread_variance(&sum->base_spread);
    }
}

/* Whether all of its blocks have one size. */
static bool has_size(const struct view *view, size_t stack)
{
    uint32_t sample = view->maker->first[stack];
    return profile_label_of(view->profile, view->profile->samples.label_sets[sample],
                            LABEL_BLOCK_BYTES) != NULL;
}

struct view_value view_sum(const struct view *view, size_t stack)
{
    struct exact_row *const *counted = view->maker->counted;
    struct view_value sum = view_sum_without(view, stack, NULL);
    if (view->maker->sizes_counted && has_size(view, stack))
        return (struct view_value){.value = sum.value, .objects = sum.objects};
    if (!counted[0])
        return sum;
    sum.value = counted[0][stack].value;
    sum.objects = counted[1] ? counted[1][stack].value : sum.objects;
    if (counted[0][stack].exact)
        sum = (struct view_value){.value = sum.value, .objects = sum.objects};
    return sum;
}

struct view_value view_sum_without(const struct view *view, size_t stack, const bool *left_out)
{
    struct maker *maker = view->maker;
    struct view_value sum = {0};
    uint32_t sample = maker->first[stack];
    do {
        size_t row;
        const struct source *source = stacks_source(maker, sample, &row);
        struct view_value value = sample_value(maker, source, row);
        if (!left_out || sample >= view->profile->samples.count || !left_out[sample])
            view_add(&sum, &value);
        sample = maker->next ? maker->next[sample] : UINT32_MAX;
    } while (sample != UINT32_MAX);
    return sum;
}

bool view_history(const struct view *view, size_t stack, const bool *left_out,
                  float history[PROFILE_MOMENTS_MAX])
{
    const struct maker *maker = view->maker;
    const struct profile_samples *samples = &view->profile->samples;
    if (!samples->history)
        return false;
    memset(history, 0, PROFILE_MOMENTS_MAX * sizeof *history);
    uint32_t sample = maker->first[stack];
    while (sample < samples->count) { /* the base's are behind them */
        for (unsigned k = 0; k < PROFILE_MOMENTS_MAX && !(left_out && left_out[sample]); k++)
            history[k] += samples->history[sample][k];
        sample = maker->next ? maker->next[sample] : UINT32_MAX;
    }
    return true;
}

/* ---- making ----------------------------------------------------------------------------- */

/* Whether some stack is that of several samples. */
static bool has_twins(const struct profile *profile)
{
    const struct profile_samples *samples = &profile->samples;
    uint8_t *seen = calloc(profile->stacks.count / 8 + 1, 1);
    bool twins = !seen;
    for (size_t i = 0; i < samples->count && !twins; i++) {
        uint8_t *place = &seen[samples->stacks[i] / 8],
                bit = (uint8_t)(1 << samples->stacks[i] % 8);
        twins = (*place & bit) != 0;
        *place |= bit;
    }
    free(seen);
    return twins;
}

/* The stack of a sample. *known is what became of its stack in the profile: the number + 2. */
static uint32_t sample_stack(struct maker *maker, struct source *source, uint32_t sample,
                             uint32_t *known)
{
    const struct profile_samples *samples = &source->profile->samples;
    struct path *path = maker->paths[0];
    size_t row;
    stacks_source(maker, sample, &row);
    if (*known == 0) {
        bool kept = path_make(maker, source, samples->stacks[row], path);
        *known = 2 + (!kept           ? DROPPED
                      : maker->labels ? 0 /* its label says where it belongs */
                                      : stacks_intern(maker, path, sample));
    }
    if (*known - 2 == DROPPED || !maker->labels)
        return *known - 2;
    return path_of_sample(maker, source, row, path) ? stacks_intern(maker, path, sample) : DROPPED;
}

static bool source_add(struct maker *maker, struct source *source)
{
    struct view *view = maker->view;
    const struct profile_samples *samples = &source->profile->samples;
    size_t before = source->base ? view->profile->samples.count : 0;
    bool stacks = !maker->options.rows_only, twins = stacks && has_twins(source->profile);
    uint32_t once, *known = twins ? calloc(source->profile->stacks.count + 1, sizeof *known) : NULL;
    maker->failed |= twins && !known;
    bool stopped = false;
    for (size_t i = 0; i < samples->count && !maker->failed && !stopped; i++) {
        stopped = terminal_is_stopped();
        struct view_value value = sample_value(maker, source, i);
        view_add(&view->whole, &value);
        bool kept = filter_sample(maker, source, i);
        if (!stacks) {
            if (kept)
                row_add(maker, source, i, &value);
            continue;
        }
        uint32_t number = (uint32_t)(before + i);
        uint32_t *place = known ? &known[samples->stacks[i]] : &once, stack = DROPPED;
        once = 0;
        if (kept)
            stack = sample_stack(maker, source, number, place);
        view->sample_stacks[number] = stack;
        if (stack != DROPPED) {
            view_add(&view->total, &value);
            view->kept++;
        }
    }
    free(known);
    if (stopped)
        return view_refuse(maker->error, "stopped");
    return !maker->failed || view_out_of_memory(maker->error);
}

static bool source_run(struct maker *maker, const struct profile *profile, bool base)
{
    const struct view_options *options = &maker->options;
    const struct profile *main = maker->view->profile;
    struct source *source = &maker->sources[base];
    *source = (struct source){.profile = profile, .base = base, .factor = 1};
    source->type = (int)options->type;
    if (base) {
        source->type =
            profile_type_named(profile, profile_text(main, main->type[options->type].name));
        source->factor = options->base_factor != 0 ? options->base_factor : 1;
    }
    source->partner =
        source->type >= 0 ? profile_type_partner(profile, (unsigned)source->type) : -1;
    if (source->partner >= 0 && profile_unit(profile, profile->type[source->partner]) != UNIT_COUNT)
        source->partner = -1; /* the column itself is what counts */
    source->sampled = source->type >= 0 && (profile->samples.weights ||
                                            profile_type_timed(profile, (unsigned)source->type));
    if (!spread_start(&source->classes, profile, source->type, source->partner))
        return view_out_of_memory(maker->error);
    return filter_source(maker, source) && source_add(maker, source);
}

/* The sum of all samples is counted; so is what filters leave, if that is all. */
static void totals_settle(struct view *view)
{
    const struct view_options *options = &view->options;
    struct view_value *whole = &view->whole, *total = &view->total;
    if (options->age_min_us > 0 || options->age_max_us > 0)
        return;
    if (view->profile->counted) {
        whole->variance = 0;
        if (total->value == whole->value && total->objects == whole->objects)
            total->variance = 0;
    }
    if (view->base && view->base->counted) {
        whole->base_variance = 0;
        if (total->base == whole->base && total->base_objects == whole->base_objects)
            total->base_variance = 0;
    }
}

/* A stack may be that of several threads with one name. */
static bool counted_make(struct maker *maker, const char *type, struct exact_row **counted)
{
    const struct view *view = maker->view;
    const struct profile *profile = view->profile;
    const struct profile_samples *samples = &profile->samples;
    int column = profile_type_named(profile, type);
    size_t count = 0, most = samples->count + 1;
    struct keys known = {0};
    struct exact_row *rows = calloc(most, sizeof *rows);
    uint32_t *stack_of = calloc(most, sizeof *stack_of);
    bool ok = rows && stack_of, fresh;
    *counted = calloc(view->stacks_count + 1, sizeof **counted);
    for (size_t i = 0; i < samples->count && column >= 0 && ok; i++) {
        int64_t id = profile_exact_thread(profile, samples->label_sets[i]);
        uint32_t stack = view->sample_stacks[i];
        uint32_t number = keys_add(&known, (struct key){{(uint64_t)id, stack, 0}}, &fresh);
        ok = number != KEYS_NONE;
        if (ok && fresh) {
            rows[number].id = id;
            stack_of[number] = stack;
            count++;
        }
        if (ok)
            rows[number].value += samples->values[column][i];
    }
    bool exact = ok && *counted && profile_exact_threads(profile, type, rows, count);
    for (size_t i = 0; exact && i < view->stacks_count; i++)
        (*counted)[i].exact = true;
    for (size_t i = 0; exact && i < count; i++) {
        (*counted)[stack_of[i]].value += rows[i].value;
        (*counted)[stack_of[i]].exact &= rows[i].exact;
    }
    ok = ok && *counted;
    if (!exact) {
        free(*counted);
        *counted = NULL;
    }
    keys_free(&known);
    free(rows);
    free(stack_of);
    return ok;
}

/* Without a filter, the row of a thread is all that it has allocated, and that of a size all blocks
 * of a class. */
static bool rows_count(struct maker *maker)
{
    const struct view *view = maker->view;
    const struct profile *profile = view->profile;
    const struct view_options *options = &maker->options;
    const struct source *source = maker->sources;
    bool whole = view->kept == profile->samples.count && !view->base && source->sampled &&
                 options->age_min_us == 0 && options->age_max_us == 0;
    maker->sizes_counted = whole && options->by == VIEW_SIZE && profile->counted && !view->timed;
    if (!whole || options->by != VIEW_THREAD)
        return true;
    const char *type = profile_text(profile, profile->type[source->type].name);
    if (!counted_make(maker, type, &maker->counted[0]))
        return false;
    return !maker->counted[0] || source->partner < 0 ||
           counted_make(maker, profile_text(profile, profile->type[source->partner].name),
                        &maker->counted[1]);
}

/* Room for what is by sample and does not grow. */
static bool maker_start(struct maker *maker)
{
    const struct view *view = maker->view;
    size_t samples = view->profile->samples.count + (view->base ? view->base->samples.count : 0);
    maker->paths[0] = malloc(sizeof *maker->paths[0]);
    maker->paths[1] = malloc(sizeof *maker->paths[1]);
    bool ok = maker->paths[0] && maker->paths[1] && samples < DROPPED;
    if (ok && !maker->options.rows_only) {
        size_t stacks = view->profile->stacks.count + (view->base ? view->base->stacks.count : 0);
        maker->view->sample_stacks = malloc((samples + 1) * sizeof *view->sample_stacks);
        ok = view->sample_stacks && map_start(&maker->stacks, maker->labels ? 0 : stacks);
    }
    return ok || view_out_of_memory(maker->error);
}

bool view_make(struct view *view, const struct profile *profile, const struct view_options *options,
               struct view_error *error)
{
    memset(view, 0, sizeof *view);
    view->profile = profile;
    view->base = options->base;
    view->options = *options;
    view->unit = UNIT_COUNT;
    view->unit_name = value_unit_name(view->unit);
    if (profile->types == 0)
        return view_refuse(error, "the profile has no values");
    if (options->type >= profile->types)
        return view_refuse(error, "the profile has no column %u", options->type);
    view->unit = profile_unit(profile, profile->type[options->type]);
    view->unit_name = profile_text(profile, profile->type[options->type].unit);
    struct maker *maker = calloc(1, sizeof *maker);
    if (!maker)
        return view_out_of_memory(error);
    *maker = (struct maker){.view = view, .options = *options, .error = error};
    view->maker = maker;
    maker->labels = view_by_has(options->by, BY_SAMPLES);
    maker->options.rows_only &= !maker->labels;
    view->timed = profile_type_timed(profile, options->type);
    view->waited = profile_type_waited(profile, options->type);
    maker->fold = options->frames != VIEW_ALL &&
                  (view->timed ? options->fold_time
                   : profile->kind == PROFILE_OTHER
                       ? view->unit == UNIT_BYTES
                       : profile->kind == PROFILE_HEAP || profile->kind == PROFILE_GROWTH ||
                             (view->waited && profile->traits & TRAIT_CAPTURE));
    maker->enter = view->timed && !maker->fold && options->frames == VIEW_BLAME &&
                   options->by != VIEW_ADDRESS && options->by != VIEW_LINE;
    view->folds = maker->fold;
    bool ok = filter_start(maker) && maker_start(maker) && source_run(maker, profile, false) &&
              (!options->base || source_run(maker, options->base, true)) &&
              (maker->options.rows_only || stacks_link(maker) || view_out_of_memory(error));
    ok = ok && (rows_count(maker) || view_out_of_memory(error));
    view->unnamed = 1 - profile_names_share(profile);
    free(maker->seen);
    maker->seen = NULL;
    totals_settle(view);
    if (!ok)
        view_free(view);
    return ok;
}

void maker_clear(struct maker *maker)
{
    arena_free(&maker->texts);
    filter_free(maker);
    for (unsigned i = 0; i < 2; i++) {
        filter_source_free(&maker->sources[i]);
        spread_free(&maker->sources[i].classes);
        free(maker->paths[i]);
        free(maker->counted[i]);
    }
    free(maker->items);
    free(maker->first);
    free(maker->next);
    free(maker->seen);
    map_free(&maker->frames);
    map_free(&maker->stacks);
}

void view_free(struct view *view)
{
    if (view->maker)
        maker_clear(view->maker);
    free(view->maker);
    free(view->frames);
    free(view->rows);
    free(view->sample_stacks);
    memset(view, 0, sizeof *view);
}

double view_error_share(int64_t value, double variance)
{
    static const double deviations = 1.96; /* 95 of 100 cases */
    return value != 0 && variance > 0 ? deviations * sqrt(variance) / fabs((double)value) : 0;
}

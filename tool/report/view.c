/* SPDX-License-Identifier: MIT */
/*
 * See tool/report/view.h. Each stack of a profile is turned into a path of frames once; samples
 * then only add their numbers. Equal paths are one stack of the view.
 *
 * The order of things is pprof's: focus and ignore look at whole stacks, show and hide take frames
 * out, from and prune cut. Then, at the leaf, library frames go to their caller; they stay before
 * the path (view->path[first - folded]) for who wants to see them.
 */
#include "tool/report/view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tool/report/parts.h"

enum { DROPPED = UINT32_MAX };

uint64_t maker_hash(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

bool maker_room(struct maker *maker, void *items, size_t item_size, size_t count, size_t *room)
{
    void **place = items;
    if (count < *room)
        return true;
    size_t more = *room < 64 ? 64 : *room + *room / 2;
    void *moved = realloc(*place, more * item_size);
    if (!moved) {
        maker->failed = true;
        return false;
    }
    *place = moved;
    *room = more;
    return true;
}

/* ---- stacks ----------------------------------------------------------------------------- */

static uint64_t path_hash(const uint32_t *path, uint32_t count)
{
    uint64_t hash = count;
    for (uint32_t i = 0; i < count; i++)
        hash = maker_hash(hash, path[i]);
    return hash;
}

static bool stack_slots_grow(struct maker *maker)
{
    const struct view *view = maker->view;
    size_t count = maker->stack_slots_count == 0 ? 1024 : 2 * maker->stack_slots_count;
    uint32_t *slots = calloc(count, sizeof *slots);
    if (!slots)
        return false;
    for (size_t i = 0; i < view->stacks_count; i++) {
        const struct view_stack *stack = &view->stacks[i];
        size_t at = path_hash(view->path + stack->first, stack->count) & (count - 1);
        while (slots[at] != 0)
            at = (at + 1) & (count - 1);
        slots[at] = (uint32_t)i + 1;
    }
    free(maker->stack_slots);
    maker->stack_slots = slots;
    maker->stack_slots_count = count;
    return true;
}

/* The stack of a path, whose `folded` frames are before it; view->path is `used` long. */
static uint32_t stack_intern(struct maker *maker, const uint32_t *path, uint32_t count,
                             uint32_t folded, uint64_t *used)
{
    struct view *view = maker->view;
    if (view->stacks_count * 2 >= maker->stack_slots_count && !stack_slots_grow(maker)) {
        maker->failed = true;
        return DROPPED;
    }
    size_t mask = maker->stack_slots_count - 1;
    size_t at = path_hash(path, count) & mask;
    for (; maker->stack_slots[at] != 0; at = (at + 1) & mask) {
        const struct view_stack *there = &view->stacks[maker->stack_slots[at] - 1];
        if (there->count == count &&
            (count == 0 || memcmp(view->path + there->first, path, count * sizeof *path) == 0))
            return maker->stack_slots[at] - 1;
    }
    while (*used + folded + count > maker->path_room)
        if (!maker_room(maker, &view->path, sizeof *path, maker->path_room, &maker->path_room))
            return DROPPED;
    if (!maker_room(maker, &view->stacks, sizeof *view->stacks, view->stacks_count,
                    &maker->stacks_room))
        return DROPPED;
    if (folded + count > 0)
        memcpy(view->path + *used, path - folded, (folded + count) * sizeof *path);
    struct view_stack *stack = &view->stacks[view->stacks_count++];
    memset(stack, 0, sizeof *stack);
    stack->first = *used + folded;
    stack->count = count;
    stack->folded = folded;
    *used += folded + count;
    maker->stack_slots[at] = (uint32_t)view->stacks_count;
    return (uint32_t)view->stacks_count - 1;
}

/* All frames of a stack. False: a filter drops it. */
static bool path_fill(struct maker *maker, struct source *source, uint32_t stack, struct path *path)
{
    uint32_t count, focus = 0;
    const uint32_t *locations = profile_frames_of(source->profile, stack, &count);
    uint32_t wanted = ((UINT32_C(1) << maker->focus_count) - 1) |
                      (maker->module.code ? UINT32_C(1) << FOCUS_MOST : 0);
    bool ignored = false;
    path->count = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct expansion *expansion = frames_expand(maker, source, locations[i]);
        if (!expansion)
            return false;
        focus |= expansion->focus;
        ignored = ignored || expansion->ignore;
        for (uint32_t k = 0; k < expansion->count && path->count < PATH_MOST; k++)
            path->items[path->count++] = maker->items[expansion->first + k];
    }
    return !ignored && (focus & wanted) == wanted;
}

/* --from: what is above the outermost fit goes, without one the stack does; --prune: what is below
 * the innermost fit. */
static bool path_cut(const struct maker *maker, struct path *path)
{
    if (maker->from.code) {
        while (path->count > 0 && !(path->items[path->count - 1].bits & ITEM_FROM))
            path->count--;
        if (path->count == 0)
            return false;
    }
    for (uint32_t i = 0; maker->prune.code && i < path->count; i++)
        if (path->items[i].bits & ITEM_PRUNE) {
            path->count -= i;
            memmove(path->items, path->items + i, path->count * sizeof *path->items);
            break;
        }
    return path->count > 0 || !(maker->show.code || maker->hide.code);
}

bool path_filter(struct maker *maker, struct source *source, uint32_t stack, struct path *path)
{
    return path_fill(maker, source, stack, path) && path_cut(maker, path);
}

/* The path of a stack of the profile; *folded frames at its leaf belong to their caller. False: a
 * filter drops it. */
static bool path_make(struct maker *maker, struct source *source, uint32_t stack, struct path *path,
                      uint32_t *folded)
{
    if (!path_filter(maker, source, stack, path))
        return false;
    for (uint32_t i = 0; i < path->count; i++) {
        path->frames[i] = path->items[i].frame;
        path->unnamed += (path->items[i].bits & ITEM_UNNAMED) != 0;
    }
    path->all += path->count;
    *folded = frames_fold(maker, path->items, path->count);
    return true;
}

/* The view's stack for a stack of the profile. */
static uint32_t stack_make(struct maker *maker, struct source *source, uint32_t stack,
                           struct path *path)
{
    uint32_t folded;
    if (!path_make(maker, source, stack, path, &folded))
        return DROPPED;
    if (maker->options.by == VIEW_THREAD || maker->options.by == VIEW_SIZE)
        return 0; /* its label says where it belongs */
    return stack_intern(maker, path->frames + folded, path->count - folded, folded, &path->used);
}

/* Rows for all frames that there are by now. */
static bool rows_room(struct maker *maker)
{
    struct view *view = maker->view;
    size_t used = view->rows_count, room = maker->frames_room;
    if (view->frames_count <= used)
        return true;
    struct view_row *rows = realloc(view->rows, room * sizeof *rows);
    if (!rows)
        return false;
    view->rows = rows;
    size_t *seen = realloc(maker->seen, room * sizeof *seen);
    if (!seen)
        return false;
    maker->seen = seen;
    memset(rows + used, 0, (room - used) * sizeof *rows);
    memset(seen + used, 0, (room - used) * sizeof *seen);
    view->rows_count = room;
    return true;
}

/* One sample of a view without stacks. */
static void row_add(struct maker *maker, struct source *source, size_t sample, struct path *path,
                    const struct view_value *value)
{
    const struct profile_samples *samples = &source->profile->samples;
    size_t before = source->base ? maker->view->profile->samples.count : 0;
    uint32_t folded;
    if (!path_make(maker, source, samples->stacks[sample], path, &folded))
        return;
    if (!rows_room(maker)) {
        maker->failed = true;
        return;
    }
    rows_add(maker->view->rows, maker->seen, before + sample, path->frames + folded,
             path->count - folded, value,
             source->base || !samples->history ? NULL : samples->history[sample]);
    view_add(&maker->view->total, value);
}

/* ---- samples ---------------------------------------------------------------------------- */

static int64_t scaled(double value)
{
    static const double most = 9e18;
    return value > most ? (int64_t)most : value < -most ? (int64_t)-most : (int64_t)llround(value);
}

static struct view_value sample_value(const struct maker *maker, const struct source *source,
                                      size_t row)
{
    const struct profile_samples *samples = &source->profile->samples;
    double share = filter_age_share(maker, source, row) * source->factor;
    double value = source->type >= 0 ? (double)samples->values[source->type][row] : 0;
    double objects = source->partner >= 0 ? (double)samples->values[source->partner][row] : 0;
    double weight = samples->weights ? (double)samples->weights[row] : 1, variance = 0;
    double picked = fabs(source->partner >= 0 ? objects : value) / (weight > 1 ? weight : 1);
    if (weight > 1 && picked > 0)
        variance = value * value * (1 - 1 / weight) / picked * share * share;
    bool whole = share == 1;
    int64_t number = source->type < 0 ? 0
                     : whole          ? samples->values[source->type][row]
                                      : scaled(value * share);
    int64_t number_objects = source->partner < 0 ? 0
                             : whole             ? samples->values[source->partner][row]
                                                 : scaled(objects * share);
    if (source->base)
        return (struct view_value){
            .base = number, .base_objects = number_objects, .base_variance = variance};
    return (struct view_value){.value = number, .objects = number_objects, .variance = variance};
}

void view_add(struct view_value *sum, const struct view_value *more)
{
    sum->value = (int64_t)((uint64_t)sum->value + (uint64_t)more->value);
    sum->objects = (int64_t)((uint64_t)sum->objects + (uint64_t)more->objects);
    sum->base = (int64_t)((uint64_t)sum->base + (uint64_t)more->base);
    sum->base_objects = (int64_t)((uint64_t)sum->base_objects + (uint64_t)more->base_objects);
    sum->variance += more->variance;
    sum->base_variance += more->base_variance;
}

static bool source_add(struct maker *maker, struct source *source, struct path *path)
{
    struct view *view = maker->view;
    const struct profile_samples *samples = &source->profile->samples;
    bool labels = maker->options.by == VIEW_THREAD || maker->options.by == VIEW_SIZE;
    uint32_t *made = calloc(source->profile->stacks.count + 1, sizeof *made); /* stack + 2 */
    for (size_t i = 0; i < samples->count && made && !maker->failed; i++) {
        struct view_value value = sample_value(maker, source, i);
        uint32_t number = samples->stacks[i], set = samples->label_sets[i];
        view_add(&view->whole, &value);
        if (!source->base)
            view->sample_stacks[i] = DROPPED;
        if (!filter_set(maker, source, set))
            continue;
        if (maker->options.rows_only) {
            row_add(maker, source, i, path, &value);
            continue;
        }
        if (made[number] == 0)
            made[number] = stack_make(maker, source, number, path) + 2;
        uint32_t stack = made[number] - 2;
        if (stack != DROPPED && labels) {
            path->frames[0] = frames_of_set(maker, source, set);
            stack = stack_intern(maker, path->frames, 1, 0, &path->used);
        }
        if (stack == DROPPED || maker->failed)
            continue;
        if (!source->base)
            view->sample_stacks[i] = stack;
        view_add(&view->stacks[stack].sum, &value);
        view_add(&view->total, &value);
        for (unsigned k = 0; !source->base && samples->history && k < PROFILE_MOMENTS_MOST; k++)
            view->stacks[stack].history[k] += samples->history[i][k];
    }
    if (!made)
        maker->failed = true;
    free(made);
    return !maker->failed || view_refuse(maker->error, "out of memory");
}

static bool source_run(struct maker *maker, const struct profile *profile, bool base,
                       struct path *path)
{
    const struct view_options *options = &maker->options;
    const struct profile *main = maker->view->profile;
    struct source source = {.profile = profile, .base = base, .factor = 1};
    source.type = (int)options->type;
    if (base) {
        source.type =
            profile_type_named(profile, profile_text(main, main->type[options->type].name));
        source.factor = options->base_factor != 0 ? options->base_factor : 1;
    }
    source.partner = source.type >= 0 ? profile_type_partner(profile, (unsigned)source.type) : -1;
    if (source.partner >= 0 &&
        strcmp(profile_text(profile, profile->type[source.partner].unit), "count") != 0)
        source.partner = -1; /* the column itself is what counts */
    bool right = filter_source(maker, &source) && source_add(maker, &source, path);
    filter_source_free(&source);
    return right;
}

bool view_make(struct view *view, const struct profile *profile, const struct view_options *options,
               struct view_error *error)
{
    memset(view, 0, sizeof *view);
    view->profile = profile;
    view->base = options->base;
    view->options = *options;
    view->unit = "count";
    if (profile->types == 0)
        return view_refuse(error, "the profile has no values");
    if (options->type >= profile->types)
        return view_refuse(error, "the profile has no column %u", options->type);
    view->unit = profile_text(profile, profile->type[options->type].unit);
    struct maker maker = {.view = view, .options = *options, .error = error};
    maker.options.rows_only &= options->by != VIEW_THREAD && options->by != VIEW_SIZE;
    struct path *path = calloc(1, sizeof *path);
    maker.fold = options->frames != VIEW_ALL &&
                 (profile->kind == PROFILE_HEAP || profile->kind == PROFILE_GROWTH ||
                  (profile->kind == PROFILE_OTHER && strcmp(view->unit, "bytes") == 0));
    view->sample_stacks = malloc((profile->samples.count + 1) * sizeof *view->sample_stacks);
    bool right = false;
    if (!path || !view->sample_stacks)
        view_refuse(error, "out of memory");
    else
        right = filter_start(&maker) && source_run(&maker, profile, false, path) &&
                (!options->base || source_run(&maker, options->base, true, path));
    view->unnamed = path && path->all > 0 ? (double)path->unnamed / (double)path->all : 0;
    view->keep = maker.texts;
    filter_free(&maker);
    free(maker.items);
    free(maker.frame_slots);
    free(maker.stack_slots);
    free(maker.seen);
    free(path);
    if (!right)
        view_free(view);
    return right;
}

void view_free(struct view *view)
{
    for (struct texts *texts = view->keep, *next; texts; texts = next) {
        next = texts->next;
        free(texts);
    }
    free(view->frames);
    free(view->path);
    free(view->stacks);
    free(view->rows);
    free(view->sample_stacks);
    memset(view, 0, sizeof *view);
}

double view_error_share(int64_t value, double variance)
{
    static const double deviations = 1.96; /* 95 of 100 cases */
    return value != 0 && variance > 0 ? deviations * sqrt(variance) / fabs((double)value) : 0;
}

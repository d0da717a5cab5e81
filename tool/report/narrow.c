/* SPDX-License-Identifier: MIT */
/*
 * See tool/report/narrow.h. A location that loses some of its lines, because of a pattern or a cut,
 * becomes another one with the same address: one for each piece of its lines that is met.
 */
#include "tool/report/narrow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tool/report/maker.h"

enum { NOT_YET, DROPPED, KEPT }; /* a stack: KEPT + its new number */

/* A piece of a location: the lines from `first` to `last` that no pattern hides. */
struct piece {
    uint32_t next; /* of the same location: + 1 */
    uint32_t first, last, made;
};

struct narrowing {
    struct profile *profile;
    struct maker maker;
    struct source *source; /* of it */
    struct view view;
    struct path path;
    uint32_t *heads; /* by location: its first piece + 1 */
    struct piece *pieces;
    size_t pieces_count, pieces_room;
    struct item items[PATH_MAX]; /* of the path */
    uint32_t locations[PATH_MAX];
    bool changed;
};

static bool wanted(const struct view_options *options);
static void rows_narrow(struct narrowing *it, uint32_t *made);
static uint32_t stack_narrow(struct narrowing *it, uint32_t stack);
static uint32_t piece_of(struct narrowing *it, const struct item *items, uint32_t count);
static uint32_t piece_make(struct narrowing *it, const struct item *items, uint32_t count);
static void row_scale(struct narrowing *it, size_t row, double share);
static void row_move(struct profile_samples *samples, unsigned types, size_t from, size_t to);
static void whole_forget(struct profile *profile);

bool narrow(struct profile *profile, const struct view_options *options, struct view_error *error)
{
    if (!wanted(options))
        return true;
    struct narrowing *it = calloc(1, sizeof *it);
    if (!it)
        return view_out_of_memory(error);
    it->profile = profile;
    it->view.profile = profile;
    it->maker = (struct maker){.view = &it->view, .options = *options, .error = error};
    it->maker.options.by = VIEW_ADDRESS;
    it->source = &it->maker.sources[0];
    *it->source = (struct source){.profile = profile, .factor = 1};
    it->heads = calloc(profile->locations.count + 1, sizeof *it->heads);
    uint32_t *made = calloc(profile->stacks.count + 1, sizeof *made);
    bool ok = filter_start(&it->maker) && filter_source(&it->maker, it->source);
    if (ok && it->heads && made)
        rows_narrow(it, made);
    if (ok && (!it->heads || !made || it->maker.failed || profile->failed))
        ok = view_out_of_memory(error);
    if (ok && it->changed)
        whole_forget(profile);
    maker_clear(&it->maker);
    view_free(&it->view);
    free(it->pieces);
    free(it->heads);
    free(made);
    free(it);
    return ok;
}

static bool wanted(const struct view_options *options)
{
    return (options->focus && options->focus[0]) || (options->ignore && options->ignore[0]) ||
           options->show || options->hide || options->from || options->prune || options->thread ||
           options->module || options->size_min || options->size_max || options->age_min_us ||
           options->age_max_us || options->tag_focus || options->tag_ignore || options->no_inlines;
}

static void rows_narrow(struct narrowing *it, uint32_t *made)
{
    struct profile *profile = it->profile;
    struct profile_samples *samples = &profile->samples;
    size_t kept = 0;
    for (size_t i = 0; i < samples->count; i++) {
        uint32_t stack = samples->stacks[i];
        double share = filter_age_share(&it->maker.options, it->source->profile, i);
        if (!filter_sample(&it->maker, it->source, i) || share == 0)
            continue;
        if (made[stack] == NOT_YET)
            made[stack] = stack_narrow(it, stack);
        if (made[stack] == DROPPED)
            continue;
        if (it->maker.failed || profile->failed)
            return;
        samples->stacks[i] = made[stack] - KEPT;
        if (it->maker.options.age_min_us > 0 || it->maker.options.age_max_us > 0)
            row_scale(it, i, share);
        row_move(samples, profile->types, i, kept++);
    }
    it->changed = it->changed || kept < samples->count;
    samples->count = kept;
}

/* What is left of a stack: its number + KEPT. Of one location called by itself, lines begin anew
 * with each call. */
static uint32_t stack_narrow(struct narrowing *it, uint32_t stack)
{
    struct path *path = &it->path;
    uint32_t count = 0, before;
    if (!path_filter(&it->maker, it->source, stack, path))
        return DROPPED;
    for (uint32_t i = 0; i < path->count; i++)
        it->items[i] = it->maker.items[path->items[path->start + i]];
    for (uint32_t i = 0, end; i < path->count; i = end) {
        for (end = i + 1; end < path->count && it->items[end].location == it->items[i].location &&
                          it->items[end].line > it->items[end - 1].line;)
            end++;
        it->locations[count++] = piece_of(it, it->items + i, end - i);
    }
    const uint32_t *frames = profile_frames_of(it->profile, stack, &before);
    if (before >= PATH_MAX)
        return KEPT + stack; /* too long to be looked at whole */
    if (count == before &&
        (count == 0 || memcmp(frames, it->locations, count * sizeof *frames) == 0))
        return KEPT + stack;
    it->changed = true;
    return KEPT + profile_stack(it->profile, it->locations, count);
}

/* The location that has just the lines of some items. */
static uint32_t piece_of(struct narrowing *it, const struct item *items, uint32_t count)
{
    uint32_t number = items[0].location, first = items[0].line, last = items[count - 1].line;
    if (count >= profile_location_at(it->profile, number)->lines)
        return number;
    for (uint32_t i = it->heads[number]; i != 0; i = it->pieces[i - 1].next)
        if (it->pieces[i - 1].first == first && it->pieces[i - 1].last == last)
            return it->pieces[i - 1].made;
    uint32_t made = piece_make(it, items, count);
    if (!maker_room(&it->maker, &it->pieces, sizeof *it->pieces, it->pieces_count,
                    &it->pieces_room))
        return 0;
    it->pieces[it->pieces_count++] = (struct piece){it->heads[number], first, last, made};
    it->heads[number] = (uint32_t)it->pieces_count;
    return made;
}

/* A new location with the lines of some items, which are all of one. */
static uint32_t piece_make(struct narrowing *it, const struct item *items, uint32_t count)
{
    struct profile *profile = it->profile;
    struct profile_location location = *profile_location_at(profile, items[0].location);
    struct profile_line *lines = malloc(count * sizeof *lines);
    if (!lines) {
        it->maker.failed = true;
        return 0;
    }
    for (uint32_t i = 0; i < count; i++)
        lines[i] = profile_lines_of(profile, items[0].location)[items[i].line];
    uint32_t made = profile_location(profile, &location, lines, count);
    free(lines);
    it->changed = true;
    return made;
}

/* What ended at an age is of what was ever allocated, and of nothing that was live. */
static void row_scale(struct narrowing *it, size_t row, double share)
{
    const struct profile *profile = it->profile;
    for (unsigned i = 0; i < profile->types; i++) {
        int64_t *value = &profile->samples.values[i][row];
        const char *name = profile_text(profile, profile->type[i].name);
        bool ever = profile_type_blocks(name) == BLOCKS_ALLOCATED;
        *value = ever ? (int64_t)llround((double)*value * share) : 0;
    }
    it->changed = true;
}

static void row_move(struct profile_samples *samples, unsigned types, size_t from, size_t to)
{
    samples->stacks[to] = samples->stacks[from];
    samples->label_sets[to] = samples->label_sets[from];
    for (unsigned i = 0; i < types; i++)
        samples->values[i][to] = samples->values[i][from];
    if (samples->weights)
        samples->weights[to] = samples->weights[from];
    if (samples->scales)
        samples->scales[to] = samples->scales[from];
    if (samples->lives)
        memcpy(samples->lives[to], samples->lives[from], sizeof samples->lives[to]);
    if (samples->history)
        memcpy(samples->history[to], samples->history[from], sizeof samples->history[to]);
}

/* Numbers of the whole, which know no filters. */
static void whole_forget(struct profile *profile)
{
    profile->points.count = 0;
    profile->counted = false;
    profile->exact_allocs = profile->exact_frees = -1;
    profile->exact_alloc_bytes = profile->exact_live_bytes = -1;
    profile->resident_bytes = profile->resident_peak_bytes = 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * Two profiles into one. Everything of `from` is looked for in `to` and added where it is missing,
 * so that numbers of one become numbers of the other: strings, functions, mappings, locations,
 * stacks, labels, and at last the rows.
 *
 * A return address and the address of its call, one less, are the same location.
 */
#include <stdlib.h>
#include <string.h>

#include "tool/memory/memory.h"
#include "tool/profile/merge_inside.h"
#include "tool/profile/unsample.h"

static void prepare_columns(struct merging *it);
static bool same_moments(const struct profile *a, const struct profile *b);
static void merge_head(struct merging *it, bool first);
static void copy_head(struct merging *it);
static void add_known(int64_t *to, int64_t from, double factor);
static void merge_list(struct merging *it, struct list *to, const struct list *from);
static uint32_t *numbers(struct merging *it, size_t count);
static void merge_functions(struct merging *it);
static void merge_locations(struct merging *it);
static struct key location_key(const struct profile_location *location,
                               const struct profile_line *lines);
static bool remember(struct merging *it, uint32_t number, uint32_t **list, size_t *room,
                     uint32_t value);
static uint32_t merge_location(struct merging *it, uint32_t number, struct profile_line *lines);
static bool same_lines(const struct merging *it, uint32_t location,
                       const struct profile_line *lines, uint32_t count);
static void merge_stacks(struct merging *it);
static void merge_label_sets(struct merging *it);
static void merge_types(struct merging *it);
static float weight_at(const struct profile *profile, size_t row);
static void merge_rows(struct merging *it);
static struct key row_key(const struct profile *profile, size_t row, uint32_t stack,
                          uint32_t label_set);
static struct profile_scale scale_at(const struct profile *profile, size_t row);
static void merge_values(struct merging *it, size_t to_row, size_t from_row);

bool profile_merge(struct profile *to, const struct profile *from, double factor)
{
    struct merging it = {.to = to, .from = from, .factor = factor};
    bool first = to->types == 0;
    it.strings = numbers(&it, from->strings.count);
    it.functions = numbers(&it, from->functions.count);
    it.mappings = numbers(&it, from->mappings.count);
    it.locations = numbers(&it, from->locations.count);
    it.stacks = numbers(&it, from->stacks.count);
    it.label_sets = numbers(&it, from->label_sets.count);
    it.moves = calloc(from->mappings.count + 1, sizeof *it.moves);
    to->failed |= it.moves == NULL || from->failed;
    if (!to->failed) {
        merge_functions(&it);
        merge_mappings(&it);
        merge_locations(&it);
        merge_stacks(&it);
        merge_label_sets(&it);
        merge_types(&it);
        prepare_columns(&it);
        merge_rows(&it);
        merge_head(&it, first);
    }
    uint32_t *lists[] = {it.strings, it.functions,  it.mappings, it.locations,
                         it.stacks,  it.label_sets, it.place_of, it.row_of};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        free(lists[i]);
    free(it.moves);
    keys_free(&it.places);
    keys_free(&it.rows);
    ranges_free(&it.files);
    ranges_free(&it.taken);
    return !to->failed && profile_sums_fit(to);
}

/* Columns that both need, or that make no sense any more. */
static void prepare_columns(struct merging *it)
{
    struct profile *to = it->to;
    struct profile_samples *samples = &to->samples;
    if (it->from->samples.weights && !samples->weights && profile_want_weights(to))
        for (size_t i = 0; i < samples->count; i++)
            samples->weights[i] = 1;
    if (it->from->samples.scales && !samples->scales && profile_want_scales(to))
        for (size_t i = 0; i < samples->count; i++)
            samples->scales[i] = (struct profile_scale){weight_at(to, i), weight_at(to, i), 0, 0};
    if (it->from->samples.lives)
        profile_want_lives(to);
    if (!same_moments(to, it->from)) {
        free(samples->history);
        samples->history = NULL;
        to->history_moments = 0;
        if (it->factor > 0) /* two processes have no common time */
            to->points.count = to->moments.count = 0;
    }
}

static bool same_moments(const struct profile *a, const struct profile *b)
{
    const struct profile_moment *left = a->moments.items, *right = b->moments.items;
    bool same = a->moments.count == b->moments.count && a->history_moments == b->history_moments &&
                !a->samples.history == !b->samples.history;
    for (size_t i = 0; i < a->moments.count && same; i++)
        same = left[i].time_ns == right[i].time_ns && left[i].rows == right[i].rows;
    return same;
}

static void merge_head(struct merging *it, bool first)
{
    struct profile *to = it->to;
    const struct profile *from = it->from;
    if (first)
        copy_head(it);
    if (to->program == 0)
        to->program = merge_string(it, from->program);
    add_known(&to->exact_allocs, from->exact_allocs, it->factor);
    add_known(&to->exact_frees, from->exact_frees, it->factor);
    add_known(&to->exact_alloc_bytes, from->exact_alloc_bytes, it->factor);
    add_known(&to->exact_live_bytes, from->exact_live_bytes, it->factor);
    struct profile_thread *threads = to->threads.items;
    for (size_t i = 0; i < to->threads.count; i++)
        threads[i].counted = false;
    if (from->period > to->period)
        to->period = from->period;
    if (it->factor > 0) {
        if (to->kind != from->kind)
            to->kind = PROFILE_OTHER;
        if (to->pid != from->pid)
            to->pid = 0;
        if (to->time_ns == 0 || (from->time_ns != 0 && from->time_ns < to->time_ns))
            to->time_ns = from->time_ns;
        if (__builtin_add_overflow(to->duration_ns, from->duration_ns, &to->duration_ns))
            to->duration_ns = 0;
        to->resident_bytes += from->resident_bytes;
        to->resident_peak_bytes += from->resident_peak_bytes;
        to->heap_resident_bytes += from->heap_resident_bytes;
        to->peak_time_ns = first ? from->peak_time_ns : 0;
        to->torn |= from->torn;
        to->counted = from->counted && (first || to->counted);
        to->ended = from->ended && (first || to->ended);
        to->refused += from->refused;
        to->lost += from->lost;
        merge_list(it, &to->comments, &from->comments);
    }
    merge_list(it, &to->warnings, &from->warnings);
}

/* What stands over the first profile of a sum. */
static void copy_head(struct merging *it)
{
    struct profile *to = it->to;
    const struct profile *from = it->from;
    to->kind = from->kind;
    to->format = from->format;
    to->traits = from->traits;
    to->command = merge_string(it, from->command);
    to->host = merge_string(it, from->host);
    to->drop_frames = merge_string(it, from->drop_frames);
    to->keep_frames = merge_string(it, from->keep_frames);
    to->doc_url = merge_string(it, from->doc_url);
    to->pid = from->pid;
    to->period_type.name = merge_string(it, from->period_type.name);
    to->period_type.unit = merge_string(it, from->period_type.unit);
    to->exact_allocs = to->exact_frees = to->exact_alloc_bytes = to->exact_live_bytes = 0;
}

static void add_known(int64_t *to, int64_t from, double factor)
{
    *to = *to < 0 || from < 0 ? -1 : unsample_round((double)*to + (double)from * factor);
}

static void merge_list(struct merging *it, struct list *to, const struct list *from)
{
    struct keys there = {0};
    bool fresh;
    for (size_t i = 0; i < to->count; i++)
        keys_add(&there, (struct key){{((uint32_t *)to->items)[i], 0, 0}}, &fresh);
    for (size_t i = 0; i < from->count && !it->to->failed; i++) {
        uint32_t string = merge_string(it, ((const uint32_t *)from->items)[i]), *place;
        it->to->failed |= keys_add(&there, (struct key){{string, 0, 0}}, &fresh) == KEYS_NONE;
        if (fresh && (place = profile_list_add(it->to, to, sizeof *place)) != NULL)
            *place = string;
    }
    keys_free(&there);
}

static uint32_t *numbers(struct merging *it, size_t count)
{
    uint32_t *made = calloc(count + 1, sizeof *made);
    it->to->failed |= made == NULL;
    return made;
}

static void merge_functions(struct merging *it)
{
    for (uint32_t i = 1; i < it->from->functions.count && !it->to->failed; i++) {
        struct profile_function function = *profile_function_at(it->from, i);
        function.name = merge_string(it, function.name);
        function.system_name = merge_string(it, function.system_name);
        function.file = merge_string(it, function.file);
        it->functions[i] = profile_function(it->to, &function);
    }
}

/* 0 in the list: not looked for yet. */
uint32_t merge_string(struct merging *it, uint32_t string)
{
    if (string == 0 || it->to->failed)
        return 0;
    if (it->strings[string] == 0)
        it->strings[string] = profile_string_of(it->to, profile_text(it->from, string));
    return it->strings[string];
}

static void merge_locations(struct merging *it)
{
    uint32_t max = 1;
    bool fresh;
    for (uint32_t i = 0; i < it->to->locations.count && !it->to->failed; i++) {
        struct key key = location_key(profile_location_at(it->to, i), profile_lines_of(it->to, i));
        uint32_t number = keys_add(&it->places, key, &fresh);
        if (number == KEYS_NONE)
            it->to->failed = true;
        else if (fresh)
            remember(it, number, &it->place_of, &it->place_room, i);
    }
    for (uint32_t i = 0; i < it->from->locations.count; i++)
        if (profile_location_at(it->from, i)->lines > max)
            max = profile_location_at(it->from, i)->lines;
    struct profile_line *lines = calloc(max, sizeof *lines);
    it->to->failed |= lines == NULL;
    for (uint32_t i = 0; i < it->from->locations.count && !it->to->failed; i++)
        it->locations[i] = merge_location(it, i, lines);
    free(lines);
}

static struct key location_key(const struct profile_location *location,
                               const struct profile_line *lines)
{
    struct key key = {{location->mapping, location->address, 0}};
    if (location->address != 0) {
        key.words[1] -= (location->flags & LOCATION_EXACT) == 0;
        key.words[2] = 1;
        return key;
    }
    for (uint32_t i = 0; i < location->lines; i++) {
        key.words[1] = hash_word(key.words[1]) + lines[i].function;
        key.words[2] = key.words[2] * 31 + ((uint64_t)lines[i].line << 1);
    }
    return key;
}

/* A number of `keys` that is new has its place in the list: true. */
static bool remember(struct merging *it, uint32_t number, uint32_t **list, size_t *room,
                     uint32_t value)
{
    if (number == KEYS_NONE || !list_reserve(list, room, (size_t)number + 1, sizeof **list)) {
        it->to->failed = true;
        return false;
    }
    (*list)[number] = value;
    return true;
}

static uint32_t merge_location(struct merging *it, uint32_t number, struct profile_line *lines)
{
    struct profile_location location = *profile_location_at(it->from, number);
    bool fresh;
    for (uint32_t i = 0; i < location.lines; i++) {
        lines[i] = profile_lines_of(it->from, number)[i];
        lines[i].function = it->functions[lines[i].function];
    }
    if (location.address != 0)
        location.address += (uint64_t)it->moves[location.mapping];
    location.mapping = it->mappings[location.mapping];
    uint32_t known = keys_add(&it->places, location_key(&location, lines), &fresh);
    if (known == KEYS_NONE) {
        it->to->failed = true;
        return 0;
    }
    if (!fresh) {
        uint32_t there = it->place_of[known];
        if (location.address == 0)
            return same_lines(it, there, lines, location.lines)
                       ? there
                       : profile_location(it->to, &location, lines, location.lines);
        if (profile_location_at(it->to, there)->lines == 0 && location.lines > 0)
            profile_set_lines(it->to, there, lines, location.lines, location.flags);
        return there;
    }
    uint32_t made = profile_location(it->to, &location, lines, location.lines);
    remember(it, known, &it->place_of, &it->place_room, made);
    return made;
}

static bool same_lines(const struct merging *it, uint32_t location,
                       const struct profile_line *lines, uint32_t count)
{
    return profile_location_at(it->to, location)->lines == count &&
           (count == 0 ||
            memcmp(profile_lines_of(it->to, location), lines, count * sizeof *lines) == 0);
}

static void merge_stacks(struct merging *it)
{
    uint32_t max = 1, count;
    for (uint32_t i = 0; i < it->from->stacks.count; i++) {
        count = profile_depth_of(it->from, i);
        max = count > max ? count : max;
    }
    uint32_t *moved = calloc(max, sizeof *moved);
    it->to->failed |= moved == NULL;
    for (uint32_t i = 0; i < it->from->stacks.count && !it->to->failed; i++) {
        const uint32_t *frames = profile_frames_of(it->from, i, &count);
        for (uint32_t k = 0; k < count; k++)
            moved[k] = it->locations[frames[k]];
        it->stacks[i] = profile_stack(it->to, moved, count);
    }
    free(moved);
}

static void merge_label_sets(struct merging *it)
{
    const struct profile_label_set *sets = it->from->label_sets.items;
    const struct profile_label *labels = it->from->labels.items;
    for (uint32_t i = 1; i < it->from->label_sets.count && !it->to->failed; i++) {
        struct profile_label moved[PROFILE_LABELS_MAX];
        for (uint32_t k = 0; k < sets[i].count; k++) {
            moved[k] = labels[sets[i].first + k];
            moved[k].key = merge_string(it, moved[k].key);
            moved[k].text = merge_string(it, moved[k].text);
            moved[k].unit = merge_string(it, moved[k].unit);
        }
        it->label_sets[i] = profile_label_set(it->to, moved, sets[i].count);
    }
}

static void merge_types(struct merging *it)
{
    struct profile *to = it->to;
    bool first = to->types == 0;
    for (unsigned i = 0; i < it->from->types; i++) {
        const char *name = profile_text(it->from, it->from->type[i].name),
                   *unit = profile_text(it->from, it->from->type[i].unit);
        int there = profile_type_named(to, name);
        if (there < 0 && to->types == PROFILE_TYPES_MAX) {
            profile_warn(to, "%s is left out: there are too many kinds of values", name);
            it->types[i] = PROFILE_TYPES_MAX;
            continue;
        }
        it->types[i] = profile_type_written(to, name, unit);
        if (strcmp(profile_text(to, to->type[it->types[i]].unit), unit) != 0)
            profile_warn(to, "%s is added up, but was counted in %s and in %s", name, unit,
                         profile_text(to, to->type[it->types[i]].unit));
    }
    if (first && it->from->types > 0 && it->types[it->from->default_type] < to->types)
        to->default_type = it->types[it->from->default_type];
}

static float weight_at(const struct profile *profile, size_t row)
{
    return profile->samples.weights ? profile->samples.weights[row] : 1;
}

static void merge_rows(struct merging *it)
{
    struct profile *to = it->to;
    struct profile_samples *samples = &to->samples;
    bool fresh;
    for (size_t i = 0; i < samples->count && !to->failed; i++) {
        uint32_t number =
            keys_add(&it->rows, row_key(to, i, samples->stacks[i], samples->label_sets[i]), &fresh);
        if (number == KEYS_NONE || i > UINT32_MAX)
            to->failed = true;
        else if (fresh)
            remember(it, number, &it->row_of, &it->row_room, (uint32_t)i);
    }
    for (size_t i = 0; i < it->from->samples.count && !to->failed; i++) {
        uint32_t stack = it->stacks[it->from->samples.stacks[i]],
                 labels = it->label_sets[it->from->samples.label_sets[i]];
        uint32_t number = keys_add(&it->rows, row_key(it->from, i, stack, labels), &fresh);
        if (number == KEYS_NONE) {
            to->failed = true;
        } else if (fresh) {
            size_t row = profile_sample(to, stack, labels);
            if (to->failed || !remember(it, number, &it->row_of, &it->row_room, (uint32_t)row))
                return;
            if (samples->weights)
                samples->weights[row] = weight_at(it->from, i);
            if (samples->scales)
                samples->scales[row] = scale_at(it->from, i);
        }
        if (!to->failed)
            merge_values(it, it->row_of[number], i);
    }
}

static struct key row_key(const struct profile *profile, size_t row, uint32_t stack,
                          uint32_t label_set)
{
    float weights[] = {weight_at(profile, row), scale_at(profile, row).live};
    uint64_t bits;
    memcpy(&bits, weights, sizeof bits);
    return (struct key){{stack, label_set, bits}};
}

static struct profile_scale scale_at(const struct profile *profile, size_t row)
{
    float weight = weight_at(profile, row);
    return profile->samples.scales ? profile->samples.scales[row]
                                   : (struct profile_scale){weight, weight, 0, 0};
}

static void merge_values(struct merging *it, size_t to_row, size_t from_row)
{
    for (unsigned i = 0; i < it->from->types; i++) {
        if (it->types[i] == PROFILE_TYPES_MAX)
            continue;
        int64_t value = it->from->samples.values[i][from_row],
                *place = &it->to->samples.values[it->types[i]][to_row];
        if (it->factor == -1 && value != INT64_MIN)
            value = -value;
        else if (it->factor != 1)
            value = unsample_round((double)value * it->factor);
        if (__builtin_add_overflow(*place, value, place))
            *place = value > 0 ? INT64_MAX : INT64_MIN;
    }
    uint32_t(*lives)[FORMAT_LIVES] = it->to->samples.lives;
    for (unsigned i = 0; i < FORMAT_LIVES && lives && it->from->samples.lives; i++) {
        uint32_t *sum = &lives[to_row][i], more = it->from->samples.lives[from_row][i];
        if (it->factor < 0)
            *sum = *sum > more ? *sum - more : 0;
        else if (__builtin_add_overflow(*sum, more, sum))
            *sum = UINT32_MAX;
    }
    float(*history)[PROFILE_MOMENTS_MAX] = it->to->samples.history;
    for (unsigned i = 0; i < it->to->history_moments && history; i++)
        history[to_row][i] += (float)it->factor * it->from->samples.history[from_row][i];
}

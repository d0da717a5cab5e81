/* SPDX-License-Identifier: MIT */
/* See tool/report/unview.h. A view has one column, so there is one for each. */
#include "tool/report/unview.h"

#include <stdlib.h>
#include <string.h>

enum { NO_ROW = -1 };

struct unviewing {
    struct profile *to;
    const struct profile *from;
    uint32_t *locations; /* by frame of the view: + 1; 0: not made yet */
    uint32_t *path;
    int64_t *rows; /* by stack of `to`: its sample */
    size_t rows_room, path_room;
};

bool unview_wanted(const struct view_options *options)
{
    return (options->focus && options->focus[0]) || (options->ignore && options->ignore[0]) ||
           options->show || options->hide || options->from || options->prune || options->thread ||
           options->module || options->size_least || options->size_most || options->age_least_us ||
           options->age_most_us || options->tag_focus || options->tag_ignore || options->no_inlines;
}

static uint32_t copy(struct unviewing *it, uint32_t string)
{
    return profile_string_of(it->to, profile_text(it->from, string));
}

/* What is known of the whole, and the mappings in their order. */
static void copy_head(struct unviewing *it)
{
    struct profile *to = it->to;
    const struct profile *from = it->from;
    to->kind = from->kind;
    to->format = from->format;
    to->program = copy(it, from->program);
    to->command = copy(it, from->command);
    to->host = copy(it, from->host);
    to->pid = from->pid;
    to->time_ns = from->time_ns;
    to->duration_ns = from->duration_ns;
    to->period = from->period;
    to->period_type.name = copy(it, from->period_type.name);
    to->period_type.unit = copy(it, from->period_type.unit);
    to->peak_time_ns = from->peak_time_ns;
    to->torn = from->torn;
    for (unsigned i = 0; i < from->types; i++)
        profile_type(to, profile_text(from, from->type[i].name),
                     profile_text(from, from->type[i].unit));
    to->default_type = from->default_type;
    for (uint32_t i = 1; i < from->mappings.count; i++) {
        struct profile_mapping mapping = *profile_mapping_at(from, i);
        mapping.path = copy(it, mapping.path);
        mapping.build_id = copy(it, mapping.build_id);
        profile_mapping(to, &mapping);
    }
}

static bool copy_history(struct unviewing *it)
{
    const struct profile_moment *moments = it->from->moments.items;
    if (!it->from->samples.history)
        return true;
    for (size_t i = 0; i < it->from->moments.count; i++) {
        struct profile_moment *moment = profile_list_add(it->to, &it->to->moments, sizeof *moment);
        if (!moment)
            return false;
        *moment = moments[i];
        moment->name = copy(it, moments[i].name);
    }
    it->to->history_moments = it->from->history_moments;
    return profile_want_history(it->to);
}

static uint32_t mapping_of(const struct unviewing *it, const char *module)
{
    for (uint32_t i = 1; i < it->to->mappings.count && module[0] != '\0'; i++)
        if (strcmp(profile_text(it->to, profile_mapping_at(it->to, i)->path), module) == 0)
            return i;
    return 0;
}

static uint32_t location_of(struct unviewing *it, const struct view *view, uint32_t number)
{
    const struct view_frame *frame = &view->frames[number];
    if (it->locations[number] == 0) {
        struct profile_function function = {
            .name = profile_string_of(it->to, frame->name),
            .file = profile_string_of(it->to, frame->file),
        };
        function.system_name = function.name;
        it->locations[number] = 1 + profile_named(it->to, profile_function(it->to, &function),
                                                  frame->line, mapping_of(it, frame->module));
    }
    return it->locations[number] - 1;
}

static bool grow(void *array, size_t *room, size_t want, size_t item_size)
{
    void **place = array;
    if (want <= *room)
        return true;
    size_t more = *room * 2 < want ? want + 64 : *room * 2;
    void *items = realloc(*place, more * item_size);
    if (!items)
        return false;
    *place = items;
    *room = more;
    return true;
}

/* The sample of a stack of the view; one that there was not is new. */
static bool row_of(struct unviewing *it, const struct view *view, const struct view_stack *stack,
                   size_t *row)
{
    size_t before = it->rows_room;
    if (!grow(&it->path, &it->path_room, stack->count, sizeof *it->path))
        return false;
    for (uint32_t i = 0; i < stack->count; i++)
        it->path[i] = location_of(it, view, view->path[stack->first + i]);
    uint32_t number = profile_stack(it->to, it->path, stack->count);
    if (!grow(&it->rows, &it->rows_room, (size_t)number + 1, sizeof *it->rows))
        return false;
    for (size_t i = before; i < it->rows_room; i++)
        it->rows[i] = NO_ROW;
    if (it->rows[number] == NO_ROW)
        it->rows[number] = (int64_t)profile_sample(it->to, number, 0);
    *row = (size_t)it->rows[number];
    return !it->to->failed;
}

static bool column_make(struct unviewing *it, const struct view *view, unsigned type)
{
    struct profile_samples *samples = &it->to->samples;
    it->locations = calloc(view->frames_count + 1, sizeof *it->locations);
    bool done = it->locations != NULL;
    for (size_t i = 0; i < view->stacks_count && done; i++) {
        const struct view_stack *stack = &view->stacks[i];
        size_t row;
        if (stack->sum.value == 0)
            continue;
        done = row_of(it, view, stack, &row);
        if (!done)
            break;
        samples->values[type][row] += stack->sum.value;
        for (unsigned k = 0; k < PROFILE_MOMENTS_MOST && samples->history; k++)
            samples->history[row][k] = stack->history[k];
    }
    free(it->locations);
    it->locations = NULL;
    return done;
}

bool unview_make(struct profile *to, const struct profile *from, const struct view_options *options,
                 struct view_error *error)
{
    struct unviewing it = {.to = to, .from = from};
    struct view_options wanted = *options;
    bool made = true, done = true;
    copy_head(&it);
    done = copy_history(&it);
    wanted.base = NULL;
    for (wanted.type = 0; wanted.type < from->types && made && done; wanted.type++) {
        struct view view = {0};
        made = view_make(&view, from, &wanted, error);
        done = made && column_make(&it, &view, wanted.type);
        view_free(&view);
    }
    free(it.path);
    free(it.rows);
    if (made && (!done || to->failed))
        snprintf(error->text, sizeof error->text, "out of memory");
    return made && done && !to->failed;
}

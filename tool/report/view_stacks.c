/* SPDX-License-Identifier: MIT */
/*
 * The stacks of a view: which samples have the same frames. Frames are not kept, so that two stacks
 * are compared by making one again; the table of them seldom asks for that.
 */
#include <stdlib.h>
#include <string.h>

#include "tool/memory/memory.h"
#include "tool/report/maker.h"

static const uint32_t NONE = UINT32_MAX;

struct source *stacks_source(struct maker *maker, uint32_t sample, size_t *row)
{
    size_t before = maker->sources[0].profile->samples.count;
    bool base = sample >= before;
    *row = base ? sample - before : sample;
    return &maker->sources[base];
}

/* The frames of a sample that has come through the filters. */
static bool path_again(struct maker *maker, uint32_t sample, struct path *path)
{
    size_t row;
    struct source *source = stacks_source(maker, sample, &row);
    const struct profile_samples *samples = &source->profile->samples;
    return maker->labels ? path_of_sample(maker, source, row, path)
                         : path_make(maker, source, samples->stacks[row], path);
}

/* What tells a stack from others. */
static const void *path_bytes(const struct maker *maker, const struct path *path, size_t *size)
{
    uint32_t folded = maker->options.apart ? path->folded : 0;
    *size = (path->count + folded) * sizeof *path->frames;
    return path->frames + path->start - folded;
}

/* The frames of a stack of the view, made again. */
static const void *frames_bytes(const void *context, uint32_t stack, size_t *size)
{
    struct maker *maker = (struct maker *)context;
    struct path *path = maker->paths[1];
    bool made = path_again(maker, maker->first[stack], path);
    const void *bytes = path_bytes(maker, path, size);
    if (!made)
        *size = 0;
    return bytes;
}

uint32_t stacks_intern(struct maker *maker, const struct path *path, uint32_t sample)
{
    uint32_t number;
    size_t size;
    const void *bytes = path_bytes(maker, path, &size);
    if (!map_find(&maker->stacks, maker, frames_bytes, bytes, size, &number)) {
        maker->failed = true;
        return NONE;
    }
    if (number != MAP_NONE)
        return number;
    size_t known = maker->view->stacks_count;
    if (!maker_room(maker, &maker->first, sizeof *maker->first, known, &maker->first_room))
        return NONE;
    maker->first[known] = sample;
    maker->view->stacks_count++;
    map_add(&maker->stacks, (uint32_t)known);
    return (uint32_t)known;
}

bool stacks_link(struct maker *maker)
{
    const struct view *view = maker->view;
    size_t count = view->profile->samples.count + (view->base ? view->base->samples.count : 0);
    size_t kept = 0;
    map_free(&maker->stacks);
    for (size_t i = 0; i < count; i++)
        kept += view->sample_stacks[i] != NONE;
    if (kept == view->stacks_count)
        return true;
    maker->next = malloc((count + 1) * sizeof *maker->next);
    if (!maker->next)
        return false;
    memset(maker->first, 0xff, view->stacks_count * sizeof *maker->first);
    for (size_t i = count; i-- > 0;) {
        uint32_t stack = view->sample_stacks[i];
        if (stack == NONE)
            continue;
        maker->next[i] = maker->first[stack];
        maker->first[stack] = (uint32_t)i;
    }
    return true;
}

struct view_stack view_stack(const struct view *view, size_t stack)
{
    struct maker *maker = view->maker;
    for (unsigned i = 0; i < 2; i++) /* callers often ask for the same one again */
        if (maker->path_of[i] == stack + 1)
            maker->turn = i;
    unsigned turn = maker->turn;
    struct path *path = maker->paths[turn];
    maker->turn = 1 - turn;
    if (maker->path_of[turn] != stack + 1) {
        bool made = path_again(maker, maker->first[stack], path);
        maker->path_of[turn] = made ? stack + 1 : 0;
        if (!made)
            return (struct view_stack){path->frames, 0, 0};
    }
    return (struct view_stack){path->frames + path->start, path->count, path->folded};
}

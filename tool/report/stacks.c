/* SPDX-License-Identifier: MIT */
/*
 * The stacks of a view: which samples have the same frames. Frames are not kept, so that two stacks
 * are compared by making both again; that is only done when their hashes are the same.
 */
#include <stdlib.h>
#include <string.h>

#include "tool/report/parts.h"

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
    return maker->labels ? path_of_labels(maker, source, samples->label_sets[row], path)
                         : path_make(maker, source, samples->stacks[row], path);
}

static uint32_t path_hash(const struct path *path)
{
    const uint32_t *frames = path->frames + path->start;
    uint64_t hash = path->count;
    for (uint32_t i = 0; i < path->count; i++)
        hash = maker_hash(hash, frames[i]);
    return (uint32_t)(hash >> 16);
}

static bool path_equal(const struct path *a, const struct path *b)
{
    return a->count == b->count &&
           (a->count == 0 ||
            memcmp(a->frames + a->start, b->frames + b->start, a->count * sizeof *a->frames) == 0);
}

static bool slots_grow(struct maker *maker)
{
    size_t count = maker->stack_slots_count == 0 ? 1024 : 2 * maker->stack_slots_count;
    uint32_t *slots = calloc(count, sizeof *slots);
    if (!slots)
        return false;
    for (size_t i = 0; i < maker->view->stacks_count; i++) {
        size_t at = maker->stack_hashes[i] & (count - 1);
        while (slots[at] != 0)
            at = (at + 1) & (count - 1);
        slots[at] = (uint32_t)i + 1;
    }
    free(maker->stack_slots);
    maker->stack_slots = slots;
    maker->stack_slots_count = count;
    return true;
}

uint32_t stacks_intern(struct maker *maker, const struct path *path, uint32_t sample)
{
    struct view *view = maker->view;
    size_t known = view->stacks_count;
    if (known * 4 >= maker->stack_slots_count * 3 && !slots_grow(maker)) {
        maker->failed = true;
        return NONE;
    }
    size_t mask = maker->stack_slots_count - 1;
    uint32_t hash = path_hash(path);
    size_t at = hash & mask;
    for (; maker->stack_slots[at] != 0; at = (at + 1) & mask) {
        uint32_t there = maker->stack_slots[at] - 1;
        if (maker->stack_hashes[there] == hash &&
            path_again(maker, maker->first[there], maker->paths[1]) &&
            path_equal(maker->paths[1], path))
            return there;
    }
    if (!maker_room(maker, &maker->first, sizeof *maker->first, known, &maker->first_room) ||
        !maker_room(maker, &maker->stack_hashes, sizeof hash, known, &maker->hashes_room))
        return NONE;
    maker->first[known] = sample;
    maker->stack_hashes[known] = hash;
    maker->stack_slots[at] = (uint32_t)++view->stacks_count;
    return (uint32_t)known;
}

bool stacks_link(struct maker *maker)
{
    const struct view *view = maker->view;
    size_t count = view->profile->samples.count + (view->base ? view->base->samples.count : 0);
    size_t kept = 0;
    free(maker->stack_slots);
    free(maker->stack_hashes);
    maker->stack_slots = maker->stack_hashes = NULL;
    for (size_t i = 0; i < count; i++)
        kept += view->sample_stacks[i] != NONE;
    if (kept == view->stacks_count)
        return true;
    maker->next = malloc(count * sizeof *maker->next);
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
    struct path *path = maker->paths[maker->turn++ % 2];
    if (!path_again(maker, maker->first[stack], path))
        return (struct view_stack){path->frames, 0, 0};
    return (struct view_stack){path->frames + path->start, path->count, path->folded};
}

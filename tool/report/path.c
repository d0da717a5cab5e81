/* SPDX-License-Identifier: MIT */
/*
 * The frames of one stack of a profile as a view has them.
 *
 * The order of things is pprof's: focus and ignore look at whole stacks, show and hide take frames
 * out, from and prune cut. Then, at the leaf, library frames go to their caller; they stay in front
 * where all frames are to be seen.
 *
 * Cost: a few nanoseconds a frame, once the frames of all its locations are known.
 */
#include "tool/report/maker.h"

static bool path_fill(struct maker *maker, struct source *source, uint32_t stack,
                      struct path *path);
static bool path_cut(const struct maker *maker, struct path *path);
static void path_once(struct path *path);

bool path_filter(struct maker *maker, struct source *source, uint32_t stack, struct path *path)
{
    return path_fill(maker, source, stack, path) && path_cut(maker, path);
}

/* All frames of a stack. False: a filter drops it. */
static bool path_fill(struct maker *maker, struct source *source, uint32_t stack, struct path *path)
{
    uint32_t count, focus = 0, filled = 0;
    const uint32_t *locations = profile_frames_of(source->profile, stack, &count);
    uint32_t wanted = ((UINT32_C(1) << maker->focus_count) - 1) |
                      (maker->module.code ? UINT32_C(1) << FOCUS_MAX : 0);
    bool ignored = false;
    for (uint32_t i = 0; i < count; i++) {
        const struct expansion *expansion = &source->expansions[locations[i]];
        if (!expansion->made)
            expansion = frames_expand(maker, source, locations[i]);
        if (!expansion)
            return false;
        focus |= expansion->focus;
        ignored = ignored || expansion->ignore;
        for (uint32_t k = 0; k < expansion->count && filled < PATH_MAX; k++) {
            uint32_t item = expansion->first + k;
            path->frames[filled] = maker->items[item].frame;
            path->items[filled++] = item;
        }
    }
    path->start = path->folded = 0;
    path->count = filled;
    return !ignored && (focus & wanted) == wanted;
}

/* --from: what is above the outermost fit goes, without one the stack does; --prune: what is below
 * the innermost fit. */
static bool path_cut(const struct maker *maker, struct path *path)
{
    const struct item *items = maker->items;
    if (maker->from.code) {
        while (path->count > 0 && !(items[path->items[path->count - 1]].bits & ITEM_FROM))
            path->count--;
        if (path->count == 0)
            return false;
    }
    for (uint32_t i = 0; maker->prune.code && i < path->count; i++)
        if (items[path->items[i]].bits & ITEM_PRUNE) {
            path->start = i;
            path->count -= i;
            break;
        }
    return path->count > 0 || !(maker->show.code || maker->hide.code);
}

bool path_make(struct maker *maker, struct source *source, uint32_t stack, struct path *path)
{
    if (!path_filter(maker, source, stack, path))
        return false;
    if (maker->options.once)
        path_once(path);
    path->folded = frames_fold(maker, source, path);
    path->start += path->folded;
    path->count -= path->folded;
    return true;
}

/* A function that calls itself is there once. */
static void path_once(struct path *path)
{
    uint32_t *frames = path->frames + path->start, *items = path->items + path->start;
    uint32_t kept = path->count > 0;
    for (uint32_t i = 1; i < path->count; i++)
        if (frames[i] != frames[kept - 1]) {
            frames[kept] = frames[i];
            items[kept++] = items[i];
        }
    path->count = kept;
}

bool path_of_sample(struct maker *maker, struct source *source, size_t row, struct path *path)
{
    path->start = path->folded = 0;
    path->count = 1;
    path->frames[0] = frames_of_sample(maker, source, row);
    return !maker->failed;
}

/* SPDX-License-Identifier: MIT */
/*
 * See tool/report/view.h: rows and edges, sums over the stacks of a view. `self` is what a frame
 * has as the leaf, `total` what it has anywhere on a stack, counted once a stack, however often a
 * function calls itself: `seen` remembers the last stack that counted. Equal rows are in the order
 * of their names, so that output never depends on the order of a hash map.
 */
#include <stdlib.h>
#include <string.h>

#include "tool/memory/memory.h"
#include "tool/report/maker.h"
#include "tool/terminal/terminal.h"

static const struct view *sorting; /* qsort has no context */
static bool sorting_by_total;

struct edges {
    struct view_edge *items;
    size_t *last; /* by edge: stack + 1 that was counted */
    size_t count, room, last_room;
    struct map map;
};

static bool is_nothing(const struct view_value *value);
static void rows_sum(const struct view *view, struct view_row *rows, size_t *seen);
static bool is_past(const struct view_row *row);
static int compare_rows(const void *left, const void *right);
static uint64_t magnitude(const struct view_value *value);
static struct view_edge *edge_find(struct edges *edges, uint32_t caller, uint32_t callee);
static uint64_t known_hash(const void *context, uint32_t number);
static uint64_t edge_hash(uint32_t caller, uint32_t callee);
static bool known_same(const void *context, uint32_t number, const void *key);
static int compare_edges(const void *left, const void *right);

void rows_add(struct view_row *rows, size_t *seen, size_t number, const uint32_t *path,
              uint32_t count, const struct view_value *value, const float *history)
{
    for (uint32_t k = 0; k < count; k++) {
        struct view_row *row = &rows[path[k]];
        if (seen[path[k]] != number + 1)
            view_add(&row->total, value);
        seen[path[k]] = number + 1;
        if (k > 0)
            continue;
        view_add(&row->self, value);
        row->stacks += !is_nothing(value);
        for (unsigned m = 0; history && m < PROFILE_MOMENTS_MAX; m++)
            row->history[m] += history[m];
    }
}

static bool is_nothing(const struct view_value *value)
{
    return !value->value && !value->objects && !value->base && !value->base_objects;
}

struct view_row *view_rows(const struct view *view, bool by_total, size_t *count)
{
    struct view_row *rows = calloc(view->frames_count + 1, sizeof *rows);
    size_t *seen = calloc(view->frames_count + 1, sizeof *seen);
    size_t kept = 0;
    *count = 0;
    size_t counted = view->rows_count < view->frames_count ? view->rows_count : view->frames_count;
    if (rows && view->rows)
        memcpy(rows, view->rows, counted * sizeof *rows);
    else if (rows && seen)
        rows_sum(view, rows, seen);
    for (size_t i = 0; i < view->frames_count && rows && seen; i++)
        if (!is_nothing(&rows[i].total) || (view->options.past && is_past(&rows[i]))) {
            rows[kept] = rows[i];
            rows[kept++].frame = (uint32_t)i;
        }
    bool all = rows && seen;
    free(seen);
    if (!all) {
        free(rows);
        shortage_note();
        return NULL;
    }
    sorting = view;
    sorting_by_total = by_total;
    qsort(rows, kept, sizeof *rows, compare_rows);
    *count = kept;
    return rows;
}

static void rows_sum(const struct view *view, struct view_row *rows, size_t *seen)
{
    for (size_t i = 0; i < view->stacks_count; i++) {
        struct view_stack stack = view_stack(view, i);
        struct view_value sum = view_sum(view, i);
        float history[PROFILE_MOMENTS_MAX];
        bool past = view_history(view, i, NULL, history);
        rows_add(rows, seen, i, stack.frames, stack.count, &sum, past ? history : NULL);
    }
}

/* Nothing of it is live now, but something was at one of the profile's moments. */
static bool is_past(const struct view_row *row)
{
    for (unsigned i = 0; i < PROFILE_MOMENTS_MAX; i++)
        if (row->history[i] > 0)
            return true;
    return false;
}

static int compare_rows(const void *left, const void *right)
{
    const struct view_row *a = left, *b = right;
    uint64_t self_a = magnitude(&a->self), self_b = magnitude(&b->self);
    uint64_t total_a = magnitude(&a->total), total_b = magnitude(&b->total);
    if (sorting_by_total && total_a != total_b)
        return total_a > total_b ? -1 : 1;
    if (self_a != self_b)
        return self_a > self_b ? -1 : 1;
    if (total_a != total_b)
        return total_a > total_b ? -1 : 1;
    const struct view_frame *frame_a = &sorting->frames[a->frame],
                            *frame_b = &sorting->frames[b->frame];
    int order = strcmp(frame_a->name, frame_b->name);
    if (order == 0)
        order = strcmp(frame_a->file, frame_b->file);
    if (order == 0)
        order = frame_a->line < frame_b->line ? -1 : frame_a->line > frame_b->line;
    return order != 0 ? order : a->frame < b->frame ? -1 : 1;
}

static uint64_t magnitude(const struct view_value *value)
{
    uint64_t change = (uint64_t)value->value - (sorting->base ? (uint64_t)value->base : 0);
    return (int64_t)change < 0 ? 0 - change : change;
}

/* ---- edges ------------------------------------------------------------------------------ */

struct view_edge *view_edges(const struct view *view, const bool *wanted, size_t *count)
{
    struct edges edges = {0};
    bool ok = list_reserve(&edges.items, &edges.room, 1, sizeof *edges.items);
    for (size_t i = 0; i < view->stacks_count && ok; i++) {
        struct view_stack stack = view_stack(view, i);
        struct view_value sum = view_sum(view, i);
        for (uint32_t k = 0; k < stack.count && ok; k++) {
            uint32_t callee = stack.frames[k];
            uint32_t caller = k + 1 < stack.count ? stack.frames[k + 1] : UINT32_MAX;
            if (wanted && !wanted[callee] && (caller == UINT32_MAX || !wanted[caller]))
                continue;
            struct view_edge *edge = edge_find(&edges, caller, callee);
            ok = edge != NULL;
            if (!ok || edges.last[edge - edges.items] == i + 1)
                continue;
            edges.last[edge - edges.items] = i + 1;
            view_add(&edge->sum, &sum);
        }
    }
    free(edges.last);
    map_free(&edges.map);
    *count = ok ? edges.count : 0;
    if (!ok) {
        free(edges.items);
        shortage_note();
        return NULL;
    }
    sorting = view;
    qsort(edges.items, edges.count, sizeof *edges.items, compare_edges);
    return edges.items;
}

static struct view_edge *edge_find(struct edges *edges, uint32_t caller, uint32_t callee)
{
    static const struct map_kind kind = {known_hash, known_same};
    struct view_edge edge = {.caller = caller, .callee = callee};
    size_t count = edges->count;
    uint32_t number;
    if (!map_find_as(&edges->map, edges, &kind, edge_hash(caller, callee), &edge, &number))
        return NULL;
    if (number != MAP_NONE)
        return &edges->items[number];
    if (!list_reserve(&edges->items, &edges->room, count + 1, sizeof *edges->items) ||
        !list_reserve(&edges->last, &edges->last_room, count + 1, sizeof *edges->last))
        return NULL;
    edges->items[count] = edge;
    edges->last[count] = 0;
    map_add(&edges->map, (uint32_t)count);
    return &edges->items[edges->count++];
}

static uint64_t known_hash(const void *context, uint32_t number)
{
    const struct view_edge *edge = &((const struct edges *)context)->items[number];
    return edge_hash(edge->caller, edge->callee);
}

static uint64_t edge_hash(uint32_t caller, uint32_t callee)
{
    return map_mix(map_mix(0, caller), callee);
}

static bool known_same(const void *context, uint32_t number, const void *key)
{
    const struct view_edge *a = &((const struct edges *)context)->items[number], *b = key;
    return a->caller == b->caller && a->callee == b->callee;
}

static int compare_edges(const void *left, const void *right)
{
    const struct view_edge *a = left, *b = right;
    uint64_t value_a = magnitude(&a->sum), value_b = magnitude(&b->sum);
    if (value_a != value_b)
        return value_a > value_b ? -1 : 1;
    if (a->caller != b->caller)
        return a->caller < b->caller ? -1 : 1;
    return a->callee < b->callee ? -1 : a->callee > b->callee;
}

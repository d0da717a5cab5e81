/* SPDX-License-Identifier: MIT */
/*
 * See tool/report/tree.h. Two ways through one order: `tree_make` keeps the nodes above a limit,
 * for people; `tree_walk` visits all of them and keeps only the way down to the present one, for
 * JSON, whose size must not become memory.
 */
#include "tool/report/tree.h"

#include <stdlib.h>
#include <string.h>

#include "tool/memory/memory.h"
#include "tool/report/maker.h"

struct maker_tree {
    const struct view *view;
    struct order order;
    struct tree_node *nodes;
    size_t count, room;
    double min;
};

/* By depth: the node that the walk is in, and where its places end. */
struct level {
    uint64_t number;
    size_t end;
    struct view_value total;
};

static const uint32_t *frames_of(const void *context, uint32_t stack, uint32_t *count);
static bool node_add(struct maker_tree *maker, const struct tree_node *node);
static bool node_grow(struct maker_tree *maker, size_t number);
static void node_sum(const struct maker_tree *maker, struct tree_node *node);
static bool is_small(const struct maker_tree *maker, const struct tree_node *node);
static int compare(const void *left, const void *right);

bool tree_order(struct order *order, const struct view *view, bool from_root)
{
    return order_make(order, view->stacks_count, frames_of, view, from_root);
}

static const uint32_t *frames_of(const void *context, uint32_t stack, uint32_t *count)
{
    struct view_stack made = view_stack(context, stack);
    *count = made.count;
    return made.frames;
}

/* ---- a part of it ----------------------------------------------------------------------- */

bool tree_make(struct tree *tree, const struct view *view, double min)
{
    struct maker_tree maker = {.view = view, .min = min};
    struct tree_node root = {.frame = UINT32_MAX, .end = (uint32_t)view->stacks_count};
    bool ok = tree_order(&maker.order, view, true) && node_add(&maker, &root);
    for (size_t i = 0; i < maker.count && ok; i++)
        ok = node_grow(&maker, i);
    order_free(&maker.order);
    *tree = (struct tree){maker.nodes, maker.count};
    if (!ok)
        tree_free(tree);
    return ok;
}

static bool node_add(struct maker_tree *maker, const struct tree_node *node)
{
    if (maker->count >= UINT32_MAX ||
        !list_reserve(&maker->nodes, &maker->room, maker->count + 1, sizeof *maker->nodes))
        return false;
    maker->nodes[maker->count++] = *node;
    return true;
}

/* Adds the children of a node. */
static bool node_grow(struct maker_tree *maker, size_t number)
{
    struct tree_node parent = maker->nodes[number];
    size_t before = maker->count, at = parent.place;
    if (at < parent.end &&
        view_stack(maker->view, order_stack(&maker->order, at)).count == parent.depth)
        at++; /* it ends here */
    for (size_t next; at < parent.end; at = next) {
        next = order_run(&maker->order, at, parent.end, parent.depth);
        struct tree_node child = {
            .depth = parent.depth + 1, .place = (uint32_t)at, .end = (uint32_t)next};
        node_sum(maker, &child);
        if (is_small(maker, &child)) {
            parent.hidden += child.value != 0;
            parent.hidden_value += (double)child.value;
            continue;
        }
        struct view_stack stack = view_stack(maker->view, order_stack(&maker->order, at));
        child.frame = stack.frames[stack.count - child.depth];
        if (!node_add(maker, &child))
            return false;
    }
    if (maker->count > before) {
        qsort(maker->nodes + before, maker->count - before, sizeof *maker->nodes, compare);
        parent.first = (uint32_t)before;
    }
    for (size_t i = before; i + 1 < maker->count; i++)
        maker->nodes[i].next = (uint32_t)i + 1;
    maker->nodes[number] = parent;
    return true;
}

static void node_sum(const struct maker_tree *maker, struct tree_node *node)
{
    node->stack = UINT32_MAX;
    for (size_t i = node->place; i < node->end; i++) {
        uint32_t stack = order_stack(&maker->order, i);
        node->value =
            (int64_t)((uint64_t)node->value + (uint64_t)view_sum(maker->view, stack).value);
        node->stack = stack < node->stack ? stack : node->stack;
    }
}

static bool is_small(const struct maker_tree *maker, const struct tree_node *node)
{
    double value = (double)node->value;
    return value < maker->min && -value < maker->min;
}

/* The heaviest first; of equal ones, the one that was there first. */
static int compare(const void *left, const void *right)
{
    const struct tree_node *a = left, *b = right;
    if (a->value != b->value)
        return a->value > b->value ? -1 : 1;
    return a->stack < b->stack ? -1 : a->stack > b->stack;
}

void tree_free(struct tree *tree)
{
    free(tree->nodes);
    *tree = (struct tree){NULL, 0};
}

/* ---- all of it -------------------------------------------------------------------------- */

bool tree_walk(const struct view *view, void (*each)(void *context, const struct tree_step *step),
               void *context)
{
    struct order order;
    struct level *levels = NULL;
    size_t room = 0;
    uint64_t number = 0;
    bool ok = tree_order(&order, view, true);
    for (size_t i = 0; i < order.count && ok; i++) {
        struct view_stack stack = view_stack(view, order_stack(&order, i));
        ok = list_reserve(&levels, &room, stack.count, sizeof *levels);
        for (uint32_t depth = order_shared(&order, i); depth < stack.count && ok; depth++) {
            struct level *level = &levels[depth];
            bool leaf = depth + 1 == stack.count;
            number++;
            *level =
                (struct level){.number = number, .end = order_run(&order, i, order.count, depth)};
            if (depth > order_shared(&order, i) && level[-1].end == level->end)
                level->total = level[-1].total;
            else
                for (size_t k = i; k < level->end; k++) {
                    struct view_value sum = view_sum(view, order_stack(&order, k));
                    view_add(&level->total, &sum);
                }
            struct tree_step step = {
                .number = number,
                .caller = depth > 0 ? level[-1].number : 0,
                .frame = stack.frames[stack.count - 1 - depth],
                .self = leaf ? view_sum(view, order_stack(&order, i)).value : 0,
                .total = level->total,
            };
            each(context, &step);
        }
    }
    free(levels);
    order_free(&order);
    return ok;
}

/* SPDX-License-Identifier: MIT */
/*
 * The tree is grown from the root, the widest box first, until there are enough of them: what
 * would be too thin to see is never looked at. A million stacks of which a few thousand boxes are
 * visible cost a few passes over the stacks.
 *
 * A node owns a range of the stacks in their order (profile/order.h): each run in it of stacks that
 * share one more frame is a child.
 *
 * In a comparison a stack is as wide as the larger of its two values, so that what is gone has its
 * place. Negative values, which come of profiles subtracted from each other, are the base's.
 */
#include "tool/report/picture/flame_tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tool/memory/memory.h"
#include "tool/report/report.h"

struct flame_grow {
    struct flame_tree *tree;
    const struct view *view;
    bool reversed;
    double min;
};

struct flame_order {
    double width;
    uint32_t node;
    bool rest;
};

static uint32_t flame_node(struct flame_tree *tree, uint32_t frame, uint32_t depth);
static void flame_add(struct flame_node *node, const struct view *view, uint32_t stack);
static void flame_grow(struct flame_grow *grow, uint32_t parent);
static bool flame_ends(const struct flame_grow *grow, const struct flame_node *node);
static void flame_rest(struct flame_node *rest, const struct flame_node *child);
static void flame_push(struct flame_tree *tree, uint32_t node);
static uint32_t flame_pop(struct flame_tree *tree);
static void flame_chain(struct flame_tree *tree, uint32_t parent, uint32_t first, uint32_t end);
static int flame_order_compare(const void *left, const void *right);

bool flame_tree_make(struct flame_tree *tree, const struct view *view, bool reversed, double min,
                     uint32_t max)
{
    *tree = (struct flame_tree){.compared = view->base != NULL};
    if (view->stacks_count >= FLAME_REST)
        return false;
    flame_node(tree, FLAME_ALL, 0);
    if (!tree_order(&tree->order, view, !reversed) || tree->failed)
        return false;
    struct flame_node *root = &tree->nodes[0];
    root->count = (uint32_t)view->stacks_count;
    for (uint32_t i = 0; i < root->count; i++) {
        flame_add(root, view, i);
        tree->compared = tree->compared || view_sum(view, i).value < 0;
    }
    struct flame_grow grow = {tree, view, reversed, min * root->width};
    flame_push(tree, 0);
    while (tree->heap_count > 0 && !tree->failed) {
        uint32_t parent = flame_pop(tree), first = tree->count;
        struct flame_node *node = &tree->nodes[parent];
        if (tree->count >= max || node->depth >= FLAME_DEPTH_MAX) {
            node->more = node->count - flame_ends(&grow, node);
            continue;
        }
        flame_grow(&grow, parent);
        flame_chain(tree, parent, first, tree->count);
    }
    for (uint32_t i = 1; i < tree->count; i++) {
        const struct view_value *sum = &tree->nodes[i].sum;
        tree->change_max = fmax(tree->change_max, fabs((double)sum->value - (double)sum->base));
    }
    return !tree->failed;
}

/* Answers 0, which is the root's number, when memory is out. */
static uint32_t flame_node(struct flame_tree *tree, uint32_t frame, uint32_t depth)
{
    if (!list_reserve(&tree->nodes, &tree->room, tree->count + 1u, sizeof *tree->nodes)) {
        tree->failed = true;
        return 0;
    }
    tree->nodes[tree->count] = (struct flame_node){.frame = frame, .depth = depth};
    if (depth > tree->depth)
        tree->depth = depth;
    return tree->count++;
}

static void flame_add(struct flame_node *node, const struct view *view, uint32_t stack)
{
    struct view_value sum = view_sum(view, stack);
    if (view->base == NULL && sum.value < 0) {
        sum.base = sum.value == INT64_MIN ? INT64_MAX : -sum.value;
        sum.base_objects = sum.objects == INT64_MIN ? INT64_MAX : -sum.objects;
        sum.value = sum.objects = 0;
    }
    if (sum.value < 0)
        sum.value = 0;
    if (sum.base < 0)
        sum.base = 0;
    view_add(&node->sum, &sum);
    node->width += (double)(sum.value > sum.base ? sum.value : sum.base);
}

static void flame_grow(struct flame_grow *grow, uint32_t parent)
{
    struct flame_tree *tree = grow->tree;
    struct flame_node from = tree->nodes[parent];
    struct flame_node rest = {.frame = FLAME_REST, .depth = from.depth + 1};
    uint32_t first_child = tree->count;
    size_t end = from.first + from.count;
    for (size_t i = from.first + flame_ends(grow, &from), next; i < end; i = next) {
        next = order_run(&tree->order, i, end, from.depth);
        struct flame_node child = {
            .depth = from.depth + 1, .first = (uint32_t)i, .count = (uint32_t)(next - i)};
        for (size_t k = i; k < next; k++)
            flame_add(&child, grow->view, order_stack(&tree->order, k));
        if (child.width < grow->min || child.width <= 0) {
            flame_rest(&rest, &child);
            continue;
        }
        struct view_stack stack = view_stack(grow->view, order_stack(&tree->order, i));
        child.frame = stack.frames[grow->reversed ? from.depth : stack.count - child.depth];
        uint32_t number = flame_node(tree, child.frame, child.depth);
        if (tree->failed)
            return;
        tree->nodes[number] = child;
    }
    if (rest.more > 0 && rest.width >= grow->min && rest.width > 0) {
        uint32_t number = flame_node(tree, FLAME_REST, rest.depth);
        if (tree->failed)
            return;
        tree->nodes[number] = rest;
    }
    for (uint32_t i = first_child; i < tree->count; i++)
        if (tree->nodes[i].frame != FLAME_REST)
            flame_push(tree, i);
}

/* Whether the first stack of a node has no more frames. There is one such stack at most. */
static bool flame_ends(const struct flame_grow *grow, const struct flame_node *node)
{
    return node->count > 0 &&
           view_stack(grow->view, order_stack(&grow->tree->order, node->first)).count ==
               node->depth;
}

static void flame_rest(struct flame_node *rest, const struct flame_node *child)
{
    rest->more++;
    rest->width += child->width;
    view_add(&rest->sum, &child->sum);
}

/* The heap of nodes to grow: the widest is at [0]. */
static void flame_push(struct flame_tree *tree, uint32_t node)
{
    if (!list_reserve(&tree->heap, &tree->heap_room, tree->heap_count + 1u, sizeof *tree->heap)) {
        tree->failed = true;
        return;
    }
    uint32_t at = tree->heap_count++;
    for (; at > 0; at = (at - 1) / 2) {
        uint32_t above = tree->heap[(at - 1) / 2];
        if (tree->nodes[above].width >= tree->nodes[node].width)
            break;
        tree->heap[at] = above;
    }
    tree->heap[at] = node;
}

static uint32_t flame_pop(struct flame_tree *tree)
{
    uint32_t top = tree->heap[0], last = tree->heap[--tree->heap_count], at = 0;
    for (;;) {
        uint32_t below = at * 2 + 1;
        if (below >= tree->heap_count)
            break;
        if (below + 1 < tree->heap_count &&
            tree->nodes[tree->heap[below + 1]].width > tree->nodes[tree->heap[below]].width)
            below++;
        if (tree->nodes[tree->heap[below]].width <= tree->nodes[last].width)
            break;
        tree->heap[at] = tree->heap[below];
        at = below;
    }
    tree->heap[at] = last;
    return top;
}

/* Chains the children [first, end) of a node: the widest first, the merged ones last. */
static void flame_chain(struct flame_tree *tree, uint32_t parent, uint32_t first, uint32_t end)
{
    if (first == end)
        return;
    struct flame_order *order = malloc((end - first) * sizeof *order);
    if (order == NULL) {
        tree->failed = true;
        return;
    }
    for (uint32_t i = first; i < end; i++)
        order[i - first] =
            (struct flame_order){tree->nodes[i].width, i, tree->nodes[i].frame == FLAME_REST};
    qsort(order, end - first, sizeof *order, flame_order_compare);
    tree->nodes[parent].child = order[0].node;
    for (uint32_t i = first; i < end; i++)
        tree->nodes[order[i - first].node].next = i + 1 < end ? order[i - first + 1].node : 0;
    free(order);
}

static int flame_order_compare(const void *left, const void *right)
{
    const struct flame_order *a = left, *b = right;
    if (a->rest != b->rest)
        return a->rest ? 1 : -1;
    if (a->width != b->width)
        return a->width > b->width ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

/* Stacks are deep: no recursion. */
bool flame_tree_walk(const struct flame_tree *tree, flame_visit *visit, void *context)
{
    struct {
        uint32_t node;
        double left;
    } *path = malloc((tree->depth + 2) * sizeof *path);
    if (path == NULL)
        return false;
    unsigned depth = 0, up = 0;
    path[0].node = 0;
    path[0].left = 0;
    for (;;) {
        const struct flame_node *node = &tree->nodes[path[depth].node];
        visit(context, node, path[depth].left, up);
        if (node->child != 0) {
            path[depth + 1].node = node->child;
            path[depth + 1].left = path[depth].left;
            depth++;
            up = 0;
            continue;
        }
        for (up = 1; node->next == 0 && depth > 0; up++)
            node = &tree->nodes[path[--depth].node];
        if (depth == 0)
            break;
        path[depth].left += node->width;
        path[depth].node = node->next;
    }
    free(path);
    return true;
}

int flame_tree_level(const struct flame_tree *tree, const struct flame_node *node)
{
    double change = (double)node->sum.value - (double)node->sum.base;
    double noise = 1.96 * sqrt(node->sum.variance + node->sum.base_variance);
    if (change == 0 || fabs(change) <= noise || tree->change_max <= 0)
        return 0;
    double share = fmin(1, fabs(change) / tree->change_max);
    int level = 1 + (int)(sqrt(share) * (FLAME_LEVELS - 0.01));
    level = level > FLAME_LEVELS ? FLAME_LEVELS : level;
    return change > 0 ? level : -level;
}

void flame_tree_free(struct flame_tree *tree)
{
    free(tree->nodes);
    order_free(&tree->order);
    free(tree->heap);
}

/* SPDX-License-Identifier: MIT */
/* See tool/report/tree.h. Children are found by hashing parent and frame. */
#include "tool/report/tree.h"

#include <stdlib.h>
#include <string.h>

#include "tool/report/parts.h"

struct maker_tree {
    struct tree_node *nodes;
    size_t count, room;
    uint32_t *slots;
    size_t slots_count;
};

static size_t slot_find(const struct maker_tree *maker, uint32_t parent, uint32_t frame)
{
    size_t mask = maker->slots_count - 1;
    size_t at = maker_hash(maker_hash(1, parent), frame) & mask;
    for (; maker->slots[at] != 0; at = (at + 1) & mask) {
        uint32_t node = maker->slots[at];
        if (maker->nodes[node].parent == parent && maker->nodes[node].frame == frame)
            break;
    }
    return at;
}

static bool grow(struct maker_tree *maker)
{
    size_t room = maker->room == 0 ? 1024 : 2 * maker->room;
    struct tree_node *nodes = realloc(maker->nodes, room * sizeof *nodes);
    maker->nodes = nodes ? nodes : maker->nodes;
    uint32_t *slots = calloc(2 * room, sizeof *slots);
    if (!nodes || !slots) {
        free(slots);
        return false;
    }
    free(maker->slots);
    maker->slots = slots;
    maker->slots_count = 2 * room;
    maker->room = room;
    for (uint32_t i = 1; i < maker->count; i++)
        slots[slot_find(maker, nodes[i].parent, nodes[i].frame)] = i;
    return true;
}

/* 0 when memory is out. */
static uint32_t child_of(struct maker_tree *maker, uint32_t parent, uint32_t frame)
{
    if (maker->count == maker->room && !grow(maker))
        return 0;
    size_t at = slot_find(maker, parent, frame);
    if (maker->slots[at] == 0) {
        maker->slots[at] = (uint32_t)maker->count;
        maker->nodes[maker->count++] = (struct tree_node){.frame = frame, .parent = parent};
    }
    return maker->slots[at];
}

static const struct tree_node *sorting; /* qsort has no context */

/* The lightest first: they are put in front of each other. */
static int compare(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    int64_t x = sorting[a].total.value, y = sorting[b].total.value;
    return x != y ? (x < y ? -1 : 1) : a < b ? 1 : -1;
}

static bool siblings_link(struct maker_tree *maker)
{
    uint32_t *order = malloc(maker->count * sizeof *order);
    if (!order)
        return false;
    for (uint32_t i = 0; i < maker->count; i++)
        order[i] = i;
    sorting = maker->nodes;
    qsort(order + 1, maker->count - 1, sizeof *order, compare);
    for (size_t i = 1; i < maker->count; i++) {
        struct tree_node *node = &maker->nodes[order[i]];
        struct tree_node *parent = &maker->nodes[node->parent];
        node->next = parent->first;
        parent->first = order[i];
    }
    free(order);
    return true;
}

bool tree_make(struct tree *tree, const struct view *view)
{
    struct maker_tree maker = {0};
    bool right = grow(&maker);
    if (right) {
        maker.nodes[0] = (struct tree_node){.frame = UINT32_MAX};
        maker.count = 1;
    }
    for (size_t i = 0; i < view->stacks_count && right; i++) {
        const struct view_stack *stack = &view->stacks[i];
        uint32_t node = 0;
        view_add(&maker.nodes[0].total, &stack->sum);
        for (uint32_t k = stack->count; k > 0 && right; k--) {
            node = child_of(&maker, node, view->path[stack->first + k - 1]);
            right = node != 0;
            if (right)
                view_add(&maker.nodes[node].total, &stack->sum);
        }
        if (right)
            view_add(&maker.nodes[node].self, &stack->sum);
    }
    right = right && siblings_link(&maker);
    free(maker.slots);
    *tree = (struct tree){maker.nodes, maker.count};
    if (!right)
        tree_free(tree);
    return right;
}

void tree_free(struct tree *tree)
{
    free(tree->nodes);
    *tree = (struct tree){NULL, 0};
}

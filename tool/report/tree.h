/* SPDX-License-Identifier: MIT */
/*
 * The stacks of a view as a tree from the roots. A node is a range of the stacks in their order
 * (profile/order.h), so that nothing has to be kept of those that are not shown.
 */
#ifndef REPORT_TREE_H
#define REPORT_TREE_H

#include "tool/report/view.h"

struct tree_node {
    uint32_t frame;
    uint32_t depth;       /* of the root above all roots: 0 */
    uint32_t first, next; /* child and sibling: nodes; 0: none. The heaviest is the first */
    uint32_t place, end;  /* of the order */
    uint32_t stack;       /* the first of its stacks, by number */
    int64_t value;
    uint64_t hidden; /* children that are too small, if they are not nothing, */
    double hidden_value;
};

struct tree {
    struct tree_node *nodes; /* [0] is the root above all roots */
    size_t count;
};

/* All whose value is `min` or more, whatever its sign. False when memory is out. */
bool tree_make(struct tree *tree, const struct view *view, double min);
void tree_free(struct tree *tree);

/* One node after the other, each behind its caller. They are numbered from 1; `caller` 0: a root.
 */
struct tree_step {
    uint64_t number, caller;
    uint32_t frame;
    int64_t self;
    struct view_value total;
};
bool tree_walk(const struct view *view, void (*step)(void *context, const struct tree_step *step),
               void *context);
/* The order of a view's stacks, from the root or from the leaf. False when memory is out. */
bool tree_order(struct order *order, const struct view *view, bool from_root);

#endif

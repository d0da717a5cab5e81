/* SPDX-License-Identifier: MIT */
/* The stacks of a view as a tree from the roots; the heaviest child is the first. */
#ifndef REPORT_TREE_H
#define REPORT_TREE_H

#include "tool/report/view.h"

struct tree_node {
    uint32_t frame;
    uint32_t parent;      /* a smaller number */
    uint32_t first, next; /* child and sibling: nodes; 0: none */
    struct view_value self, total;
};

struct tree {
    struct tree_node *nodes; /* [0] is the root above all roots */
    size_t count;
};

/* False when memory is out. */
bool tree_make(struct tree *tree, const struct view *view);
void tree_free(struct tree *tree);

#endif

/* SPDX-License-Identifier: MIT */
/* The merged stacks of a view as a tree of boxes, for flame graphs. */
#ifndef REPORT_PICTURE_FLAME_TREE_H
#define REPORT_PICTURE_FLAME_TREE_H

#include "tool/report/report.h"

/* Deeper stacks would make a picture that browsers do not draw; more shades than 5 are not told
 * apart. */
enum { FLAME_DEPTH_MAX = 1000, FLAME_LEVELS = 5 };
/* As frames. */
static const uint32_t FLAME_ALL = UINT32_MAX, FLAME_REST = UINT32_MAX - 1;

struct flame_node {
    uint32_t frame;        /* of the view, or one of the above */
    uint32_t depth;        /* 0: the root, which stands for all */
    uint32_t child, next;  /* first child, next sibling; 0: none */
    uint32_t first, count; /* of the order */
    uint32_t more; /* FLAME_REST: how many boxes are one; else stacks with frames not shown */
    double width;  /* what the box is wide: the value, or the larger of it and the base's */
    struct view_value sum;
};

struct flame_tree {
    struct flame_node *nodes; /* [0] is the root; children are behind their parents */
    uint32_t count;
    size_t room;
    uint32_t depth;
    bool compared;     /* there is a base, or there are negative values */
    double change_max; /* the largest change of a box but the root's */
    struct order order;
    uint32_t *heap;
    uint32_t heap_count;
    size_t heap_room;
    bool failed;
};

/* Boxes under `min` of the whole are merged with their siblings, and there are at most about
 * `max`. False when memory is out. */
bool flame_tree_make(struct flame_tree *tree, const struct view *view, bool reversed, double min,
                     uint32_t max);
/* Calls for each node from the root on, left to right: where it begins, in values, and by how many
 * levels it is above the one before it. False when memory is out. */
typedef void flame_visit(void *context, const struct flame_node *node, double left, unsigned up);
bool flame_tree_walk(const struct flame_tree *tree, flame_visit *visit, void *context);
/* -FLAME_LEVELS to FLAME_LEVELS: how much less or more than the base; 0 for the same or what
 * sampling explains. */
int flame_tree_level(const struct flame_tree *tree, const struct flame_node *node);
void flame_tree_free(struct flame_tree *tree);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The data of flame graphs, for flame.js: frames once, however many trees use them, and the nodes
 * of each tree as a short text. Texts are copied, so that a view may go when its tree is written.
 */
#ifndef REPORT_PICTURE_FLAME_DATA_H
#define REPORT_PICTURE_FLAME_DATA_H

#include <stdio.h>

#include "tool/memory/memory.h"
#include "tool/report/picture/flame_tree.h"
#include "tool/terminal/terminal.h"

enum { FLAME_MODULES_MAX = 256 }; /* boxes of further ones have no file */

struct flame_module {
    const char *path;
    double area;          /* of its boxes, a share of all in each tree */
    unsigned family, was; /* its colour; its number before the last ranking */
};

struct flame_data_frame {
    const char *name, *file;
    uint32_t line, module;
    uint8_t flags;
};

struct flame_data {
    struct flame_data_frame *frames;
    uint32_t count;
    size_t room;
    struct map known;
    struct flame_module modules[FLAME_MODULES_MAX];
    unsigned modules_count;
    struct arena texts;
    bool failed; /* memory is out */
};

void flame_data_free(struct flame_data *data);
/* The number of a frame in the data: from 2 on, 0 and 1 are "all" and the smaller ones. */
uint32_t flame_data_frame(struct flame_data *data, const struct view_frame *frame);
/* The frames of a tree, and the areas of their modules. */
void flame_data_add(struct flame_data *data, const struct view *view,
                    const struct flame_tree *tree);
/* Sorts modules by their area, which gives them colours; after the last tree. */
void flame_data_rank(struct flame_data *data);
/* Its fill: "c01". Ranked before. */
void flame_data_class(const struct flame_data *data, const struct view *view,
                      const struct flame_node *node, char text[16]);
/* The members "modules" and "frames" of an object of JSON. */
void flame_data_write(const struct flame_data *data, struct json *json);
/* Of each node, with a space after it: up,frame,value,objects,more and in a comparison
 * width,base,base objects,level; in base 36, 0 is nothing. */
void flame_data_nodes(struct flame_data *data, const struct view *view,
                      const struct flame_tree *tree, FILE *file);

#endif

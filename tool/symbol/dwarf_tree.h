/* SPDX-License-Identifier: MIT */
/*
 * The entries (DIEs) of one unit of DWARF, in the order of the file. libdw looks every attribute up
 * anew, at a cost that counts when there are tens of millions; here the shapes of entries are
 * read once for each unit, and most entries are stepped over in a few nanoseconds. What is in an
 * entry of interest is then asked from libdw.
 */
#ifndef SYMBOL_DWARF_TREE_H
#define SYMBOL_DWARF_TREE_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Blocks and inlined calls inside each other; compilers stop far below. */
enum { TREE_LEVELS = 512 };

struct tree_die {
    Dwarf_Die die;
    unsigned tag, level; /* the unit itself is on level 0 */
    bool children;
    bool has_pc; /* addresses of some kind */
    bool simple; /* they are these: */
    uint64_t low, behind;
    const unsigned char *sibling; /* NULL: not known */
};

struct tree {
    Dwarf_CU *cu;
    const unsigned char *unit, *at, *end;
    unsigned address_size, offset_size, version, level;
    struct tree_shape *shapes; /* by code */
    size_t shapes_count;
    struct tree_attribute *attributes;
    size_t attributes_count;
};

/* False: it can't be read. Pair with tree_close in any case. */
bool tree_open(struct tree *tree, Dwarf_Die *root);
void tree_close(struct tree *tree);
/* The next entry; its children come after it. False at the end, or where it makes no sense. */
bool tree_next(struct tree *tree, struct tree_die *die);
/* Leaves the children out, if it is known where they end. */
void tree_skip(struct tree *tree, const struct tree_die *die);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Every distinct stack, stored once, as a tree: a node is a return address and the node of its
 * caller; a stack is the number of its leaf's node. Nodes are numbered from 1 in the order of their
 * coming and never change or go, so whoever writes them to a file continues where it stopped.
 * Insertion takes no lock. Beyond the option heap.memory every new stack is STACK_OTHER.
 */
#ifndef WATCH_STACKS_H
#define WATCH_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct walk;

enum { STACK_NONE = 0, STACK_OTHER = 1 }; /* the empty stack; what was too much to remember */

/* The number of the stack in `walk`; fills in walk->nodes. */
uint32_t stacks_add(struct walk *walk);
/* Frames of a stack, leaf first; how many, at most `most`. */
unsigned stacks_frames(uint32_t stack, uintptr_t *pcs, unsigned most);
/* One node. False if there is none of that number. */
bool stacks_node(uint32_t node, uint32_t *caller, uintptr_t *pc);
/* All nodes from 2 up to it, without it, are filled in. */
uint32_t stacks_count(void);
/* How many times a stack was too much to remember. */
uint64_t stacks_refused(void);

/* Where the number of the stack's first site is kept (sites.h). */
uint32_t *stacks_sites(uint32_t stack);
/* In a forked child: nodes that another thread was about to fill in. */
void stacks_recover(void);
/* What a call left that a signal handler jumped out of (track_abandoned). */
void stacks_abandoned(void);

#endif

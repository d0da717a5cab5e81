/* SPDX-License-Identifier: MIT */
/*
 * Every distinct stack, stored once, as a tree: a node is a return address and the node of its
 * caller; a stack is the number of its leaf's node. Nodes are numbered from 1 in the order in which
 * they are added and never change or go away, so a file writer continues where it stopped.
 * Insertion takes no lock. When the tables have reached the option heap.memory, every new stack
 * becomes STACK_OTHER.
 */
#ifndef WATCH_STACKS_H
#define WATCH_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct walk;

enum { STACK_NONE = 0, STACK_OTHER = 1 }; /* the empty stack; all stacks beyond heap.memory */

/* The number of the stack in `walk`; fills in walk->nodes. */
uint32_t stacks_add(struct walk *walk);
/* The same in a signal handler, without waiting (table_add_now). */
uint32_t stacks_add_now(struct walk *walk);
/* Memory for stacks to come, if it can be had now: makes a refusal of `stacks_add_now` rare. */
void stacks_reserve(void);
/* With `mirror_on`, in a signal handler: what could not be copied to the recorder file before. */
void stacks_catch_up(void);
/* Writes the frames of a stack, leaf first, up to `max`; returns the number of frames. */
unsigned stacks_frames(uint32_t stack, uintptr_t *pcs, unsigned max);
/* One node. False if no node has that number. */
bool stacks_node(uint32_t node, uint32_t *caller, uintptr_t *pc);
/* All nodes from 2 up to this number, exclusive, are filled in. */
uint32_t stacks_count(void);
/* How often a stack was replaced by STACK_OTHER. */
uint64_t stacks_refused(void);

/* The variable that holds the number of the stack's first site (sites.h). */
uint32_t *stacks_sites(uint32_t stack);
/* All nodes into the recorder file (mirror.h), which has been made just now. */
void stacks_copy(void);
/* In a forked child: repairs nodes that another thread was about to fill in. */
void stacks_recover(void);
/* Repairs what a call left behind when a signal handler jumped out of it (track_abandoned). */
void stacks_abandoned(void);

#endif

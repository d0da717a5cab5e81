/* SPDX-License-Identifier: MIT */
/*
 * Events of single recorded blocks, for what needs more than sums: jemalloc's prof_log
 * (block_log.h) and prof_recent (recent.h). While neither is on, a recorded block costs one load of
 * `block_events`, and other blocks cost nothing.
 */
#ifndef HEAP_BLOCK_H
#define HEAP_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

enum { BLOCK_LOG = 1, BLOCK_RECENT = 2 };
extern HIDDEN uint32_t block_events; /* the events that are on */
/* True if this changes anything. */
bool block_events_switch(uint32_t event, bool on);

struct caller;
struct record;
struct sink;

/* A block that is freed: its age, its size, and where it was allocated (stacks.h, threads.h). */
struct block_end {
    uint64_t age_us;
    size_t usable;
    uint32_t stack, thread;
};
/* Tells all events that are on. Walks the stack of `caller`, which frees the block. */
void block_end(const struct record *record, const struct caller *caller,
               const struct block_end *end);

/* JSON: a stack as an array of addresses, leaf first; text in quotes. */
void block_write_stack(struct sink *sink, uint32_t stack);
void block_write_text(struct sink *sink, const char *text);

#endif

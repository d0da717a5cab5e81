/* SPDX-License-Identifier: MIT */
/*
 * Recorded blocks one by one, for those who want more than sums: jemalloc's prof_log (block_log.h)
 * and prof_recent (recent.h). While neither is on, a recorded block costs one look at
 * `block_events` more; others cost nothing.
 */
#ifndef HEAP_BLOCK_H
#define HEAP_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

enum { BLOCK_LOG = 1, BLOCK_RECENT = 2 };
extern HIDDEN uint32_t block_events; /* those that are on */
/* True if that changes anything. */
bool block_events_switch(uint32_t event, bool on);

struct caller;
struct record;
struct sink;

/* A block that ends: its age and size, and who allocated it (stacks.h, threads.h). */
struct block_end {
    uint64_t age_us;
    size_t usable;
    uint32_t stack, thread;
};
/* For all that are on. Finds out where the caller, who ends it, was called from. */
void block_end(const struct record *record, const struct caller *caller,
               const struct block_end *end);

/* JSON: a stack as an array of addresses, leaf first; text in quotes. */
void block_write_stack(struct sink *sink, uint32_t stack);
void block_write_text(struct sink *sink, const char *text);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Recorded blocks that have ended, one by one, for jemalloc's prof_log: which stack and thread
 * allocated and freed the block, when, and its size. Off by default; when started, it takes 40
 * bytes a block until it is stopped and written.
 */
#ifndef HEAP_BLOCK_LOG_H
#define HEAP_BLOCK_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/heap/block.h"

/* False if the log is already on. */
bool block_log_start(void);
/* A block ends in the calling thread, whose stack is `stack`. Takes no lock. */
void block_log_add(const struct block_end *end, uint32_t stack);
/* Stops the log; its rows stay until the next start. */
bool block_log_end(void);

struct block_log_row {
    uint64_t allocated_ns, freed_ns, usable; /* usable 0: the row is incomplete, or was written
                                                already */
    uint32_t stack, free_stack, allocated_by, freed_by;
};

/* The number of rows. NULL for a row that memory was out for. */
uint64_t block_log_count(void);
struct block_log_row *block_log_at(uint64_t number);
uint64_t block_log_started_ns(void);

#endif

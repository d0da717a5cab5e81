/* SPDX-License-Identifier: MIT */
/*
 * Recorded blocks that have ended, one by one, for jemalloc's prof_log: who allocated, who freed,
 * when, how much. Off unless somebody starts it; then 40 bytes a block until it is stopped and
 * written.
 */
#ifndef HEAP_BLOCK_LOG_H
#define HEAP_BLOCK_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/heap/block.h"

/* False if it runs already. */
bool block_log_start(void);
/* A block ends, in the calling thread, which got there by `stack`. Takes no lock. */
void block_log_add(const struct block_end *end, uint32_t stack);
/* Ends it; the rows stay until it is started again. */
bool block_log_end(void);

struct block_log_row {
    uint64_t allocated_ns, freed_ns, usable; /* usable 0: not complete, or written already */
    uint32_t stack, free_stack, allocated_by, freed_by;
};

/* Row numbers are below the count. NULL where memory was out. */
uint64_t block_log_count(void);
struct block_log_row *block_log_at(uint64_t number);
uint64_t block_log_started_ns(void);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * gperftools' debug allocator: which library names and variables ask for it, and its calls. What it
 * does is the option debug (lib/api/debugging.h).
 */
#ifndef GPERFTOOLS_DEBUG_ALLOCATOR_H
#define GPERFTOOLS_DEBUG_ALLOCATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* At the start: the option debug and its relatives from the name and the variables. */
void debug_allocator_init(void);
enum { DEBUG_HISTOGRAM_SIZE = 64 };
/* What MallocMemoryStats tells; false where blocks are not debugged. */
bool debug_allocator_histogram(int *blocks, size_t *total, int histogram[DEBUG_HISTOGRAM_SIZE]);
/* The bytes in the queue of freed blocks. */
size_t debug_allocator_queue_bytes(void);
/* Their limit, which programs may change. */
int32_t *debug_allocator_queue_flag(void);

#endif

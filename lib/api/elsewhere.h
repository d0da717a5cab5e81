/* SPDX-License-Identifier: MIT */
/*
 * Blocks that lie outside of the window (lib/alloc/outside.h), handed out when there is no other
 * memory. They are counted like all, and never sampled.
 */
#ifndef API_ELSEWHERE_H
#define API_ELSEWHERE_H

#include <stdbool.h>
#include <stddef.h>

/* Between `cold_begin` and `cold_end`. NULL when memory is out. */
void *elsewhere_take(size_t size, size_t align, bool *zero);
/* Frees p if it is such a block. Not between the two. */
bool elsewhere_free(void *p);

#endif

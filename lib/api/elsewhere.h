/* SPDX-License-Identifier: MIT */
/*
 * Blocks outside of the window (lib/alloc/outside.h), handed out when there is no other memory.
 * They are counted like all others, and never sampled.
 */
#ifndef API_ELSEWHERE_H
#define API_ELSEWHERE_H

#include <stdbool.h>
#include <stddef.h>

/* Between `cold_begin` and `cold_end`. NULL if memory is out. */
void *elsewhere_take(size_t size, size_t align, bool *zero);
/* Frees p if it is such a block. Not called between the two. */
bool elsewhere_free(void *p);

#endif

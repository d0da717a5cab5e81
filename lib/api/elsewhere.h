/* SPDX-License-Identifier: MIT */
/*
 * Blocks outside of the window: handed out when there is no other memory (lib/alloc/outside.h), or
 * in memory that the program lends (lib/alloc/lent.h). They are counted like all others, and never
 * sampled.
 */
#ifndef API_ELSEWHERE_H
#define API_ELSEWHERE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Between `cold_begin` and `cold_end`. NULL if memory is out. */
void *elsewhere_take(size_t size, size_t align, bool *zero);
/* Counts a block of memory that the program lends. From outside. */
void elsewhere_lent(size_t usable);
/* One got another size; `blocks` of them ended at once. From outside. */
void elsewhere_resized(size_t before, size_t now);
void elsewhere_ended(uint64_t blocks, uint64_t bytes);
/* Frees p if it is such a block. From outside. */
bool elsewhere_free(void *p);
/* The usable size of p; 0: it is no such block. */
size_t elsewhere_size(const void *p);

#endif

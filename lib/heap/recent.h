/* SPDX-License-Identifier: MIT */
/*
 * The last recorded blocks, live or freed, for jemalloc's prof_recent: the threads, stacks and
 * times of their allocation and free. Off until a number of blocks to keep is set; then 80 to 88
 * bytes for each.
 */
#ifndef HEAP_RECENT_H
#define HEAP_RECENT_H

#include <stddef.h>
#include <stdint.h>

#include "lib/heap/block.h"

/* The largest number of blocks that are kept: with their rows 22 MiB. */
enum { RECENT_MAX = 1 << 18 };

/* How many blocks to keep. -1: RECENT_MAX; 0: off. A change keeps the youngest. 0 or an errno
 * value. */
int64_t recent_max(void);
int recent_set_max(int64_t blocks);
/* A recorded block begins, in the calling thread, whose stack is `stack`; and ends. */
void recent_begin(const struct record *record, uint32_t stack, size_t requested, size_t usable);
void recent_end(const struct record *record, uint32_t stack);
/* As JSON. Holds no lock while it writes. 0 or an errno value. */
int recent_write(struct sink *sink, uint64_t sample_interval);
/* In a forked child. */
void recent_recover(uint32_t parent_id);
/* Repairs what a call left behind when a signal handler jumped out of it (track_abandoned). */
void recent_abandoned(void);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The blocks that were recorded last, live or not, for jemalloc's prof_recent: who allocated them
 * and when, and who freed them. Off unless somebody says how many to keep; then 80 to 88 bytes for
 * each.
 */
#ifndef HEAP_RECENT_H
#define HEAP_RECENT_H

#include <stddef.h>
#include <stdint.h>

#include "lib/heap/block.h"

/* More are not kept, whatever was asked for. */
enum { RECENT_MOST = 1 << 18 };

/* How many to keep: -1: no limit but that, 0: off. A change keeps the youngest. 0 or an errno
 * value. */
int64_t recent_max(void);
int recent_set_max(int64_t blocks);
/* A recorded block begins, in the calling thread, which got there by `stack`; and ends. */
void recent_begin(const struct record *record, uint32_t stack, size_t requested, size_t usable);
void recent_end(const struct record *record, uint32_t stack);
/* As JSON. Holds no lock meanwhile. 0 or an errno value. */
int recent_write(struct sink *sink, uint64_t sample_interval);
/* In a forked child. */
void recent_recover(uint32_t parent_id);
/* What a call left that a signal handler jumped out of (track_abandoned). */
void recent_abandoned(void);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * What heap.c needs of its bins beyond lib/alloc/heap.h. A bin adapts to what it sees: it grows
 * while it runs empty or overflows often, takes a share of what the program uses, and starts small
 * again after it lay idle.
 */
#ifndef ALLOC_BIN_H
#define ALLOC_BIN_H

#include "lib/alloc/heap.h"

/* Makes the bin empty and full. */
void bin_close(struct heap *heap, unsigned mark);
/* The same, and its stock goes. */
void bin_end(struct heap *heap, unsigned mark);
/* Tells the sum of all heaps (held.h) what is in the bins now, or in one. */
void bins_note(struct heap *heap);
void bin_note(struct heap *heap, unsigned mark);
/* The bin may hold more: the rest of this part of its clock's wait is not too long for that. */
void bin_clock_bound(struct heap *heap, unsigned mark, struct stock *stock);
/* Gives blocks back until no bin holds more than `bytes` bytes. */
void bins_trim(struct heap *heap, size_t bytes);
/* Many pages became free: makes the thread come by soon, to see whether they stay so. */
void bins_hurry(struct heap *heap, uint32_t now_ms);
/* After a call that changed one of them was left halfway: each has the blocks that it had, or none.
 */
void bins_settle(struct heap *heap);
/* Bins without a malloc since the last look, but for one, give everything back and start small
 * again. */
void bins_empty_idle(struct heap *heap, unsigned except);
/* Called once in a while: the same for all of them, and those that were used little give half of
 * what they have back. */
void bins_shrink(struct heap *heap);

/* What bin_bound.c answers. Counts a refill or a spill of the bin. */
void bin_turn(struct heap *heap, struct stock *stock);
/* Whether the bin makes a good part of the heap's refills and spills, and may grow for that. */
bool bin_is_busy(const struct heap *heap, unsigned mark, const struct stock *stock);
/* Whether it may grow since it was refilled again and again; since it was only ever filled. */
bool bin_is_eager(const struct heap *heap, unsigned mark, const struct stock *stock);
bool bin_may_fill(const struct heap *heap, unsigned mark, const struct stock *stock);
/* Memory in use in the heap's node. */
size_t bins_used_bytes(const struct heap *heap);
/* What the bins may hold in all, to grow for blocks of this size: a share of the memory in use, up
 * to the option. */
size_t bins_allowance(const struct heap *heap, size_t size);
/* To how many blocks a bin may grow whatever the other bins have. */
size_t bin_fair(const struct heap *heap, size_t size);
/* How many blocks the program lets a bin hold; SIZE_MAX: the program has set no bound. */
size_t bin_bound(const struct heap *heap, unsigned mark);
/* Whether the bins of all threads together have a limit: then every block counts. */
bool bins_budgeted(const struct heap *heap);
/* How many blocks an empty bin may hold: the lower of its own bound and its share of all bins. */
size_t bin_max(const struct heap *heap, unsigned mark);

#endif

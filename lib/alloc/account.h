/* SPDX-License-Identifier: MIT */
/*
 * What is where, summed up on request: the hot path counts nothing. Mallocs come from
 * the clocks, live blocks from what the centres handed out less what lies in bins, frees from the
 * difference. Exact when no other thread allocates meanwhile; otherwise each number is one that was
 * true at some moment of the call.
 *
 * Cost: the lists of the pools in use and the bins of all heaps are read, about 0.1 us a thread. No
 * span is looked at and no system call made, so the size of the heap does not matter. What is in
 * memory only the kernel knows, and it looks at each page: `account_ask_kernel`, where that is
 * worth it.
 */
#ifndef ALLOC_ACCOUNT_H
#define ALLOC_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/alloc/heap.h"

struct account_sum {
    uint64_t allocs, frees, alloc_bytes, free_bytes;
};

/* What is live: blocks and bytes. */
INLINE uint64_t account_live(const struct account_sum *sum)
{
    return sum->allocs - sum->frees;
}

INLINE uint64_t account_live_bytes(const struct account_sum *sum)
{
    return sum->alloc_bytes - sum->free_bytes;
}

/* One sum for each class, and one for all large blocks. */
enum { ACCOUNT_LARGE = CLASS_COUNT, ACCOUNT_ROWS };

struct account {
    struct account_sum total;
    struct account_sum classes[ACCOUNT_ROWS]; /* they add up to `total` */
    struct {
        uint64_t cached, here;
    } free[CLASS_COUNT]; /* blocks in threads' bins, and in spans that are in use */
    uint64_t live_blocks, live_bytes;
    uint64_t cached_bytes;     /* free blocks in threads' bins */
    uint64_t fragmented_bytes; /* free blocks in spans that are in use */
    uint64_t dirty_bytes;      /* free runs kept for reuse */
    uint64_t clean_bytes;      /* free runs without memory: never touched, or returned */
    uint64_t metadata_bytes;   /* tables, as far as they describe something */
    uint64_t mapped_bytes;
    uint64_t resident_bytes; /* at most in memory: all but what was never used or returned */
    uint64_t returned_bytes; /* given back to the kernel, in all */
    uint64_t heaps;
};

void account_take(struct account *account);
/* Replaces `metadata_bytes` and `resident_bytes` by what is in memory now. Takes about 4 ns a page
 * of the heap; unless the caller waits for it, at most 10 ms: beyond 8 GiB every nth page is asked
 * for then. */
void account_ask_kernel(struct account *account, bool waits);
/* Blocks that are not in the window (guarded ones): how many bytes of them, and of their tables,
 * are in memory, for `account_ask_kernel`. `parts_max` as for `os_resident`. */
struct account_apart {
    size_t (*blocks)(size_t parts_max), (*tables)(size_t parts_max);
};
void account_add_apart(const struct account_apart *added);
/* Only `classes`: what was allocated and freed. */
void account_classes(struct account_sum classes[ACCOUNT_ROWS]);
/* Small blocks in memory that the program lends, which are among the large ones, to those of their
 * classes. */
void account_move_lent(struct account_sum classes[ACCOUNT_ROWS]);
/* The same of what no heap counts: blocks past the bins, with an owner, and all of ended heaps.
 * With `heap_lock`. */
void account_past_heaps_locked(struct account_sum classes[ACCOUNT_ROWS]);
/* The sum over `classes`. */
struct account_sum account_total(const struct account_sum classes[ACCOUNT_ROWS]);
/* The total of this moment; needs less stack than `account_classes`. */
struct account_sum account_now(void);
/* Its live bytes, for a tenth of the time: bins are counted, and lists need not be. */
uint64_t account_live_now(void);
void account_thread(const struct heap *heap, struct account_sum *sum);
/* What the thread with that id has allocated since it has this heap: `allocs` and `alloc_bytes`,
 * for any thread that asks. False: the heap is not that thread's, or not all of it is known here
 * (front.c). */
bool account_other_thread(const struct heap *heap, uint32_t tid, struct account_sum *sum);
void account_class(unsigned class, struct account_sum *sum);

/* A block that no span has begins or ends, counted as one of the class, or as a large one
 * (CLASS_COUNT), whose sums the caller counts. */
void account_elsewhere(unsigned class, size_t usable, bool begins);
/* A block that the program has freed stays with a span for a while, and counts as freed. */
void account_detained(unsigned class, size_t usable, bool begins);

#endif

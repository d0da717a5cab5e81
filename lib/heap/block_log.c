/* SPDX-License-Identifier: MIT */
/*
 * See lib/heap/block_log.h. Rows lie in chunks that are mapped when they are needed and stay; a
 * row is claimed by counting up. Its size is written last: a row without one is not complete.
 */
#include "lib/heap/block_log.h"

#include "base/os.h"
#include "lib/heap/threads.h"

/* Chunks of 1.25 MiB; the log ends at 32 million blocks, 1.25 GiB. */
enum { CHUNK_ROWS = 1 << 15, CHUNKS = 1 << 10 };

static BULK struct block_log_row *chunks[CHUNKS];
static uint64_t count, started_ns;

bool block_log_start(void)
{
    if (load_relaxed(&block_events) & BLOCK_LOG)
        return false;
    started_ns = os_now_ns();
    store_relaxed(&count, 0);
    return block_events_switch(BLOCK_LOG, true);
}

struct block_log_row *block_log_at(uint64_t number)
{
    struct block_log_row *chunk = load_acquire(&chunks[number / CHUNK_ROWS]);
    return chunk == NULL ? NULL : &chunk[number % CHUNK_ROWS];
}

static struct block_log_row *row_new(void)
{
    uint64_t number = __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
    if (number >= (uint64_t)CHUNK_ROWS * CHUNKS)
        return NULL;
    struct block_log_row **place = &chunks[number / CHUNK_ROWS], *none = NULL;
    if (load_acquire(place) == NULL) {
        struct block_log_row *chunk = os_map(CHUNK_ROWS * sizeof *chunk);
        if (chunk != NULL && !__atomic_compare_exchange_n(place, &none, chunk, false,
                                                          __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            os_unmap(chunk, CHUNK_ROWS * sizeof *chunk);
    }
    return block_log_at(number);
}

void block_log_add(const struct block_end *end, uint32_t stack)
{
    struct block_log_row *row = row_new();
    if (row == NULL)
        return;
    row->freed_ns = os_now_ns();
    row->allocated_ns = row->freed_ns - end->age_us * 1000;
    row->stack = end->stack;
    row->free_stack = stack;
    row->allocated_by = end->thread;
    row->freed_by = threads_self();
    store_release(&row->usable, end->usable);
}

bool block_log_end(void)
{
    return block_events_switch(BLOCK_LOG, false);
}

uint64_t block_log_count(void)
{
    uint64_t rows = load_relaxed(&count), max = (uint64_t)CHUNK_ROWS * CHUNKS;
    return rows < max ? rows : max;
}

uint64_t block_log_started_ns(void)
{
    return started_ns;
}

/* SPDX-License-Identifier: MIT */ /* static-too */
/* The calls of memoir.h: their numbers are exact while one thread runs, they fill in no more than
 * the caller has room for, and the rate that is set is the rate that samples are taken at. */
#include "memoir/memoir.h"

#include <malloc.h>
#include <pthread.h>

#include "tests/api/check.h"

#pragma weak memoir_version
#pragma weak memoir_stats
#pragma weak memoir_thread_totals
#pragma weak memoir_class_totals
#pragma weak memoir_purge
#pragma weak memoir_set_rate
#pragma weak memoir_rate

enum { COUNT = 1000, SIZE = 200, LARGE = 300000 };

static void *blocks[COUNT];

static void totals_differ_by(const struct memoir_totals *before, const struct memoir_totals *after,
                             uint64_t allocs, uint64_t frees, uint64_t usable)
{
    CHECK_EQ(after->allocs - before->allocs, allocs);
    CHECK_EQ(after->frees - before->frees, frees);
    CHECK_EQ(after->alloc_bytes - before->alloc_bytes, allocs * usable);
    CHECK_EQ(after->free_bytes - before->free_bytes, frees * usable);
}

static void numbers_are_exact(size_t size)
{
    struct memoir_stats before, after;
    struct memoir_totals thread_before, thread_after, class_before, class_after;
    bool has_class = memoir_class_totals(size, &class_before);
    CHECK_EQ(has_class, size <= 32768);
    CHECK(memoir_stats(&before, sizeof before) && memoir_thread_totals(&thread_before));
    for (int i = 0; i < COUNT; i++) {
        blocks[i] = malloc(size);
    }
    uint64_t usable = malloc_usable_size(blocks[0]);
    for (int i = 0; i < COUNT / 4; i++) {
        free(blocks[i]);
    }
    CHECK(memoir_stats(&after, sizeof after) && memoir_thread_totals(&thread_after));
    totals_differ_by(&before.total, &after.total, COUNT, COUNT / 4, usable);
    totals_differ_by(&thread_before, &thread_after, COUNT, COUNT / 4, usable);
    CHECK_EQ(after.live_blocks - before.live_blocks, COUNT * 3 / 4);
    CHECK_EQ(after.live_bytes - before.live_bytes, COUNT * 3 / 4 * usable);
    CHECK(after.mapped_bytes >= after.live_bytes);
    CHECK(after.heaps >= 1 && after.metadata_bytes > 0);
    if (has_class) {
        CHECK(memoir_class_totals(size, &class_after));
        totals_differ_by(&class_before, &class_after, COUNT, COUNT / 4, usable);
    }
    for (int i = COUNT / 4; i < COUNT; i++) {
        free(blocks[i]);
    }
    CHECK(memoir_stats(&after, sizeof after));
    CHECK_EQ(after.live_blocks, before.live_blocks);
    CHECK_EQ(after.live_bytes, before.live_bytes);
}

/* A program built with a header that knew less gets what it knows of. */
static void smaller_structure(void)
{
    struct memoir_stats stats;
    memset(&stats, 0x5A, sizeof stats);
    CHECK(memoir_stats(&stats, offsetof(struct memoir_stats, live_bytes)));
    CHECK(stats.live_blocks < 1000000);
    CHECK_EQ(stats.live_bytes, 0x5A5A5A5A5A5A5A5A);
    CHECK_EQ(stats.samples_live, 0x5A5A5A5A5A5A5A5A);
}

static uint64_t samples_taken(void)
{
    struct memoir_stats stats;
    CHECK(memoir_stats(&stats, sizeof stats));
    return stats.samples_taken;
}

static void *allocate_some(void *unused)
{
    for (int i = 0; i < COUNT; i++) {
        free(malloc(SIZE));
    }
    return unused;
}

static void rate_is_obeyed(void)
{
    int64_t rate = memoir_rate();
    pthread_t thread;
    memoir_set_rate(0);
    CHECK_EQ(memoir_rate(), 0);
    uint64_t before = samples_taken();
    allocate_some(NULL);
    CHECK_EQ(samples_taken() - before, COUNT);
    before = samples_taken();
    CHECK_EQ(pthread_create(&thread, NULL, allocate_some, NULL), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK(samples_taken() - before >= COUNT);
    memoir_set_rate(-1);
    CHECK_EQ(memoir_rate(), -1);
    before = samples_taken();
    allocate_some(NULL);
    CHECK_EQ(samples_taken(), before);
    memoir_set_rate(rate);
    CHECK_EQ(memoir_rate(), rate);
}

static void purge_returns_memory(void)
{
    struct memoir_stats before, after;
    for (int i = 0; i < COUNT; i++) {
        blocks[i] = malloc(20000);
        memset(blocks[i], 1, 20000);
    }
    for (int i = 0; i < COUNT; i++) {
        free(blocks[i]);
    }
    CHECK(memoir_stats(&before, sizeof before));
    memoir_purge();
    CHECK(memoir_stats(&after, sizeof after));
    CHECK_EQ(memoir_purge(), 0);
    CHECK_AT(after.resident_bytes < (8u << 20), "%llu bytes of the heap stay resident",
             (unsigned long long)after.resident_bytes);
    CHECK(after.returned_bytes >= before.returned_bytes);
}

int main(void)
{
    if (!CHECK(memoir_version && memoir_stats && memoir_thread_totals && memoir_class_totals) ||
        !CHECK(memoir_purge && memoir_set_rate && memoir_rate)) {
        return check_result();
    }
    CHECK(memoir_version()[0] >= '0' && memoir_version()[0] <= '9');
    numbers_are_exact(SIZE);
    numbers_are_exact(1);
    numbers_are_exact(5000);
    numbers_are_exact(LARGE);
    smaller_structure();
    rate_is_obeyed();
    purge_returns_memory();
    return check_result();
}

/* SPDX-License-Identifier: MIT */
/* Threads with warm heaps wait while main makes a child, by fork and by the bare system call: at
 * its first visit the child notices that it is one, and what the threads that it does not have kept
 * for themselves goes home. The parent's heaps stay as they are. */
#include <signal.h>
#include <sys/syscall.h>

#include "memoir/memoir.h"
#include "tests/programs/work.h"

#pragma weak memoir_stats

enum { THREADS = 5, CHILDREN = 20, BLOCKS = 100, BLOCK_BYTES = 700, LARGE_BYTES = 100000 };

static pthread_barrier_t warm, may_end;

static void fill_bins(void)
{
    void *blocks[BLOCKS];
    for (int turn = 0; turn < 10; turn++) {
        for (int i = 0; i < BLOCKS; i++) {
            blocks[i] = malloc(BLOCK_BYTES);
        }
        for (int i = 0; i < BLOCKS; i++) {
            free(blocks[i]);
        }
    }
}

static void *hold_a_heap(void *unused)
{
    fill_bins();
    pthread_barrier_wait(&warm);
    pthread_barrier_wait(&may_end);
    return unused;
}

static struct memoir_stats stats_now(void)
{
    struct memoir_stats stats = {.heaps = 0};
    CHECK(memoir_stats(&stats, sizeof stats));
    return stats;
}

/* Does not return. */
static void be_child(unsigned turn, const struct memoir_stats *parent, bool by_fork)
{
    alarm(CHILD_SECONDS);
    free(malloc(LARGE_BYTES)); /* large blocks never come from a bin */
    struct memoir_stats child = stats_now();
    CHECK_EQ(child.heaps, 1);
    CHECK_AT(child.cached_bytes < parent->cached_bytes / 2, "%zu bytes in bins, the parent has %zu",
             (size_t)child.cached_bytes, (size_t)parent->cached_bytes);
    CHECK_EQ(child.live_blocks, parent->live_blocks);
    CHECK_EQ(child.total.allocs, parent->total.allocs + 1);
    if (check_failures != 0) {
        _exit(1);
    }
    if (by_fork) {
        child_works(turn);
    }
    /* Behind the C library's back no thread can be made. */
    syscall(SYS_exit_group, heap_works(turn) ? 0 : 2);
}

int main(void)
{
    pthread_t threads[THREADS];
    if (memoir_stats == NULL) {
        return 77;
    }
    alarm(100);
    pthread_barrier_init(&warm, NULL, THREADS + 1);
    pthread_barrier_init(&may_end, NULL, THREADS + 1);
    fill_bins();
    for (int i = 0; i < THREADS; i++) {
        CHECK_EQ(pthread_create(&threads[i], NULL, hold_a_heap, NULL), 0);
    }
    pthread_barrier_wait(&warm);
    struct memoir_stats before = stats_now();
    CHECK_EQ(before.heaps, THREADS + 1);
    for (unsigned i = 0; i < CHILDREN && check_failures == 0; i++) {
        long child = i % 2 ? fork() : syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
        if (child == 0) {
            be_child(i, &before, i % 2);
        }
        if (CHECK(child > 0)) {
            child_ended_well((pid_t)child);
        }
        struct memoir_stats after = stats_now();
        CHECK_EQ(after.heaps, before.heaps);
        CHECK_EQ(after.cached_bytes, before.cached_bytes);
        CHECK_EQ(after.live_blocks, before.live_blocks);
    }
    pthread_barrier_wait(&may_end);
    for (int i = 0; i < THREADS; i++) {
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    }
    return check_result();
}

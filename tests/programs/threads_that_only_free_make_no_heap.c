/* SPDX-License-Identifier: MIT */
/* Threads that never allocate, and threads that only free what others made: the latter need no heap
 * of their own, everything they free comes home, and nothing is left behind when they end. */
#include "memoir/memoir.h"
#include "tests/programs/work.h"

#pragma weak memoir_stats

enum { THREADS = 300, BLOCKS = 50 };

static void *blocks[BLOCKS];
static uint64_t heaps_in_thread;

static uint64_t heaps(void)
{
    struct memoir_stats stats = {.heaps = 0};
    return memoir_stats != NULL && memoir_stats(&stats, sizeof stats) ? stats.heaps : 0;
}

static void *only_free(void *unused)
{
    for (int i = 0; i < BLOCKS; i++) {
        free(blocks[i]);
    }
    heaps_in_thread = heaps();
    return unused;
}

static void *do_nothing(void *unused)
{
    return unused;
}

int main(void)
{
    alarm(100);
    for (int turn = 0; turn < THREADS; turn++) {
        pthread_t thread;
        CHECK_EQ(pthread_create(&thread, NULL, do_nothing, NULL), 0);
        CHECK_EQ(pthread_join(thread, NULL), 0);
        for (int i = 0; i < BLOCKS; i++) {
            blocks[i] = malloc(work_size((unsigned)i));
        }
        uint64_t before = heaps();
        CHECK_EQ(pthread_create(&thread, NULL, only_free, NULL), 0);
        CHECK_EQ(pthread_join(thread, NULL), 0);
        CHECK_EQ(heaps_in_thread, before);
        CHECK_EQ(heaps(), before);
    }
    return check_result();
}

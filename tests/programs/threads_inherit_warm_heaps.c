/* SPDX-License-Identifier: MIT */
/* A thread takes over the heap that an ended one left, warm: it has it from its first call on, and
 * its first block is one that was freed there. A thousand threads one after the other leave the
 * number of heaps, the bytes in bins and the allocator's own memory flat; each counts from zero,
 * and their counts and main's add up to the totals of the process. malloc_trim empties what waits
 * for a thread; a forked child has none of it and can use everything. */
#include <sched.h>

#include "memoir/memoir.h"
#include "tests/programs/work.h"

#pragma weak memoir_stats
#pragma weak memoir_thread_totals

enum {
    THREADS = 1000,
    WARM_UP = 100, /* after which ended threads keep no more rows of the profile */
    INHERITED_MIN = THREADS * 9 / 10, /* after a long pause a heap may have gone home */
    TOGETHER = 6,
    CHILDREN = 20,
    SLACK_BYTES = 64 * 1024,
    TABLES_SLACK = 128 * 1024, /* a heap for each thread would be 2 MB */
    BLOCKS = 80,               /* enough calls for a heap of its own where none waits */
    LEFT = 5,                  /* of those, freed by main after the thread's end */
    FIRST_BYTES = 700,
    YOUNG_PAIRS = 4, /* this many pairs of malloc and free go without a heap, warm or not */
};

struct task {
    void *left[LEFT];
    struct memoir_totals own;          /* at the thread's end */
    struct memoir_stats before, after; /* its first malloc */
    size_t first_bytes;
    pthread_barrier_t *together; /* if not NULL, waits for others before it ends */
};

static struct memoir_stats stats_now(void)
{
    struct memoir_stats stats = {.heaps = 0};
    CHECK(memoir_stats(&stats, sizeof stats));
    return stats;
}

static struct memoir_totals own_totals(void)
{
    struct memoir_totals totals = {0};
    CHECK(memoir_thread_totals(&totals));
    return totals;
}

static void totals_add(struct memoir_totals *to, struct memoir_totals more)
{
    to->allocs += more.allocs;
    to->frees += more.frees;
    to->alloc_bytes += more.alloc_bytes;
    to->free_bytes += more.free_bytes;
}

static bool totals_equal(struct memoir_totals a, struct memoir_totals b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

static void *live_shortly(void *of)
{
    static const size_t sizes[] = {10, 48, 100, FIRST_BYTES, 5000, 30000, 100000};
    struct task *task = of;
    void *blocks[BLOCKS];
    CHECK(totals_equal(own_totals(), (struct memoir_totals){0}));
    uint64_t bytes = 0, freed = 0;
    for (int i = 0; i < YOUNG_PAIRS; i++) {
        void *block = malloc(FIRST_BYTES);
        freed += malloc_usable_size(block);
        free(block);
    }
    task->before = stats_now();
    blocks[0] = malloc(FIRST_BYTES);
    task->after = stats_now();
    task->first_bytes = malloc_usable_size(blocks[0]);
    bytes = freed + task->first_bytes;
    for (int i = 1; i < BLOCKS; i++) {
        blocks[i] = malloc(sizes[i % (sizeof sizes / sizeof *sizes)]);
        bytes += malloc_usable_size(blocks[i]);
    }
    for (int i = 0; i < BLOCKS - LEFT; i++) {
        freed += malloc_usable_size(blocks[i]);
        free(blocks[i]);
    }
    memcpy(task->left, blocks + BLOCKS - LEFT, sizeof task->left);
    task->own = own_totals();
    CHECK(
        totals_equal(task->own, (struct memoir_totals){BLOCKS + YOUNG_PAIRS,
                                                       BLOCKS - LEFT + YOUNG_PAIRS, bytes, freed}));
    if (task->together != NULL) {
        pthread_barrier_wait(task->together);
    }
    return NULL;
}

static void free_left(struct task *task)
{
    for (int i = 0; i < LEFT; i++) {
        free(task->left[i]);
    }
}

static void run_one(struct task *task)
{
    pthread_t thread;
    task->together = NULL;
    CHECK_EQ(pthread_create(&thread, NULL, live_shortly, task), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    free_left(task);
}

/* Had from the first call after those on, and the block was in it. */
static bool inherited(const struct task *task)
{
    return task->after.heaps == task->before.heaps + 1 &&
           task->after.cached_bytes + task->first_bytes == task->before.cached_bytes;
}

static void run_many(void)
{
    struct memoir_totals sum = {0};
    struct task task;
    int warm = 0;
    for (int i = 0; i < WARM_UP; i++) {
        run_one(&task);
    }
    struct memoir_totals mine = own_totals();
    struct memoir_stats before = stats_now();
    for (int i = 0; i < THREADS; i++) {
        run_one(&task);
        warm += inherited(&task);
        totals_add(&sum, task.own);
    }
    struct memoir_stats after = stats_now();
    CHECK_AT(warm >= INHERITED_MIN, "%d of %d threads found a heap", warm, THREADS);
    CHECK_EQ(after.heaps, before.heaps);
    CHECK_AT(after.cached_bytes <= before.cached_bytes + SLACK_BYTES, "%zu bytes in bins, then %zu",
             (size_t)before.cached_bytes, (size_t)after.cached_bytes);
    CHECK_AT(after.metadata_bytes <= before.metadata_bytes + TABLES_SLACK,
             "%zu of its own, then %zu", (size_t)before.metadata_bytes,
             (size_t)after.metadata_bytes);
    CHECK_EQ(after.live_blocks, before.live_blocks);
    CHECK_EQ(after.live_bytes, before.live_bytes);
    totals_add(&sum, before.total);
    totals_add(&sum, own_totals());
    totals_add(&after.total, mine);
    CHECK(totals_equal(sum, after.total));
}

/* Leaves several heaps without a thread at once. */
static void run_together(void)
{
    static struct task tasks[TOGETHER];
    pthread_t threads[TOGETHER];
    pthread_barrier_t together;
    pthread_barrier_init(&together, NULL, TOGETHER);
    for (int i = 0; i < TOGETHER; i++) {
        tasks[i].together = &together;
        CHECK_EQ(pthread_create(&threads[i], NULL, live_shortly, &tasks[i]), 0);
    }
    for (int i = 0; i < TOGETHER; i++) {
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    }
    for (int i = 0; i < TOGETHER; i++) {
        free_left(&tasks[i]);
    }
    pthread_barrier_destroy(&together);
}

static void trim_empties_them(void)
{
    struct task task;
    struct memoir_stats before = stats_now();
    CHECK(before.cached_bytes > 0);
    malloc_trim(0);
    struct memoir_stats after = stats_now();
    CHECK_EQ(after.cached_bytes, 0);
    CHECK_EQ(after.live_blocks, before.live_blocks);
    CHECK(totals_equal(before.total, after.total));
    run_one(&task);
    CHECK_AT(!inherited(&task), "a thread found a heap after %s", "malloc_trim");
}

static void children_use_everything(void)
{
    for (unsigned i = 0; i < CHILDREN && check_failures == 0; i++) {
        run_together();
        struct memoir_stats before = stats_now();
        pid_t child = fork();
        if (child == 0) {
            struct task task;
            struct memoir_stats mine = stats_now();
            CHECK_EQ(mine.live_blocks, before.live_blocks);
            CHECK_EQ(mine.live_bytes, before.live_bytes);
            CHECK(totals_equal(mine.total, before.total));
            CHECK(mine.cached_bytes < before.cached_bytes);
            run_one(&task);
            CHECK(!inherited(&task));
            run_together();
            CHECK_EQ(stats_now().live_blocks, before.live_blocks);
            if (check_failures != 0) {
                _exit(1);
            }
            child_works(i);
        }
        if (CHECK(child > 0)) {
            child_ended_well(child);
        }
    }
}

int main(void)
{
    cpu_set_t here;
    if (memoir_stats == NULL) {
        return 77;
    }
    alarm(100);
    CPU_ZERO(&here); /* heaps are inherited on the same node */
    CPU_SET(sched_getcpu(), &here);
    sched_setaffinity(0, sizeof here, &here);
    run_many();
    run_together();
    trim_empties_them();
    children_use_everything();
    CHECK(heap_works(1));
    return check_result();
}

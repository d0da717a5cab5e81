/* SPDX-License-Identifier: MIT */
/*
 * Programs whose heap is worth a profile, for `bench/run profile`:
 *
 *     deep tree THREADS COUNT     COUNT allocations of mixed sizes from some 2,000 places of a call
 *                                 tree that is 10 to 30 frames deep, 4,000 blocks live a thread
 *     deep pairs DEPTH COUNT      COUNT pairs of malloc and free below DEPTH frames
 *     deep hold COUNT             COUNT blocks live at once
 *
 * The tree is a list of calls in the order they are made, each with its depth, so that two
 * allocations in succession share most of their stack, as in programs. What it prints are `name
 * value` pairs; under memoir the last ones are what it says about itself.
 */
#include "bench/micro.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

#include "include/memoir/memoir.h"

#define NOINLINE __attribute__((noinline))

enum { call_count = 3000, depth_min = 6, depth_max = 26, slot_count = 4000, thread_max = 64 };

struct worker;

struct call {
    uint64_t (*run)(struct worker *worker);
    unsigned depth, blocks;
    size_t size;
};

struct worker {
    uint64_t rng, sum;
    long left; /* allocations */
    unsigned at;
    unsigned char *slots[slot_count];
};

static struct call calls[call_count];

static NOINLINE void blocks_replace(struct worker *worker, const struct call *call)
{
    for (unsigned i = 0; i < call->blocks && worker->left > 0; i++, worker->left--) {
        unsigned char **slot = &worker->slots[rng_below(&worker->rng, slot_count)];
        if (*slot != NULL)
            worker->sum += block_end(*slot);
        *slot = block_object(call->size, i + 1);
    }
}

/* Functions that differ in where they call from and how large their frame is. */
#define VISIT(name, words)                                                       \
    static NOINLINE uint64_t name(struct worker *worker)                         \
    {                                                                            \
        volatile uint64_t frame[words];                                          \
        const struct call *call = &calls[worker->at++];                          \
        frame[0] = call->size;                                                   \
        blocks_replace(worker, call);                                            \
        while (worker->at < call_count && calls[worker->at].depth > call->depth) \
            frame[0] += calls[worker->at].run(worker);                           \
        return frame[0];                                                         \
    }
VISIT(visit_list, 2)
VISIT(visit_item, 4)
VISIT(visit_name, 7)
VISIT(visit_text, 12)
VISIT(visit_table, 24)
VISIT(visit_rule, 33)

static void calls_make(void)
{
    static uint64_t (*const kinds[])(struct worker *) = {visit_list, visit_item,  visit_name,
                                                         visit_text, visit_table, visit_rule};
    uint64_t rng = 7;
    unsigned depth = depth_min;
    for (unsigned i = 0; i < call_count; i++) {
        calls[i].run = kinds[rng_below(&rng, sizeof kinds / sizeof kinds[0])];
        calls[i].depth = depth;
        calls[i].blocks = (unsigned)rng_below(&rng, 4);
        calls[i].size = size_program(&rng);
        unsigned back = rng_below(&rng, 8) < 5 ? 0 : (unsigned)rng_below(&rng, 8);
        depth = depth + 1 > back + depth_min ? depth + 1 - back : depth_min;
        depth = depth < depth_max ? depth : depth_max;
    }
}

static void *worker_run(void *arg)
{
    struct worker *worker = arg;
    while (worker->left > 0)
        for (worker->at = 0; worker->at < call_count && worker->left > 0;)
            worker->sum += calls[worker->at].run(worker);
    for (unsigned i = 0; i < slot_count; i++)
        free(worker->slots[i]);
    return NULL;
}

static int tree(int threads, long count)
{
    static struct worker workers[thread_max];
    pthread_t ids[thread_max];
    uint64_t sum = 0;
    if (threads < 1 || threads > thread_max)
        return 2;
    calls_make();
    for (int i = 0; i < threads; i++) {
        workers[i].rng = (uint64_t)i + 1;
        workers[i].left = count / threads;
        if (i > 0 && pthread_create(&ids[i], NULL, worker_run, &workers[i]) != 0)
            return 1;
    }
    worker_run(&workers[0]);
    for (int i = 0; i < threads; i++) {
        if (i > 0)
            pthread_join(ids[i], NULL);
        sum += workers[i].sum;
    }
    printf("sum %llu\n", (unsigned long long)sum);
    return 0;
}

static NOINLINE uint64_t pairs(int depth, long count)
{
    if (depth > 1)
        return 1 + pairs(depth - 1, count); /* not the last thing it does */
    uint64_t sum = 0;
    for (long i = 0; i < count; i++)
        sum += block_end(block_object(64, (uint64_t)i));
    return sum;
}

static int hold(long count)
{
    struct job job = {.seed = 1};
    uint64_t rng = rng_seed(&job, 0);
    void **blocks = calloc((size_t)count, sizeof *blocks);
    if (blocks == NULL)
        return 1;
    for (long i = 0; i < count; i++)
        blocks[i] = block_filled(size_small(&rng), (uint64_t)i);
    return 0;
}

/* What the library says, if it is the one that is here. */
static void library_report(void)
{
    bool (*ask)(struct memoir_stats *, size_t);
    struct memoir_stats stats;
    *(void **)&ask = dlsym(RTLD_DEFAULT, "memoir_stats");
    if (ask != NULL && ask(&stats, sizeof stats))
        printf("live %llu samples %llu metadata %llu\n", (unsigned long long)stats.live_blocks,
               (unsigned long long)stats.samples_taken, (unsigned long long)stats.metadata_bytes);
}

int main(int argc, char **argv)
{
    int status = 2;
    if (argc == 4 && strcmp(argv[1], "tree") == 0)
        status = tree(atoi(argv[2]), atol(argv[3]));
    if (argc == 4 && strcmp(argv[1], "pairs") == 0)
        status = pairs(atoi(argv[2]), atol(argv[3])) == 0;
    if (argc == 3 && strcmp(argv[1], "hold") == 0)
        status = hold(atol(argv[2]));
    if (status == 2)
        fputs("usage: deep tree THREADS COUNT | deep pairs DEPTH COUNT | deep hold COUNT\n",
              stderr);
    else
        library_report();
    return status;
}

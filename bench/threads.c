/* SPDX-License-Identifier: MIT */
/*
 * What a thread costs in memory. Three programs in one:
 *
 *     threads live COUNT [STACK_KIB]    COUNT threads at the same time
 *     threads churn COUNT               COUNT threads created and ended, 8 at a time
 *     threads crowd COUNT SLOTS MAX OPS COUNT threads at the same time, all of them busy
 *
 * Each thread allocates two dozen blocks of mixed sizes, frees most of them and keeps a few.
 * `live` then lets all of them wait until the last has done its part, and prints the resident
 * memory at that moment, before and after: a heap per thread must not be much larger than what
 * the thread holds. `churn` frees the kept blocks in the thread that joins, and prints the
 * resident memory after the first thousand and at the end: the two must be alike.
 *
 * In a `crowd`, each thread has SLOTS blocks of 16 to MAX bytes, and replaces one at random OPS
 * times; ten times it lets others run in between, so that all threads are busy at once. The
 * resident memory is taken when all have done so and still hold their blocks.
 *
 * Stacks are of 64 KiB, so that what is measured is the allocator; their pages are in the number.
 */
#include "bench/micro.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

enum { block_count = 24, kept_count = 4, at_once = 8, early_threads = 1000 };

struct gate {
    pthread_mutex_t lock;
    pthread_cond_t arrived, open;
    long waiting;
    int is_open;
};

struct crowd {
    uint32_t slots, max;
    long ops;
};

struct visitor {
    pthread_t thread;
    uint64_t rng;
    struct gate *gate; /* NULL: do not wait */
    const struct crowd *crowd;
    void *kept[kept_count];
};

void block_fail(size_t size)
{
    fprintf(stderr, "threads: malloc(%zu) failed\n", size);
    abort();
}

static long resident_kib(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file == NULL || fscanf(file, "%*s %ld", &pages) != 1)
        pages = 0;
    if (file != NULL)
        fclose(file);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void gate_wait(struct gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    gate->waiting++;
    pthread_cond_signal(&gate->arrived);
    while (!gate->is_open)
        pthread_cond_wait(&gate->open, &gate->lock);
    pthread_mutex_unlock(&gate->lock);
}

static void *visitor_run(void *arg)
{
    struct visitor *visitor = arg;
    void *blocks[block_count];
    for (int i = 0; i < block_count; i++) {
        size_t size = 16 + (size_t)rng_below(&visitor->rng, 8) * 32;
        if (i % 12 == 0)
            size = 1024 + (size_t)rng_below(&visitor->rng, 3072);
        blocks[i] = block_object(size, (uint64_t)i);
    }
    for (int i = 0; i < block_count; i++) {
        if (i % (block_count / kept_count) == 1)
            visitor->kept[i / (block_count / kept_count)] = blocks[i];
        else
            free(blocks[i]);
    }
    if (visitor->gate != NULL)
        gate_wait(visitor->gate);
    return NULL;
}

static void *visitor_churn(void *arg)
{
    struct visitor *visitor = arg;
    const struct crowd *crowd = visitor->crowd;
    void **blocks = block_new(crowd->slots * sizeof *blocks);
    for (uint32_t i = 0; i < crowd->slots; i++)
        blocks[i] = NULL;
    for (long i = 0; i < crowd->ops; i++) {
        uint64_t slot = rng_below(&visitor->rng, crowd->slots);
        free(blocks[slot]);
        blocks[slot] = block_object(16 + rng_below(&visitor->rng, crowd->max - 15), (uint64_t)i);
        if (i % (crowd->ops / 10 + 1) == 0)
            sched_yield();
    }
    gate_wait(visitor->gate);
    for (uint32_t i = 0; i < crowd->slots; i++)
        free(blocks[i]);
    free(blocks);
    return NULL;
}

static void visitor_start(struct visitor *visitor, const pthread_attr_t *attr)
{
    void *(*run)(void *) = visitor->crowd != NULL ? visitor_churn : visitor_run;
    int error = pthread_create(&visitor->thread, attr, run, visitor);
    if (error != 0) {
        fprintf(stderr, "threads: pthread_create: %s\n", strerror(error));
        exit(1);
    }
}

static void visitor_end(struct visitor *visitor)
{
    pthread_join(visitor->thread, NULL);
    for (int i = 0; i < kept_count; i++)
        free(visitor->kept[i]);
}

static void live(long count, const struct crowd *crowd, const pthread_attr_t *attr)
{
    static struct gate gate = {.lock = PTHREAD_MUTEX_INITIALIZER,
                               .arrived = PTHREAD_COND_INITIALIZER,
                               .open = PTHREAD_COND_INITIALIZER};
    struct visitor *visitors = block_new((size_t)count * sizeof *visitors);
    long before = resident_kib();
    for (long i = 0; i < count; i++) {
        uint64_t rng = (uint64_t)i * 2654435761u + 1;
        visitors[i] = (struct visitor){.rng = rng, .gate = &gate, .crowd = crowd};
        visitor_start(&visitors[i], attr);
    }
    pthread_mutex_lock(&gate.lock);
    while (gate.waiting < count)
        pthread_cond_wait(&gate.arrived, &gate.lock);
    long during = resident_kib();
    gate.is_open = 1;
    pthread_cond_broadcast(&gate.open);
    pthread_mutex_unlock(&gate.lock);
    for (long i = 0; i < count; i++)
        visitor_end(&visitors[i]);
    free(visitors);
    printf("live %ld before_kib %ld during_kib %ld after_kib %ld\n", count, before, during,
           resident_kib());
}

static void churn(long count, const pthread_attr_t *attr)
{
    struct visitor visitors[at_once];
    long early = 0;
    for (long done = 0; done < count; done += at_once) {
        for (int i = 0; i < at_once; i++) {
            visitors[i] = (struct visitor){.rng = (uint64_t)(done + i) * 2654435761u + 1};
            visitor_start(&visitors[i], attr);
        }
        for (int i = 0; i < at_once; i++)
            visitor_end(&visitors[i]);
        if (early == 0 && done + at_once >= early_threads)
            early = resident_kib();
    }
    printf("churn %ld early_kib %ld late_kib %ld\n", count, early, resident_kib());
}

static int usage(void)
{
    fputs("usage: threads live COUNT [STACK_KIB] | threads churn COUNT\n"
          "       threads crowd COUNT SLOTS MAX OPS\n",
          stderr);
    return 2;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 2 ? argv[1] : "";
    long numbers[4] = {0, 0, 0, 0};
    for (int i = 2; i < argc && i < 6; i++)
        numbers[i - 2] = strtol(argv[i], NULL, 10);
    struct crowd crowd = {(uint32_t)numbers[1], (uint32_t)numbers[2], numbers[3]};
    long stack_kib = strcmp(mode, "live") == 0 && argc > 3 ? numbers[1] : 64;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    if (numbers[0] < 1 || pthread_attr_setstacksize(&attr, (size_t)stack_kib * 1024) != 0)
        return usage();
    if (strcmp(mode, "live") == 0)
        live(numbers[0], NULL, &attr);
    else if (strcmp(mode, "churn") == 0)
        churn(numbers[0], &attr);
    else if (strcmp(mode, "crowd") == 0 && numbers[1] > 0 && numbers[2] >= 16 && numbers[3] > 0)
        live(numbers[0], &crowd, &attr);
    else
        return usage();
    return 0;
}

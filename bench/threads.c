/* SPDX-License-Identifier: MIT */
/*
 * What a thread costs in memory. Two programs in one:
 *
 *     threads live COUNT [STACK_KIB]    COUNT threads at the same time
 *     threads churn COUNT               COUNT threads created and ended, 8 at a time
 *
 * Each thread allocates two dozen blocks of mixed sizes, frees most of them and keeps a few.
 * `live` then lets all of them wait until the last has done its part, and prints the resident
 * memory at that moment, before and after: a heap per thread must not be much larger than what
 * the thread holds. `churn` frees the kept blocks in the thread that joins, and prints the
 * resident memory after the first thousand and at the end: the two must be alike.
 *
 * Stacks are of 64 KiB, so that what is measured is the allocator; their pages are in the number.
 */
#include "bench/micro.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { block_count = 24, kept_count = 4, at_once = 8, early_threads = 1000 };

struct gate {
    pthread_mutex_t lock;
    pthread_cond_t arrived, open;
    long waiting;
    int is_open;
};

struct visitor {
    pthread_t thread;
    uint64_t rng;
    struct gate *gate; /* NULL: do not wait */
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

static void visitor_start(struct visitor *visitor, const pthread_attr_t *attr)
{
    int error = pthread_create(&visitor->thread, attr, visitor_run, visitor);
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

static void live(long count, const pthread_attr_t *attr)
{
    static struct gate gate = {.lock = PTHREAD_MUTEX_INITIALIZER,
                               .arrived = PTHREAD_COND_INITIALIZER,
                               .open = PTHREAD_COND_INITIALIZER};
    struct visitor *visitors = block_new((size_t)count * sizeof *visitors);
    long before = resident_kib();
    for (long i = 0; i < count; i++) {
        visitors[i] = (struct visitor){.rng = (uint64_t)i * 2654435761u + 1, .gate = &gate};
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

int main(int argc, char **argv)
{
    long count = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
    long stack_kib = argc > 3 ? strtol(argv[3], NULL, 10) : 64;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    if (count < 1 || pthread_attr_setstacksize(&attr, (size_t)stack_kib * 1024) != 0) {
        fputs("usage: threads live COUNT [STACK_KIB] | threads churn COUNT\n", stderr);
        return 2;
    }
    if (strcmp(argv[1], "live") == 0)
        live(count, &attr);
    else
        churn(count, &attr);
    return 0;
}

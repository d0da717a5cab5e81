/* SPDX-License-Identifier: MIT */
/*
 * What a program keeps resident at the end of each of its phases, which its peak does not tell:
 *
 *     phases THREADS MIB IDLE_S PAIRS
 *
 *     built     MIB mebibytes of blocks of 8 to 512 bytes
 *     thinned   nine in ten of them freed, at random
 *     moved     beside the rest, half as many mebibytes in blocks of 1 to 8 KiB, each of them
 *               replaced about three times, at random
 *     freed     nothing lives
 *     rested    a third of IDLE_S seconds later; every 50 ms each thread allocates and frees PAIRS
 *               blocks of 8 to 512 bytes, one after the other: with 1 the program idles, with more
 *               it has little to do; an allocator without a thread of its own sees the time pass
 *     idle      IDLE_S seconds after all was freed
 *
 * Threads share the work, go through a phase together, and free what they allocated. Blocks are
 * written to as a whole, so that all of what lives is resident. Prints what is resident before the
 * first phase (the program, and its tables of pointers, which do not come from malloc), and for
 * each phase what is live, and how much more is resident than before.
 */
#include "bench/micro.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { small_min = 64, large_min = 2048 }; /* bytes a block at least, on average */
enum { kept_of = 10, replaced = 3, pause_ms = 50 };

struct block {
    void *start;
    size_t size;
};

struct worker {
    pthread_t thread;
    uint64_t rng;
    struct block *small, *large;
    size_t small_count, large_count;
    size_t live; /* bytes asked for and not freed */
};

static long thread_count, bytes_each, idle_s, idle_pairs;
static pthread_barrier_t begin, end;

/* Not by stdio, which allocates a buffer. */
static long resident_kib(void)
{
    char text[128] = "";
    long pages = 0;
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && read(fd, text, sizeof text - 1) > 0)
        sscanf(text, "%*s %ld", &pages);
    if (fd >= 0)
        close(fd);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void *table_new(size_t bytes)
{
    void *table = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (table == MAP_FAILED)
        block_fail(bytes);
    return table;
}

static void put(struct worker *worker, struct block *block, size_t size)
{
    block->start = block_new(size);
    block->size = size;
    memset(block->start, (int)size, size);
    worker->live += size;
}

static void take(struct worker *worker, struct block *block)
{
    free(block->start);
    worker->live -= block->size;
    *block = (struct block){NULL, 0};
}

static void build(struct worker *worker)
{
    size_t max = (size_t)bytes_each / small_min;
    while (worker->live < (size_t)bytes_each && worker->small_count < max)
        put(worker, &worker->small[worker->small_count++], size_small(&worker->rng));
}

static void thin(struct worker *worker)
{
    for (size_t i = 0; i < worker->small_count; i++)
        if (rng_below(&worker->rng, kept_of) != 0)
            take(worker, &worker->small[i]);
}

static size_t size_large(uint64_t *rng)
{
    return 1024 + rng_below(rng, 7 * 1024 + 1);
}

static void move(struct worker *worker)
{
    size_t max = (size_t)bytes_each / 2 / large_min;
    size_t until = worker->live + (size_t)bytes_each / 2;
    while (worker->live < until && worker->large_count < max)
        put(worker, &worker->large[worker->large_count++], size_large(&worker->rng));
    for (size_t i = 0; i < worker->large_count * replaced; i++) {
        struct block *block =
            &worker->large[rng_below(&worker->rng, (uint32_t)worker->large_count)];
        take(worker, block);
        put(worker, block, size_large(&worker->rng));
    }
}

static void free_all(struct worker *worker)
{
    for (size_t i = 0; i < worker->small_count; i++)
        take(worker, &worker->small[i]);
    for (size_t i = 0; i < worker->large_count; i++)
        take(worker, &worker->large[i]);
}

static void wait_ms(struct worker *worker, long ms)
{
    const struct timespec pause = {0, pause_ms * 1000000L};
    for (long i = 0; i < ms / pause_ms; i++) {
        for (long pair = 0; pair < idle_pairs; pair++) {
            struct block block;
            put(worker, &block, size_small(&worker->rng));
            take(worker, &block);
        }
        nanosleep(&pause, NULL);
    }
}

static void rest(struct worker *worker)
{
    wait_ms(worker, idle_s * 1000 / 3);
}

static void idle(struct worker *worker)
{
    wait_ms(worker, idle_s * 2000 / 3);
}

static const struct phase {
    const char *name;
    void (*run)(struct worker *worker);
} phases[] = {
    {"built", build},    {"thinned", thin}, {"moved", move},
    {"freed", free_all}, {"rested", rest},  {"idle", idle},
};
enum { phase_count = sizeof phases / sizeof phases[0] };

static void *worker_run(void *argument)
{
    for (int i = 0; i < phase_count; i++) {
        pthread_barrier_wait(&begin);
        phases[i].run(argument);
        pthread_barrier_wait(&end);
    }
    /* A thread that ends may return memory: not before the last look. */
    pthread_barrier_wait(&begin);
    return NULL;
}

static void measure(const struct worker *workers)
{
    long resident[phase_count], live[phase_count], before = resident_kib();
    for (int i = 0; i < phase_count; i++) {
        pthread_barrier_wait(&begin);
        pthread_barrier_wait(&end);
        resident[i] = resident_kib() - before;
        live[i] = 0;
        for (long t = 0; t < thread_count; t++)
            live[i] += (long)(workers[t].live / 1024);
    }
    pthread_barrier_wait(&begin);
    printf("before_kib %ld ", before);
    for (int i = 0; i < phase_count; i++)
        printf("%s_kib %ld %s_live_kib %ld%c", phases[i].name, resident[i], phases[i].name, live[i],
               i < phase_count - 1 ? ' ' : '\n');
}

int main(int argc, char **argv)
{
    long numbers[4] = {0, 0, 0, 0};
    for (int i = 1; i < argc && i <= 4; i++)
        numbers[i - 1] = strtol(argv[i], NULL, 10);
    long mib = numbers[1];
    thread_count = numbers[0], idle_s = numbers[2], idle_pairs = numbers[3];
    if (argc != 5 || thread_count < 1 || mib < 1 || mib > 1024 || idle_s < 0 || idle_pairs < 0) {
        fputs("usage: phases THREADS MIB IDLE_S PAIRS\n", stderr);
        return 2;
    }
    bytes_each = (mib << 20) / thread_count;
    struct worker *workers = table_new((size_t)thread_count * sizeof *workers);
    pthread_barrier_init(&begin, NULL, (unsigned)thread_count + 1);
    pthread_barrier_init(&end, NULL, (unsigned)thread_count + 1);
    for (long t = 0; t < thread_count; t++) {
        size_t small = (size_t)bytes_each / small_min * sizeof(struct block);
        workers[t] = (struct worker){
            .rng = (uint64_t)t * 2654435761u + 1,
            .small = table_new(small),
            .large = table_new((size_t)bytes_each / large_min * sizeof(struct block)),
        };
        if (pthread_create(&workers[t].thread, NULL, worker_run, &workers[t]) != 0)
            block_fail(0);
    }
    measure(workers);
    for (long t = 0; t < thread_count; t++)
        pthread_join(workers[t].thread, NULL);
    return 0;
}

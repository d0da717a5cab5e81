/* SPDX-License-Identifier: MIT */
/*
 * Loops that only allocate and free: what a pair of the two costs.
 *
 *     loops MODE MIN MAX SLOTS THREADS OPS [WARM]
 *
 * Each of THREADS threads makes OPS pairs of malloc and free, sizes from MIN to MAX, after WARM
 * pairs that are not counted (default 0: the first pairs of a process, caches still empty). It
 * prints `name value` pairs: `cpu_ns`, CPU time of the process for a pair; `wall_ns`, elapsed time
 * in which a thread makes a pair. CPU time is steady on a busy machine, but does not see threads
 * that wait for each other; elapsed time does.
 *
 * It links to libc only, so that it runs alone under LD_PRELOAD or `valgrind --tool=cachegrind`;
 * the difference of two runs that differ in OPS is free of start-up.
 */
#include "bench/micro.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

enum { thread_max = 256, size_max = 1 << 30, slot_max = 1 << 24 };

struct worker;

struct mode {
    const char *name;
    void (*run)(struct worker *worker, uint64_t ops);
    size_t touch; /* bytes written at the beginning of a block, if it is that large */
    unsigned threads_min;
    const char *what;
};

struct plan {
    const struct mode *mode;
    uint32_t min, max, slots, threads;
    uint64_t ops, warm;
};

/* Aligned, so that no two threads write to one line: the loops measure the allocator's lines. */
struct worker {
    _Alignas(128) const struct plan *plan;
    uint64_t rng;
    void **blocks;   /* `slots` of them, NULL where there is none */
    uint32_t *order; /* a permutation of the slots */
    uint32_t number;
    pthread_t thread;
    double began, ended;              /* elapsed time */
    _Alignas(128) void *_Atomic mail; /* blocks from another thread, linked by their first word */
    uint64_t rounds;                  /* of cross, under `pace_lock` */
};

static struct worker workers[thread_max];
static pthread_barrier_t barrier;
static double cpu_began, cpu_ended;

static size_t size_even(struct worker *worker)
{
    const struct plan *plan = worker->plan;
    return plan->min + rng_below(&worker->rng, plan->max - plan->min + 1);
}

/* Linear falloff: the smallest sizes are the most frequent, the largest hardly occur. */
static size_t size_falling(struct worker *worker)
{
    size_t a = size_even(worker), b = size_even(worker);
    return a < b ? a : b;
}

/* As many between 8 and 16 bytes as between 8 and 16 KiB; the last octave begins below `max`. */
static size_t size_octaves(struct worker *worker)
{
    const struct plan *plan = worker->plan;
    uint32_t octaves = 32 - (uint32_t)__builtin_clz((plan->max - 1) / plan->min | 1);
    uint32_t base = plan->min << rng_below(&worker->rng, octaves);
    return base + rng_below(&worker->rng, base);
}

static void *block_touched(const struct worker *worker, size_t size)
{
    uint32_t *block = block_new(size);
    size_t touch = worker->plan->mode->touch;
    *block = 1;
    if (touch > sizeof *block)
        memset(block, 1, touch < size ? touch : size);
    return block;
}

/* slots: a block at random is freed, and another of random size allocated in its place. */
static void slots_run(struct worker *worker, uint64_t ops)
{
    void **blocks = worker->blocks;
    uint32_t slots = worker->plan->slots;
    for (uint64_t i = 0; i < ops; i++) {
        uint64_t slot = rng_below(&worker->rng, slots);
        free(blocks[slot]);
        blocks[slot] = block_touched(worker, size_even(worker));
    }
}

/*
 * heirs: as slots, but a thread lives for `life` times as many pairs as it has slots; its
 * successor inherits the slots and frees what the ended thread allocated.
 */
enum { life = 20 };

static void *heir_thread(void *arg)
{
    struct worker *worker = arg;
    slots_run(worker, (uint64_t)life * worker->plan->slots);
    return NULL;
}

static void heirs_run(struct worker *worker, uint64_t ops)
{
    for (uint64_t done = 0; done < ops; done += (uint64_t)life * worker->plan->slots) {
        pthread_t heir;
        if (pthread_create(&heir, NULL, heir_thread, worker) != 0)
            abort();
        pthread_join(heir, NULL);
    }
}

/* forward, reverse, shuffle: all slots allocated, then all freed. */
static void slots_fill(struct worker *worker)
{
    for (uint32_t i = 0; i < worker->plan->slots; i++)
        worker->blocks[i] = block_touched(worker, size_even(worker));
}

static void slots_clear(struct worker *worker)
{
    memset(worker->blocks, 0, worker->plan->slots * sizeof *worker->blocks);
}

static void forward_run(struct worker *worker, uint64_t ops)
{
    for (uint64_t done = 0; done < ops; done += worker->plan->slots) {
        slots_fill(worker);
        for (uint32_t i = 0; i < worker->plan->slots; i++)
            free(worker->blocks[i]);
    }
    slots_clear(worker);
}

static void reverse_run(struct worker *worker, uint64_t ops)
{
    for (uint64_t done = 0; done < ops; done += worker->plan->slots) {
        slots_fill(worker);
        for (uint32_t i = worker->plan->slots; i-- > 0;)
            free(worker->blocks[i]);
    }
    slots_clear(worker);
}

static void shuffle_run(struct worker *worker, uint64_t ops)
{
    for (uint64_t done = 0; done < ops; done += worker->plan->slots) {
        slots_fill(worker);
        for (uint32_t i = 0; i < worker->plan->slots; i++)
            free(worker->blocks[worker->order[i]]);
    }
    slots_clear(worker);
}

/* batches: up to 64 slots in a row are freed, then allocated again; few large among many small. */
static void batches_run(struct worker *worker, uint64_t ops)
{
    enum { batch_max = 64 };
    uint32_t slots = worker->plan->slots;
    for (uint64_t done = 0; done < ops;) {
        uint32_t count = 1 + (uint32_t)rng_below(&worker->rng, batch_max);
        uint32_t first = (uint32_t)rng_below(&worker->rng, slots);
        if (count > slots - first)
            count = slots - first;
        for (uint32_t i = first; i < first + count; i++)
            free(worker->blocks[i]);
        for (uint32_t i = first; i < first + count; i++)
            worker->blocks[i] = block_touched(worker, size_octaves(worker));
        done += count;
    }
}

/*
 * cross: all slots are allocated; half of them are freed in random order, the other half goes to
 * the next thread; then the thread frees what the one before it sent. A thread that is `ahead`
 * rounds before the next one waits, so that the memory in use does not depend on the scheduler.
 */
enum { ahead = 4 };

static pthread_mutex_t pace_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t pace_changed = PTHREAD_COND_INITIALIZER;

static void pace_keep(struct worker *worker, const struct worker *next)
{
    pthread_mutex_lock(&pace_lock);
    worker->rounds++;
    pthread_cond_broadcast(&pace_changed);
    while (worker->rounds > next->rounds + ahead)
        pthread_cond_wait(&pace_changed, &pace_lock);
    pthread_mutex_unlock(&pace_lock);
}

static void mail_send(struct worker *to, void *first, void **last)
{
    void *old = atomic_load_explicit(&to->mail, memory_order_relaxed);
    do
        *last = old;
    while (!atomic_compare_exchange_weak(&to->mail, &old, first));
}

static void mail_free(struct worker *worker)
{
    void *next;
    for (void *block = atomic_exchange(&worker->mail, NULL); block != NULL; block = next) {
        next = *(void **)block;
        free(block);
    }
}

static void cross_run(struct worker *worker, uint64_t ops)
{
    uint32_t slots = worker->plan->slots;
    struct worker *next = &workers[(worker->number + 1) % worker->plan->threads];
    for (uint64_t done = 0; done < ops; done += slots) {
        for (uint32_t i = 0; i < slots; i++)
            worker->blocks[i] = block_touched(worker, size_falling(worker));
        void *first = NULL, **last = worker->blocks[worker->order[0]];
        for (uint32_t i = 0; i < slots; i++) {
            void **block = worker->blocks[worker->order[i]];
            if (i % 2 == 1) {
                free(block);
                continue;
            }
            *block = first;
            first = block;
        }
        mail_send(next, first, last);
        mail_free(worker);
        pace_keep(worker, next);
    }
    slots_clear(worker);
}

/*
 * pipe: threads of even number allocate batches of `slots` blocks, the others only free them. A
 * ring with one lock for all, taken once a batch, is between them.
 */
enum { ring_room = 16 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t not_full, not_empty;
    void **batches[ring_room];
    uint64_t put, taken;
} ring = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, {0}, 0, 0};

static void batch_put(const struct worker *worker)
{
    size_t bytes = worker->plan->slots * sizeof *worker->blocks;
    pthread_mutex_lock(&ring.lock);
    while (ring.put - ring.taken == ring_room)
        pthread_cond_wait(&ring.not_full, &ring.lock);
    void ***place = &ring.batches[ring.put++ % ring_room];
    if (*place == NULL)
        *place = block_new(bytes);
    memcpy(*place, worker->blocks, bytes);
    pthread_cond_signal(&ring.not_empty);
    pthread_mutex_unlock(&ring.lock);
}

static void batch_take(struct worker *worker)
{
    pthread_mutex_lock(&ring.lock);
    while (ring.put == ring.taken)
        pthread_cond_wait(&ring.not_empty, &ring.lock);
    memcpy(worker->blocks, ring.batches[ring.taken++ % ring_room],
           worker->plan->slots * sizeof *worker->blocks);
    pthread_cond_signal(&ring.not_full);
    pthread_mutex_unlock(&ring.lock);
}

static void pipe_run(struct worker *worker, uint64_t ops)
{
    for (uint64_t done = 0; done < ops; done += worker->plan->slots) {
        if (worker->number % 2 == 0) {
            slots_fill(worker);
            batch_put(worker);
            continue;
        }
        batch_take(worker);
        for (uint32_t i = 0; i < worker->plan->slots; i++)
            free(worker->blocks[i]);
    }
    slots_clear(worker);
}

static const struct mode modes[] = {
    {"slots", slots_run, 4, 1, "free a block at random, allocate another"},
    {"partial", slots_run, 256, 1, "slots, 256 bytes of each block written"},
    {"heirs", heirs_run, 4, 1, "slots, threads end and their successors free"},
    {"batches", batches_run, 4, 1, "up to 64 freed, then allocated, few of them large"},
    {"cross", cross_run, 4, 1, "allocate many, free half, send half to the next thread"},
    {"pipe", pipe_run, 4, 2, "every second thread allocates, the others free"},
    {"forward", forward_run, 4, 1, "allocate all, free in the same order"},
    {"reverse", reverse_run, 4, 1, "allocate all, free the newest first"},
    {"shuffle", shuffle_run, 4, 1, "allocate all, free in random order"},
};

enum { mode_count = sizeof modes / sizeof modes[0] };

static double now_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/*
 * Reads the CPU clock of the process while every thread of it waits: one thread reads between two
 * barriers. If a thread that does not work read it after the first, a busy machine would let it
 * do so when the others have done half of their work.
 */
static void cpu_read(double *cpu_ns)
{
    if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
        *cpu_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID);
    pthread_barrier_wait(&barrier);
}

static void *worker_thread(void *arg)
{
    struct worker *worker = arg;
    const struct plan *plan = worker->plan;
    worker->blocks = block_new(plan->slots * sizeof *worker->blocks);
    slots_clear(worker);
    if (plan->warm > 0)
        plan->mode->run(worker, plan->warm);
    cpu_read(&cpu_began);
    worker->began = now_ns(CLOCK_MONOTONIC);
    plan->mode->run(worker, plan->ops);
    worker->ended = now_ns(CLOCK_MONOTONIC);
    cpu_read(&cpu_ended);
    for (uint32_t i = 0; i < plan->slots; i++)
        free(worker->blocks[i]);
    mail_free(worker);
    free(worker->blocks);
    return NULL;
}

static uint32_t *order_new(uint64_t *rng, uint32_t slots)
{
    uint32_t *order = block_new(slots * sizeof *order);
    for (uint32_t i = 0; i < slots; i++) {
        uint32_t other = (uint32_t)rng_below(rng, i + 1);
        order[i] = order[other];
        order[other] = i;
    }
    return order;
}

static void plan_run(const struct plan *plan)
{
    struct job job = {.seed = 1};
    pthread_barrier_init(&barrier, NULL, plan->threads);
    for (uint32_t i = 0; i < plan->threads; i++) {
        struct worker *worker = &workers[i];
        worker->plan = plan;
        worker->number = i;
        worker->rng = rng_seed(&job, i);
        worker->order = order_new(&worker->rng, plan->slots);
        if (pthread_create(&worker->thread, NULL, worker_thread, worker) != 0)
            abort();
    }
    double began = 0.0, ended = 0.0;
    for (uint32_t i = 0; i < plan->threads; i++) {
        pthread_join(workers[i].thread, NULL);
        if (i == 0 || workers[i].began < began)
            began = workers[i].began;
        if (workers[i].ended > ended)
            ended = workers[i].ended;
    }
    /* Half of the threads of a pipe make one half of a pair each. */
    double pairs = (double)plan->ops * plan->threads / plan->mode->threads_min;
    printf("%s cpu_ns %.2f wall_ns %.2f\n", plan->mode->name, (cpu_ended - cpu_began) / pairs,
           (ended - began) / (double)plan->ops);
}

static int usage(void)
{
    fputs("usage: loops MODE MIN MAX SLOTS THREADS OPS [WARM]\n", stderr);
    for (int i = 0; i < mode_count; i++)
        fprintf(stderr, "  %-10s %s\n", modes[i].name, modes[i].what);
    return 2;
}

static uint64_t number(const char *text, uint64_t min, uint64_t max)
{
    char *rest;
    uint64_t value = strtoull(text, &rest, 10);
    if (*rest != '\0' || value < min || value > max) {
        fprintf(stderr, "loops: '%s' is not a number from %llu to %llu\n", text,
                (unsigned long long)min, (unsigned long long)max);
        exit(2);
    }
    return value;
}

int main(int argc, char **argv)
{
    struct plan plan = {0};
    for (int i = 0; argc > 1 && i < mode_count; i++)
        if (strcmp(modes[i].name, argv[1]) == 0)
            plan.mode = &modes[i];
    if (plan.mode == NULL || argc < 7 || argc > 8)
        return usage();
    size_t size_min = plan.mode->run == cross_run ? sizeof(void *) : sizeof(uint32_t);
    plan.min = (uint32_t)number(argv[2], size_min, size_max);
    plan.max = (uint32_t)number(argv[3], plan.min, size_max);
    plan.slots = (uint32_t)number(argv[4], 1, slot_max);
    plan.threads = (uint32_t)number(argv[5], plan.mode->threads_min, thread_max);
    plan.ops = number(argv[6], 1, UINT64_MAX);
    plan.warm = argc > 7 ? number(argv[7], 0, UINT64_MAX) : 0;
    if (plan.threads % plan.mode->threads_min != 0)
        return usage();
    plan_run(&plan);
    return 0;
}

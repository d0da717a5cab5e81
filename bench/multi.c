/* SPDX-License-Identifier: MIT */
/*
 * Multi-thread workloads. The number of threads is fixed (2 to 4), not taken from the machine, so
 * that the work is the same everywhere. Threads wait in the kernel or give the processor away and
 * never spin for long: on a machine with two cores a spinning thread would measure the scheduler.
 *
 * Checksums are sums over all threads, so that they do not depend on the order of events.
 */
#include "bench/micro.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { thread_max = 8 };

/* One thread of a workload: its part of the job, and what it found. */
struct worker {
    pthread_t thread;
    const struct job *job;
    void *shared;
    int number;
    uint64_t sum;
};

static void worker_start(struct worker *worker, void *(*run)(void *))
{
    if (pthread_create(&worker->thread, NULL, run, worker) != 0)
        abort();
}

/* Starts `count` threads on `run`, waits for all, returns the sum of their sums. */
static uint64_t workers_run(const struct job *job, int count, void *(*run)(void *), void *shared)
{
    struct worker workers[thread_max] = {0};
    uint64_t sum = 0;
    for (int i = 0; i < count; i++) {
        workers[i] = (struct worker){.job = job, .shared = shared, .number = i};
        worker_start(&workers[i], run);
    }
    for (int i = 0; i < count; i++) {
        pthread_join(workers[i].thread, NULL);
        sum += workers[i].sum;
    }
    return sum;
}

/*
 * server: each thread keeps sessions of its own and replaces them at random; one in five goes
 * through a table all threads share, so that the thread that took it out frees it.
 */
enum { session_count = 2000, exchange_count = 1000 };

struct exchange {
    _Atomic(void *) slots[exchange_count];
};

static void *server_thread(void *arg)
{
    struct worker *worker = arg;
    struct exchange *exchange = worker->shared;
    uint64_t rng = rng_seed(worker->job, (uint64_t)worker->number);
    uint64_t ops = job_ops(worker->job, 2000000);
    void **sessions = block_new(session_count * sizeof *sessions);
    for (int i = 0; i < session_count; i++)
        sessions[i] = block_object(size_program(&rng), 1);
    for (uint64_t i = 0; i < ops; i++) {
        uint64_t slot = rng_below(&rng, session_count);
        if (i % 5 == 0) {
            uint64_t place = rng_below(&rng, exchange_count);
            void *old = atomic_exchange(&exchange->slots[place], sessions[slot]);
            if (old != NULL)
                worker->sum += block_end(old);
        } else {
            worker->sum += block_end(sessions[slot]);
        }
        sessions[slot] = block_object(size_program(&rng), 1);
    }
    for (int i = 0; i < session_count; i++)
        worker->sum += block_end(sessions[i]);
    free(sessions);
    return NULL;
}

uint64_t multi_server(const struct job *job)
{
    static struct exchange exchange;
    uint64_t sum = workers_run(job, 4, server_thread, &exchange);
    for (int i = 0; i < exchange_count; i++) {
        void *last = atomic_load(&exchange.slots[i]);
        if (last != NULL)
            sum += block_end(last);
    }
    return sum;
}

/*
 * queue: batches of messages through a bounded queue. The producer fills messages, the consumer
 * reads and frees them and the batch.
 */
enum { batch_size = 64, queue_room = 64 };

struct batch {
    unsigned char *messages[batch_size];
};

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t not_full, not_empty;
    struct batch *ring[queue_room];
    uint64_t put, taken, total;
};

static void queue_init(struct queue *queue, uint64_t total)
{
    memset(queue, 0, sizeof *queue);
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->not_full, NULL);
    pthread_cond_init(&queue->not_empty, NULL);
    queue->total = total;
}

static void queue_put(struct queue *queue, struct batch *batch)
{
    pthread_mutex_lock(&queue->lock);
    while (queue->put - queue->taken == queue_room)
        pthread_cond_wait(&queue->not_full, &queue->lock);
    queue->ring[queue->put++ % queue_room] = batch;
    if (queue->put == queue->total)
        pthread_cond_broadcast(&queue->not_empty);
    else
        pthread_cond_signal(&queue->not_empty);
    pthread_mutex_unlock(&queue->lock);
}

/* The next batch, or NULL once all `total` were taken. */
static struct batch *queue_take(struct queue *queue)
{
    struct batch *batch = NULL;
    pthread_mutex_lock(&queue->lock);
    while (queue->put == queue->taken && queue->taken < queue->total)
        pthread_cond_wait(&queue->not_empty, &queue->lock);
    if (queue->taken < queue->total) {
        batch = queue->ring[queue->taken++ % queue_room];
        pthread_cond_signal(&queue->not_full);
        if (queue->taken == queue->total)
            pthread_cond_broadcast(&queue->not_empty);
    }
    pthread_mutex_unlock(&queue->lock);
    return batch;
}

static void batch_produce(struct worker *worker, uint64_t count, size_t (*size)(uint64_t *))
{
    uint64_t rng = rng_seed(worker->job, (uint64_t)worker->number);
    for (uint64_t i = 0; i < count; i++) {
        struct batch *batch = block_new(sizeof *batch);
        for (int m = 0; m < batch_size; m++)
            batch->messages[m] = block_filled(size(&rng), 1 + i);
        queue_put(worker->shared, batch);
    }
}

static void *batch_consume(void *arg)
{
    struct worker *worker = arg;
    struct batch *batch;
    while ((batch = queue_take(worker->shared)) != NULL) {
        for (int m = 0; m < batch_size; m++)
            worker->sum += block_end(batch->messages[m]);
        free(batch);
    }
    return NULL;
}

static void *queue_thread(void *arg)
{
    struct worker *worker = arg;
    if (worker->number >= 2)
        return batch_consume(arg);
    batch_produce(worker, job_ops(worker->job, 20000), size_program);
    return NULL;
}

uint64_t multi_queue(const struct job *job)
{
    struct queue queue;
    queue_init(&queue, 2 * job_ops(job, 20000));
    return workers_run(job, 4, queue_thread, &queue);
}

/*
 * free-only: one thread allocates small blocks, two threads do nothing but free them. Memory must
 * come home to the thread that allocates, or the process grows.
 */
static void *free_only_thread(void *arg)
{
    struct worker *worker = arg;
    if (worker->number >= 1)
        return batch_consume(arg);
    batch_produce(worker, job_ops(worker->job, 40000), size_small);
    return NULL;
}

uint64_t multi_free_only(const struct job *job)
{
    struct queue queue;
    queue_init(&queue, job_ops(job, 40000));
    return workers_run(job, 3, free_only_thread, &queue);
}

/*
 * False sharing. Two threads write small blocks very often; if the allocator put blocks of both
 * on one cache line, each write costs a transfer between cores. Active: the allocator hands out
 * neighbours to two threads by itself. Passive: neighbours come from one thread, are freed by
 * two, and must not be handed to both again.
 */
enum { write_count = 400 };

static uint64_t block_write_often(volatile unsigned char *block)
{
    for (int i = 0; i < write_count; i++)
        block[i & 7]++;
    return block[0];
}

static void *false_thread(void *arg)
{
    struct worker *worker = arg;
    void **inherited = worker->shared;
    uint64_t ops = job_ops(worker->job, 500000);
    if (inherited != NULL)
        free(inherited[worker->number]);
    for (uint64_t i = 0; i < ops; i++) {
        unsigned char *block = block_filled(8 + (i & 3) * 8, 0);
        worker->sum += block_write_often(block);
        free(block);
    }
    return NULL;
}

uint64_t multi_false_active(const struct job *job)
{
    return workers_run(job, 2, false_thread, NULL);
}

/* The job in rounds, each with fresh threads, so that inheriting happens often. */
uint64_t multi_false_passive(const struct job *job)
{
    enum { rounds = 200 };
    struct job part = {.seed = job->seed, .scale = job->scale / rounds};
    uint64_t sum = 0;
    for (int r = 0; r < rounds; r++) {
        void *neighbours[2];
        for (int i = 0; i < 2; i++)
            neighbours[i] = block_filled(8 + (size_t)(r & 3) * 8, 1);
        sum += workers_run(&part, 2, false_thread, neighbours);
    }
    return sum;
}

/*
 * create: threads come and go, four at a time. Each allocates 200 blocks, frees all but one and
 * hands that one to its creator, which frees it when the thread is gone.
 */
static void *create_thread(void *arg)
{
    enum { count = 200 };
    struct worker *worker = arg;
    uint64_t rng = rng_seed(worker->job, worker->sum);
    void *blocks[count];
    worker->sum = 0;
    for (int i = 0; i < count; i++)
        blocks[i] = block_object(size_program(&rng), 3);
    for (int i = 1; i < count; i++)
        worker->sum += block_end(blocks[i]);
    worker->shared = blocks[0];
    return NULL;
}

uint64_t multi_create(const struct job *job)
{
    enum { at_once = 4 };
    struct worker workers[at_once];
    uint64_t rounds = job_ops(job, 1200);
    uint64_t sum = 0;
    for (uint64_t r = 0; r < rounds; r++) {
        for (int i = 0; i < at_once; i++) {
            workers[i] = (struct worker){.job = job, .sum = r * at_once + (uint64_t)i};
            worker_start(&workers[i], create_thread);
        }
        for (int i = 0; i < at_once; i++) {
            pthread_join(workers[i].thread, NULL);
            sum += workers[i].sum + block_end(workers[i].shared);
        }
    }
    return sum;
}

/*
 * burst: every phase has a size of its own; each thread allocates 4 MiB of it, uses it, frees it
 * all. What one phase leaves must serve the next, or memory grows with the number of phases.
 */
static void *burst_thread(void *arg)
{
    enum { burst_bytes = 4 << 20, block_min = 32 };
    struct worker *worker = arg;
    uint64_t rng = rng_seed(worker->job, (uint64_t)worker->number);
    uint64_t phases = job_ops(worker->job, 60);
    void **blocks = block_new(burst_bytes / block_min * sizeof *blocks);
    for (uint64_t p = 0; p < phases; p++) {
        size_t size = size_log(&rng, block_min, 8192);
        size_t count = burst_bytes / size;
        for (size_t i = 0; i < count; i++)
            blocks[i] = block_filled(size - (i & 7), p);
        for (size_t i = 0; i < count; i++)
            worker->sum += block_end(blocks[i]);
    }
    free(blocks);
    return NULL;
}

uint64_t multi_burst(const struct job *job)
{
    return workers_run(job, 4, burst_thread, NULL);
}

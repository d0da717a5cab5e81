/* SPDX-License-Identifier: MIT */
/*
 * What every micro workload shares: the job it is given, a seeded random source, block sizes as
 * programs ask for them, and the three ways a program uses a block once it has it.
 *
 * A workload is a function from a job to a checksum. The work is fixed by scale and seed alone;
 * the checksum depends on the contents of blocks and never on their addresses, so single-thread
 * workloads print the same number under every allocator, and bench/run says so if they do not.
 */
#ifndef BENCH_MICRO_H
#define BENCH_MICRO_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct job {
    uint64_t seed;
    double scale; /* multiplies the number of operations, never the size of the live heap */
};

/* Operations for this job: `base` of them at scale 1. */
static inline uint64_t job_ops(const struct job *job, uint64_t base)
{
    uint64_t ops = (uint64_t)((double)base * job->scale);
    return ops > 0 ? ops : 1;
}

/* xorshift64*: a few cycles, so that the workload measures the allocator and not its dice. */
static inline uint64_t rng_next(uint64_t *state)
{
    uint64_t x = *state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *state = x;
    return x * UINT64_C(0x2545F4914F6CDD1D);
}

/* Uniform in [0, n) without a division. */
static inline uint64_t rng_below(uint64_t *state, uint32_t n)
{
    return ((rng_next(state) >> 32) * n) >> 32;
}

/* A stream of its own for each thread or phase of one job. */
static inline uint64_t rng_seed(const struct job *job, uint64_t stream)
{
    uint64_t z = job->seed + (stream + 1) * UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    z ^= z >> 31;
    return z != 0 ? z : 1;
}

/* Sizes as programs ask for them: half up to 64 bytes, nine in ten up to 512, a tail to 32 KiB. */
size_t size_program(uint64_t *rng);
/* The same without the tail: 8 to 512 bytes. */
size_t size_small(uint64_t *rng);
/* Log-uniform in [low, high): as many between 64 and 128 KiB as between 4 and 8 MiB. */
size_t size_log(uint64_t *rng, size_t low, size_t high);

_Noreturn void block_fail(size_t size);

static inline void *block_new(size_t size)
{
    void *block = malloc(size);
    if (block == NULL)
        block_fail(size);
    return block;
}

/* A new object: its first and last word are written. */
static inline void *block_object(size_t size, uint64_t mark)
{
    unsigned char *block = block_new(size);
    block[size - 1] = (unsigned char)mark;
    block[0] = (unsigned char)mark;
    return block;
}

/* A new buffer, filled all over. */
static inline void *block_filled(size_t size, uint64_t mark)
{
    unsigned char *block = block_new(size);
    memset(block, (int)(mark & 0x7f), size);
    return block;
}

/* The last use of a block before it is freed: a read. */
static inline uint64_t block_end(void *block)
{
    uint64_t mark = *(unsigned char *)block;
    free(block);
    return mark;
}

/* single.c: one thread, one pattern of lifetimes each. */
uint64_t single_same_size(const struct job *job);
uint64_t single_mixed(const struct job *job);
uint64_t single_lifo(const struct job *job);
uint64_t single_fifo(const struct job *job);
uint64_t single_random_small(const struct job *job);
uint64_t single_random_large(const struct job *job);
uint64_t single_medium(const struct job *job);
uint64_t single_large(const struct job *job);
uint64_t single_calloc(const struct job *job);
uint64_t single_realloc_small(const struct job *job);
uint64_t single_realloc_large(const struct job *job);

/* shapes.c: one thread, small programs with work between the allocations. */
uint64_t shapes_strings(const struct job *job);
uint64_t shapes_table(const struct job *job);
uint64_t shapes_expressions(const struct job *job);
uint64_t shapes_bignum(const struct job *job);

/* multi.c: several threads. */
uint64_t multi_server(const struct job *job);
uint64_t multi_queue(const struct job *job);
uint64_t multi_false_active(const struct job *job);
uint64_t multi_false_passive(const struct job *job);
uint64_t multi_create(const struct job *job);
uint64_t multi_burst(const struct job *job);
uint64_t multi_free_only(const struct job *job);

#endif

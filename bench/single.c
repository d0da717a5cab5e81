/* SPDX-License-Identifier: MIT */
/*
 * Single-thread workloads, one pattern of lifetimes each. They isolate what the program-like ones
 * (shapes.c) mix: the pair alone, reuse order, heap size, block size, zeroing, growth.
 *
 * Sizes come from the same distributions (micro.h) so that rows differ by lifetime only.
 */
#include "bench/micro.h"

/* The pair alone, the shortest life there is. */
uint64_t single_same_size(const struct job *job)
{
    static const size_t sizes[] = {16, 48, 128, 400, 1024};
    uint64_t ops = job_ops(job, 5000000);
    uint64_t sum = 0;
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
        for (uint64_t i = 0; i < ops; i++)
            sum += block_end(block_object(sizes[s], i));
    return sum;
}

/* Replaces blocks one by one: the oldest if `in_order`, which makes a queue, else any. */
static uint64_t slots_replace(uint64_t ops, uint32_t count, uint64_t rng, int in_order,
                              size_t (*size)(uint64_t *))
{
    void **slots = block_new(count * sizeof *slots);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count; i++)
        slots[i] = block_object(size(&rng), i);
    uint32_t next = 0;
    for (uint64_t i = 0; i < ops; i++) {
        uint32_t slot = in_order ? next : (uint32_t)rng_below(&rng, count);
        next = next + 1 == count ? 0 : next + 1;
        sum = sum * 31 + block_end(slots[slot]);
        slots[slot] = block_object(size(&rng), i);
    }
    for (uint32_t i = 0; i < count; i++)
        sum += block_end(slots[i]);
    free(slots);
    return sum;
}

uint64_t single_mixed(const struct job *job)
{
    return slots_replace(job_ops(job, 9000000), 64, rng_seed(job, 0), 0, size_program);
}

uint64_t single_fifo(const struct job *job)
{
    return slots_replace(job_ops(job, 9000000), 8000, rng_seed(job, 0), 1, size_small);
}

uint64_t single_random_small(const struct job *job)
{
    return slots_replace(job_ops(job, 9000000), 2000, rng_seed(job, 0), 0, size_small);
}

/* About 45 MB of small objects: the caches of the processor are lost, as in a database. */
uint64_t single_random_large(const struct job *job)
{
    return slots_replace(job_ops(job, 1000000), 400000, rng_seed(job, 0), 0, size_small);
}

/* Call trees and scopes: a stack of random depth is built and taken down. */
uint64_t single_lifo(const struct job *job)
{
    enum { depth_max = 2000 };
    void *stack[depth_max];
    uint64_t rng = rng_seed(job, 0);
    uint64_t left = job_ops(job, 9000000);
    uint64_t sum = 0;
    while (left > 0) {
        uint64_t depth = 1 + rng_below(&rng, depth_max - 1);
        if (depth > left)
            depth = left;
        for (uint64_t i = 0; i < depth; i++)
            stack[i] = block_object(size_small(&rng), i);
        for (uint64_t i = depth; i-- > 0;)
            sum = sum * 31 + block_end(stack[i]);
        left -= depth;
    }
    return sum;
}

/* Buffers for files, packets and rows: filled all over, because that is what they are for. */
uint64_t single_medium(const struct job *job)
{
    enum { count = 400 };
    unsigned char *slots[count] = {0};
    uint64_t rng = rng_seed(job, 0);
    uint64_t ops = job_ops(job, 500000);
    uint64_t sum = 0;
    for (uint64_t i = 0; i < ops; i++) {
        uint64_t slot = rng_below(&rng, count);
        if (slots[slot] != NULL)
            sum = sum * 31 + block_end(slots[slot]);
        slots[slot] = block_filled(size_log(&rng, 1024, 65536), i);
    }
    for (int i = 0; i < count; i++)
        free(slots[i]);
    return sum;
}

/* Large blocks: the program writes the first quarter, as a buffer sized for the worst case. */
uint64_t single_large(const struct job *job)
{
    enum { count = 40 };
    unsigned char *slots[count] = {0};
    uint64_t rng = rng_seed(job, 0);
    uint64_t ops = job_ops(job, 5000);
    uint64_t sum = 0;
    for (uint64_t i = 0; i < ops; i++) {
        uint64_t slot = rng_below(&rng, count);
        if (slots[slot] != NULL)
            sum = sum * 31 + block_end(slots[slot]);
        size_t size = size_log(&rng, 65536, 8u << 20);
        slots[slot] = block_new(size);
        memset(slots[slot], (int)(i & 0x7f), size / 4);
    }
    for (int i = 0; i < count; i++)
        free(slots[i]);
    return sum;
}

static unsigned char *zeroed_new(size_t count, size_t each)
{
    unsigned char *block = calloc(count, each);
    if (block == NULL)
        block_fail(count * each);
    return block;
}

/* Arrays that start at zero. Small ones are written all over, one in 256 is up to 1 MiB. */
uint64_t single_calloc(const struct job *job)
{
    enum { count = 500 };
    unsigned char *slots[count] = {0};
    uint64_t rng = rng_seed(job, 0);
    uint64_t ops = job_ops(job, 2500000);
    uint64_t sum = 0;
    for (uint64_t i = 0; i < ops; i++) {
        uint64_t slot = rng_below(&rng, count);
        if (slots[slot] != NULL)
            sum = sum * 31 + block_end(slots[slot]);
        int big = (i & 255) == 0;
        size_t size = big ? size_log(&rng, 16384, 1u << 20) : size_log(&rng, 16, 2048);
        unsigned char *block = zeroed_new(size / 8 + 1, 8);
        sum += block[size / 2] + block[size - 1];
        memset(block, (int)(i & 0x7f), big ? size / 8 : size);
        slots[slot] = block;
    }
    for (int i = 0; i < count; i++)
        free(slots[i]);
    return sum;
}

static unsigned char *grown(unsigned char *block, size_t size)
{
    unsigned char *bigger = realloc(block, size);
    if (bigger == NULL)
        block_fail(size);
    return bigger;
}

/* Many vectors grow side by side, one element of 16 bytes a step, capacity doubled. */
uint64_t single_realloc_small(const struct job *job)
{
    enum { count = 300, element = 16 };
    struct {
        unsigned char *data;
        size_t used, room;
    } vectors[count] = {0};
    uint64_t rng = rng_seed(job, 0);
    uint64_t ops = job_ops(job, 30000000);
    uint64_t sum = 0;
    for (uint64_t i = 0; i < ops; i++) {
        uint64_t v = rng_below(&rng, count);
        if (vectors[v].used == vectors[v].room) {
            size_t room = vectors[v].room == 0 ? element : 2 * vectors[v].room;
            if (room > 4096) {
                sum = sum * 31 + block_end(vectors[v].data);
                vectors[v].data = NULL;
                vectors[v].used = 0;
                room = element;
            }
            vectors[v].data = grown(vectors[v].data, room);
            vectors[v].room = room;
        }
        memset(vectors[v].data + vectors[v].used, (int)(i & 0x7f), element);
        vectors[v].used += element;
    }
    for (int i = 0; i < count; i++)
        free(vectors[i].data);
    return sum;
}

/* Four documents read by chunks of 4 KiB; a full buffer grows by half, up to 16 MiB. */
uint64_t single_realloc_large(const struct job *job)
{
    enum { count = 4, chunk = 4096, top = 16 << 20 };
    struct {
        unsigned char *data;
        size_t used, room, end;
    } files[count] = {0};
    uint64_t rng = rng_seed(job, 0);
    uint64_t ops = job_ops(job, 250000);
    uint64_t sum = 0;
    for (uint64_t i = 0; i < ops; i++) {
        int f = (int)(i % count);
        if (files[f].used >= files[f].end) {
            if (files[f].data != NULL)
                sum = sum * 31 + block_end(files[f].data);
            files[f].data = NULL;
            files[f].used = files[f].room = 0;
            files[f].end = size_log(&rng, 65536, top);
        }
        if (files[f].used + chunk > files[f].room) {
            files[f].room = files[f].room < chunk ? 2 * chunk : files[f].room + files[f].room / 2;
            files[f].data = grown(files[f].data, files[f].room);
        }
        memset(files[f].data + files[f].used, (int)(i & 0x7f), chunk);
        files[f].used += chunk;
    }
    for (int f = 0; f < count; f++)
        free(files[f].data);
    return sum;
}

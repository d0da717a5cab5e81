/* SPDX-License-Identifier: MIT */
/*
 * The micro benchmark: one binary, one workload a run.
 *
 *     micro list                        the names, one a line, with what each does
 *     micro NAME [SCALE [SEED]]         run one; prints its name and checksum
 *
 * bench/run measures it from outside (wall and CPU time, peak memory, page faults), so start-up
 * and exit of the allocator count, as they do in a program. No workload knows the allocator
 * under it. Built with -fno-builtin, so that the compiler removes no malloc/free pair.
 */
#include "bench/micro.h"

#include <stdio.h>

struct workload {
    const char *name;
    uint64_t (*run)(const struct job *job);
    const char *what;
};

static const struct workload workloads[] = {
    {"same-size", single_same_size, "pairs of one size, five sizes in turn"},
    {"mixed", single_mixed, "short-lived blocks of mixed sizes, 64 live"},
    {"lifo", single_lifo, "stacks of blocks, freed newest first"},
    {"fifo", single_fifo, "a queue of 8,000 blocks, freed oldest first"},
    {"random-small", single_random_small, "2,000 live blocks replaced at random"},
    {"random-large", single_random_large, "400,000 live blocks replaced at random"},
    {"medium", single_medium, "buffers of 1 to 64 KiB replaced at random"},
    {"large", single_large, "64 KiB to 8 MiB, a quarter touched, replaced at random"},
    {"calloc", single_calloc, "zeroed arrays, small to 1 MiB"},
    {"realloc-small", single_realloc_small, "vectors grown by doubling up to 4 KiB"},
    {"realloc-large", single_realloc_large, "buffers grown by half up to 16 MiB"},
    {"strings", shapes_strings, "text split, duplicated, joined"},
    {"table", shapes_table, "a chained hash table keyed by strings, with rehash and removal"},
    {"expressions", shapes_expressions, "expression trees differentiated, simplified, evaluated"},
    {"bignum", shapes_bignum, "big numbers, a new block for each result"},
    {"server", multi_server, "4 threads: sessions, a fifth freed by another thread"},
    {"queue", multi_queue, "2 producers, 2 consumers, batches of messages"},
    {"false-active", multi_false_active, "2 threads write blocks they just allocated"},
    {"false-passive", multi_false_passive, "2 threads inherit neighbours, free and reallocate"},
    {"create", multi_create, "threads that start, allocate, hand one block over and end"},
    {"burst", multi_burst, "4 threads allocate all, free all; the size changes by phase"},
    {"free-only", multi_free_only, "1 thread allocates, 2 threads only free"},
};

enum { workload_count = sizeof workloads / sizeof workloads[0] };

static int list(void)
{
    for (int i = 0; i < workload_count; i++)
        printf("%-14s %s\n", workloads[i].name, workloads[i].what);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "list") == 0)
        return list();
    if (argc < 2 || argc > 4) {
        fputs("usage: micro list | micro NAME [SCALE [SEED]]\n", stderr);
        return 2;
    }
    struct job job = {.seed = 1, .scale = 1.0};
    if (argc > 2)
        job.scale = strtod(argv[2], NULL);
    if (argc > 3)
        job.seed = strtoull(argv[3], NULL, 10);
    if (!(job.scale > 0.0 && job.scale <= 1000.0)) {
        fprintf(stderr, "micro: scale '%s' is not a number above 0 and up to 1000\n", argv[2]);
        return 2;
    }
    for (int i = 0; i < workload_count; i++) {
        if (strcmp(workloads[i].name, argv[1]) != 0)
            continue;
        uint64_t checksum = workloads[i].run(&job);
        printf("%s %016llx\n", workloads[i].name, (unsigned long long)checksum);
        return 0;
    }
    fprintf(stderr, "micro: no workload '%s'; see: micro list\n", argv[1]);
    return 2;
}

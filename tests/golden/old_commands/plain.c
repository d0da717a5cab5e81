/* SPDX-License-Identifier: MIT */
/* What the old commands are tried on: known sites, recursion, threads, a shared library, work for a
 * CPU profile. The name of each function says what it does with memory. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

void *shared_keep(size_t bytes, int count); /* in shared.c */

static void *volatile hold;
static volatile unsigned long sink;

__attribute__((noinline)) void keep_small(int count)
{
    for (int i = 0; i < count; i++)
        hold = malloc(1000);
}

__attribute__((noinline)) void keep_large(int count)
{
    for (int i = 0; i < count; i++)
        hold = calloc(1, 300000);
}

__attribute__((noinline)) void keep_deep(int depth)
{
    if (depth == 0)
        hold = malloc(70000);
    else
        keep_deep(depth - 1);
    sink++;
}

__attribute__((noinline)) void forget(int count)
{
    for (int i = 0; i < count; i++) {
        hold = malloc(5000);
        free(hold);
    }
}

__attribute__((noinline)) void burn(unsigned long rounds)
{
    for (unsigned long i = 0; i < rounds; i++)
        sink += i * sink;
}

__attribute__((noinline)) void burn_more(unsigned long rounds)
{
    for (unsigned long i = 0; i < rounds; i++)
        sink ^= i / (sink | 1);
    burn(rounds);
}

static void *in_thread(void *argument)
{
    keep_small(200);
    sink++;
    return argument;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    int rounds = argc > 1 ? atoi(argv[1]) : 1;
    for (int i = 0; i < rounds; i++) {
        keep_small(500);
        keep_large(4);
        keep_deep(i % 6);
        forget(100);
        hold = shared_keep(2000, 50);
    }
    if (pthread_create(&thread, NULL, in_thread, NULL) == 0)
        pthread_join(thread, NULL);
    if (argc > 2)
        burn_more(strtoul(argv[2], NULL, 10));
    return 0;
}

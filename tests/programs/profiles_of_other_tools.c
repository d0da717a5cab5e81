/* SPDX-License-Identifier: MIT */
/* helper: a heap of known course, and some work, for the profilers that others made. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static void *volatile keeper;
static volatile unsigned long sum;

__attribute__((noinline)) static void *leaf(size_t size)
{
    void *block = malloc(size);
    memset(block, 1, size);
    return block;
}

__attribute__((noinline)) static void many(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        keeper = leaf(100);
}

__attribute__((noinline)) static void work(unsigned long count)
{
    for (unsigned long i = 0; i < count; i++)
        sum += i;
}

static void *thread(void *nothing)
{
    for (unsigned i = 0; i < 500; i++) {
        void *block = leaf(1000);
        if (i % 2 != 0)
            free(block);
        keeper = block;
    }
    return nothing;
}

int main(int count, char **arguments)
{
    pthread_t id;
    if (pthread_create(&id, NULL, thread, NULL) != 0)
        return 1;
    many(1000);
    pthread_join(id, NULL);
    void *large = leaf(5000000);
    work(count > 1 ? strtoul(arguments[1], NULL, 10) : 1000000);
    free(large);
    many(10);
    return 0;
}

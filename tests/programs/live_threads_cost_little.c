/* SPDX-License-Identifier: MIT */
/* run-serial */
/* Thousands of threads alive at once, each having allocated and freed a little and keeping some:
 * what the heap costs a thread stays within the budget of 120 MB for 10,000, stacks and all. By
 * argument, another count. */
#include <sys/resource.h>

#include "tests/programs/memory.h"
#include "tests/programs/work.h"

enum { THREADS = 2000, STACK_BYTES = 64 * 1024, CHURN = 100, BUDGET_BYTES = 12000 };

static pthread_barrier_t all_there, may_end;

static void *churn(void *number)
{
    unsigned turn = (unsigned)(uintptr_t)number;
    void *kept[4] = {NULL};
    for (int i = 0; i < CHURN; i++) {
        turn = turn * 1103515245u + 12345u;
        unsigned place = turn >> 16 & 3;
        free(kept[place]);
        size_t size = (turn >> 8 & 127) + 1;
        kept[place] = malloc(size);
        memset(kept[place], 1, size);
    }
    pthread_barrier_wait(&all_there);
    pthread_barrier_wait(&may_end);
    for (int i = 0; i < 4; i++) {
        free(kept[i]);
    }
    return NULL;
}

int main(int count, char **arguments)
{
    unsigned threads = count > 1 ? (unsigned)atol(arguments[1]) : THREADS;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_barrier_init(&all_there, NULL, threads + 1);
    pthread_barrier_init(&may_end, NULL, threads + 1);
    pthread_t *ids = calloc(threads, sizeof *ids);
    size_t before = resident_bytes();
    for (unsigned i = 0; i < threads; i++) {
        int code = pthread_create(&ids[i], &attributes, churn, (void *)(uintptr_t)(i + 1));
        if (code == EAGAIN && i > 0) {
            check_say("only %u threads can be had here\n", i);
            return 77;
        }
        CHECK_EQ(code, 0);
    }
    pthread_barrier_wait(&all_there);
    size_t grown = resident_bytes() - before;
    CHECK_AT(grown <= (size_t)threads * BUDGET_BYTES, "%u threads cost %zu KiB, %zu bytes each",
             threads, grown / 1024, grown / threads);
    printf("%u threads cost %zu KiB, %zu bytes each\n", threads, grown / 1024, grown / threads);
    pthread_barrier_wait(&may_end);
    for (unsigned i = 0; i < threads; i++) {
        CHECK_EQ(pthread_join(ids[i], NULL), 0);
    }
    free(ids);
    return check_result();
}

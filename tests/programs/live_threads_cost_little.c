/* SPDX-License-Identifier: MIT */
/* run-serial */
/* Thousands of threads alive at once, each having allocated and freed a little and keeping some:
 * what the heap costs stays within the budget of 100 MiB for 10,000 threads, stacks and all.
 * Threads that make few calls have no heap and cost less, in a process that has no others. What
 * 10,000 cost is what the first few do, who find everything cold, and what each further one adds.
 * By argument, another count. The least of some tries counts: on a busy machine a fifth of the
 * threads are interrupted further down, and touch a page of their stacks more (10.3 KB each instead
 * of 9.4). */
#include <semaphore.h>

#include "tests/programs/memory.h"
#include "tests/programs/work.h"

enum {
    FIRST = 100,
    THREADS = 3000,
    PROMISED = 10000,
    STACK_BYTES = 64 * 1024,
    KEPT = 4,
    TRIES = 4
};

static const struct kind {
    const char *name;
    unsigned churn;    /* mallocs of a thread; it frees all but the last few */
    size_t most_bytes; /* of 10,000 */
} kinds[] = {{"busy", 100, 100 << 20}, {"young", 30, 100000000}};

static const struct kind *kind;
static sem_t there;
static pthread_barrier_t may_end;

static void *churn(void *number)
{
    unsigned turn = (unsigned)(uintptr_t)number;
    void *kept[KEPT] = {NULL};
    for (unsigned i = 0; i < kind->churn; i++) {
        turn = turn * 1103515245u + 12345u;
        unsigned place = turn >> 16 & (KEPT - 1);
        free(kept[place]);
        size_t size = (turn >> 8 & 127) + 1;
        kept[place] = malloc(size);
        memset(kept[place], 1, size);
    }
    sem_post(&there);
    pthread_barrier_wait(&may_end);
    for (int i = 0; i < KEPT; i++) {
        free(kept[i]);
    }
    return NULL;
}

/* Starts threads `from` to `to`, and says how much is resident when all have done their work. */
static size_t start(pthread_t *ids, unsigned from, unsigned to)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    for (unsigned i = from; i < to; i++) {
        int code = pthread_create(&ids[i], &attributes, churn, (void *)(uintptr_t)(i + 1));
        if (code == EAGAIN && i > 0) {
            check_say("only %u threads can be had here\n", i);
            _exit(77);
        }
        CHECK_EQ(code, 0);
    }
    for (unsigned i = from; i < to; i++) {
        sem_wait(&there);
    }
    return resident_bytes_exactly();
}

static int judge(unsigned threads)
{
    pthread_t *ids = malloc(threads * sizeof *ids);
    memset(ids, 1, threads * sizeof *ids);
    sem_init(&there, 0, 0);
    pthread_barrier_init(&may_end, NULL, threads + 1);
    size_t before = resident_bytes_exactly();
    size_t few = start(ids, 0, FIRST);
    size_t all = start(ids, FIRST, threads);
    size_t each = (all - few) / (threads - FIRST);
    size_t promised = few - before + each * (PROMISED - FIRST);
    CHECK_AT(promised <= kind->most_bytes, "%u %s threads cost %zu bytes each, %d would cost %zu",
             threads, kind->name, each, PROMISED, promised);
    printf("%u %s threads cost %zu bytes each, %d would cost %zu\n", threads, kind->name, each,
           PROMISED, promised);
    fflush(stdout);
    pthread_barrier_wait(&may_end);
    for (unsigned i = 0; i < threads; i++) {
        CHECK_EQ(pthread_join(ids[i], NULL), 0);
    }
    free(ids);
    return check_result();
}

int main(int count, char **arguments)
{
    unsigned threads = count > 1 ? (unsigned)atol(arguments[1]) : THREADS;
    if (!CHECK(threads > FIRST)) {
        return check_result();
    }
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        int status = -1;
        for (int tries = 0; tries < TRIES && status != 0; tries++) {
            pid_t child = fork(); /* stacks and heaps of ended threads would be had for nothing */
            if (child == 0) {
                kind = &kinds[i];
                _exit(judge(threads));
            }
            CHECK(child > 0 && waitpid(child, &status, 0) == child);
            if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
                return 77;
            }
        }
        CHECK_AT(status == 0, "the %s threads ended with status %x", kinds[i].name, status);
    }
    return check_result();
}

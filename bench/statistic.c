/* SPDX-License-Identifier: MIT */
/*
 * What it costs to ask the allocator how many bytes are live.
 *
 *     statistic THREADS MIB
 *
 * THREADS threads are alive, each with blocks and bins of its own, and MIB mebibytes of small
 * blocks are live. It prints `name value` pairs in ns a call, for each interface that the allocator
 * has: `mallinfo2_ns`; `extension_ns`, gperftools' MallocExtension_GetNumericProperty;
 * `mallctl_ns`, jemalloc's from the last epoch; `epoch_ns`, with a fresh epoch. A pair of malloc
 * and free stands between two calls, so that no answer can be the one before.
 */
#define _GNU_SOURCE /* dladdr */
#include "bench/micro.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

enum { held_size = 1000, own_count = 100, thread_max = 100000 };

/* libc's, whose number of fields differs between versions: room for more. */
struct info {
    size_t fields[32];
};

static struct info (*mallinfo2_of)(void);
static int (*extension_of)(const char *name, size_t *value);
static int (*mallctl_of)(const char *name, void *old, size_t *old_size, void *new, size_t new_size);
static pthread_barrier_t ready, done;

static void ask_mallinfo2(void)
{
    mallinfo2_of();
}

static void ask_extension(void)
{
    size_t value = 0;
    extension_of("generic.current_allocated_bytes", &value);
}

static void ask_mallctl(void)
{
    size_t value = 0, size = sizeof value;
    mallctl_of("stats.allocated", &value, &size, NULL, 0);
}

static void ask_epoch(void)
{
    uint64_t epoch = 1;
    mallctl_of("epoch", NULL, NULL, &epoch, sizeof epoch);
    ask_mallctl();
}

static double cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* At least 10 calls and 20 ms. */
static void ask_often(const char *name, void (*ask)(void))
{
    double start = cpu_ns(), spent = 0.0;
    long calls = 0;
    while (calls < 10 || spent < 20e6) {
        for (int i = 0; i < 10; i++, calls++) {
            free(block_new(64));
            ask();
        }
        spent = cpu_ns() - start;
    }
    printf(" %s %.0f", name, spent / (double)calls);
}

/* The symbol, if the library that has malloc defines it: libc's own count nothing beside it. */
static void *find(const char *name)
{
    Dl_info of_malloc, of_symbol;
    void *symbol = dlsym(RTLD_DEFAULT, name);
    if (symbol == NULL || dladdr(symbol, &of_symbol) == 0 ||
        dladdr(dlsym(RTLD_DEFAULT, "malloc"), &of_malloc) == 0)
        return NULL;
    return of_malloc.dli_fbase == of_symbol.dli_fbase ? symbol : NULL;
}

static void *visitor_run(void *arg)
{
    void *own[own_count];
    (void)arg;
    for (int i = 0; i < own_count; i++)
        own[i] = block_object(16 + (size_t)i * 8, 1);
    for (int i = 0; i < own_count; i += 2)
        free(own[i]);
    pthread_barrier_wait(&ready);
    pthread_barrier_wait(&done);
    for (int i = 1; i < own_count; i += 2)
        free(own[i]);
    return NULL;
}

static void ask_all(void)
{
    *(void **)&mallinfo2_of = find("mallinfo2");
    *(void **)&extension_of = find("MallocExtension_GetNumericProperty");
    *(void **)&mallctl_of = find("mallctl");
    printf("statistic");
    if (mallinfo2_of != NULL)
        ask_often("mallinfo2_ns", ask_mallinfo2);
    if (extension_of != NULL)
        ask_often("extension_ns", ask_extension);
    if (mallctl_of != NULL) {
        ask_often("mallctl_ns", ask_mallctl);
        ask_often("epoch_ns", ask_epoch);
    }
    printf("\n");
}

int main(int argc, char **argv)
{
    long threads = argc == 3 ? strtol(argv[1], NULL, 10) : 0;
    long blocks = argc == 3 ? strtol(argv[2], NULL, 10) * (1 << 20) / held_size : -1;
    if (threads < 1 || threads > thread_max || blocks < 0) {
        fputs("usage: statistic THREADS MIB\n", stderr);
        return 2;
    }
    for (long i = 0; i < blocks; i++)
        block_object(held_size, 1); /* live until the end */
    pthread_barrier_init(&ready, NULL, (unsigned)threads);
    pthread_barrier_init(&done, NULL, (unsigned)threads);
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 65536);
    pthread_t thread;
    for (long i = 1; i < threads; i++)
        if (pthread_create(&thread, &attr, visitor_run, NULL) != 0)
            abort();
    pthread_barrier_wait(&ready);
    ask_all();
    pthread_barrier_wait(&done);
    return 0;
}

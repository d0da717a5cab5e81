/* SPDX-License-Identifier: MIT */
/*
 * helper: allocates from functions with names, frees some of it, and tells what a reader of its
 * profile should show: function, objects and usable bytes in use, the same allocated in all, bytes
 * asked for in use and in all.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define SITE(name)                                             \
    __attribute__((noinline)) void *name(size_t size);         \
    void *name(size_t size)                                    \
    {                                                          \
        void *block = malloc(size);                            \
        __asm__ volatile("" : "+r"(block)); /* no tail call */ \
        return block;                                          \
    }
SITE(alpha)
SITE(beta)
SITE(gamma_)
SITE(delta)

enum { MANY = 20000 };
static void *kept[MANY];

struct sums {
    size_t live, live_usable, all, all_usable, live_asked, all_asked;
};

static void add(struct sums *sums, void *block, size_t size)
{
    sums->live++;
    sums->all++;
    sums->live_usable += malloc_usable_size(block);
    sums->all_usable += malloc_usable_size(block);
    sums->live_asked += size;
    sums->all_asked += size;
}

static void drop(struct sums *sums, void *block, size_t size)
{
    sums->live--;
    sums->live_usable -= malloc_usable_size(block);
    sums->live_asked -= size;
    free(block);
}

static void tell(const char *name, const struct sums *sums)
{
    printf("%s %zu %zu %zu %zu %zu %zu\n", name, sums->live, sums->live_usable, sums->all,
           sums->all_usable, sums->live_asked, sums->all_asked);
}

static void *in_thread(void *context)
{
    struct sums *sums = context;
    static void *blocks[MANY];
    for (size_t i = 0; i < MANY; i++)
        add(sums, blocks[i] = gamma_(i % 100 + 1), i % 100 + 1);
    for (size_t i = 0; i < MANY; i += 2)
        drop(sums, blocks[i], i % 100 + 1);
    kept[0] = blocks[1];
    return NULL;
}

int main(void)
{
    struct sums a = {0}, b = {0}, c = {0}, d = {0};
    pthread_t thread;
    for (size_t i = 1; i <= 80; i++)
        add(&a, kept[i] = alpha(i * 1024), i * 1024);
    for (size_t i = 1; i <= 40; i++)
        add(&b, kept[100 + i] = beta(i * 4096), i * 4096);
    for (size_t i = 1; i <= 30; i++) {
        void *block = delta(i * 100000);
        add(&d, block, i * 100000);
        drop(&d, block, i * 100000);
    }
    if (pthread_create(&thread, NULL, in_thread, &c) != 0 || pthread_join(thread, NULL) != 0)
        return 1;
    tell("alpha", &a);
    tell("beta", &b);
    tell("gamma_", &c);
    tell("delta", &d);
    return 0;
}

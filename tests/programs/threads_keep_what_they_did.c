/* SPDX-License-Identifier: MIT */
/* helper: four threads with names, or the number in the argument, allocate, free and end. Many
 * are there at the same time, and each leaves a block of another size behind. With a second
 * argument the program is killed in the end. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, THREADS_MAX = 200 };
static pthread_barrier_t all_there;
static void *left[THREADS_MAX];

static void *work(void *number)
{
    void *kept[100] = {NULL};
    char name[16];
    snprintf(name, sizeof name, "worker-%d", (int)(size_t)number);
    pthread_setname_np(pthread_self(), name);
    for (unsigned i = 0; i < 20000; i++) {
        free(kept[i % 100]);
        kept[i % 100] = malloc(1000);
    }
    for (unsigned i = 0; i < 100; i++)
        free(kept[i]);
    left[(size_t)number] = malloc(500);
    pthread_barrier_wait(&all_there);
    return NULL;
}

int main(int argc, char **argv)
{
    static pthread_t threads[THREADS_MAX];
    size_t count = argc > 1 ? (size_t)atoi(argv[1]) : THREADS;
    if (pthread_barrier_init(&all_there, NULL, (unsigned)count) != 0)
        return 1;
    for (size_t i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (size_t i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    if (argc > 2)
        raise(SIGKILL);
    return 0;
}

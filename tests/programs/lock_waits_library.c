/* SPDX-License-Identifier: MIT */
/* helper: the library of lock_waits.sh, which is opened while waits are counted. */
#include <pthread.h>
#include <time.h>
#include <unistd.h>

double library_waits(void);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void *holder(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&mutex);
    pthread_barrier_wait(&barrier);
    usleep(200000);
    pthread_mutex_unlock(&mutex);
    return NULL;
}

double library_waits(void)
{
    pthread_t thread;
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&thread, NULL, holder, NULL);
    pthread_barrier_wait(&barrier);
    double from = now();
    pthread_mutex_lock(&mutex);
    double waited = now() - from;
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, NULL);
    return waited;
}

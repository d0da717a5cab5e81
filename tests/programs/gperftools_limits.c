/* SPDX-License-Identifier: MIT */
/* helper
 * Allocates in pieces until malloc fails, or 256 MiB, and prints how many MiB it got, twice; then
 * what caches hold after many small frees in some threads. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int MallocExtension_GetNumericProperty(const char *name, size_t *value) __attribute__((weak));

enum { PIECE = 200000, MOST = 256 << 20, THREADS = 4, BLOCKS = 20000 };

static int fill(void)
{
    static void *pieces[MOST / PIECE];
    int count = 0;
    while (count < MOST / PIECE && (pieces[count] = malloc(PIECE)) != NULL)
        memset(pieces[count++], 1, PIECE);
    for (int i = 0; i < count; i++)
        free(pieces[i]);
    return (int)((long)count * PIECE >> 20);
}

static void *churn(void *barrier)
{
    static __thread void *blocks[BLOCKS];
    for (int turn = 0; turn < 5; turn++) {
        for (int i = 0; i < BLOCKS; i++)
            blocks[i] = malloc((size_t)(i % 500) + 1);
        for (int i = 0; i < BLOCKS; i++)
            free(blocks[i]);
    }
    pthread_barrier_wait(barrier);
    pthread_barrier_wait(barrier);
    return NULL;
}

int main(void)
{
    int first = fill();
    printf("%d %d\n", first, fill());
    pthread_t threads[THREADS];
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, THREADS + 1);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, churn, &barrier);
    pthread_barrier_wait(&barrier);
    size_t bytes = 0;
    MallocExtension_GetNumericProperty("tcmalloc.current_total_thread_cache_bytes", &bytes);
    printf("%zu\n", bytes >> 10);
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

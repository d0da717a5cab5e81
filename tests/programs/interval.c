/* SPDX-License-Identifier: MIT */
/* helper: allocates BYTES in blocks of SIZE; each is freed at once (`free`), or all are kept.
 *   interval BYTES SIZE keep|free [THREADS] */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static size_t bytes, size;
static bool frees;

static void *work(void *nothing)
{
    for (size_t i = 0; i < bytes / size; i++) {
        char *block = malloc(size);
        block[0] = 1;
        if (frees)
            free(block);
    }
    return nothing;
}

int main(int argc, char **argv)
{
    pthread_t ids[16];
    unsigned threads = argc > 4 ? (unsigned)atoi(argv[4]) : 0;
    if (argc < 4)
        return 2;
    bytes = (size_t)atol(argv[1]) / (threads == 0 ? 1 : threads);
    size = (size_t)atol(argv[2]);
    frees = strcmp(argv[3], "free") == 0;
    if (threads == 0)
        work(NULL);
    for (unsigned i = 0; i < threads; i++)
        pthread_create(&ids[i], NULL, work, NULL);
    for (unsigned i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    return 0;
}

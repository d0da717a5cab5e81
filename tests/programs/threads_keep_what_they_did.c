/* SPDX-License-Identifier: MIT */
/* helper: four threads with names allocate, free and end. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

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
    return NULL;
}

int main(void)
{
    pthread_t threads[4];
    for (size_t i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (size_t i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

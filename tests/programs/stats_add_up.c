/* SPDX-License-Identifier: MIT */
/* helper
 * A heap with known parts: 2,000 live blocks among 18,000 freed ones, 50 MiB of free pages, 8 MiB
 * of the program's own mapping, and 4 MiB of a thread's stack. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BLOCKS = 20000, SIZE = 1100, PAGES = 50 << 20, OWN = 8 << 20, STACK = 4 << 20 };

static void *deep(void *unused)
{
    char space[STACK];
    memset(space, 1, sizeof space);
    puts("ready");
    fflush(stdout);
    pause();
    return space[STACK / 2] == 2 ? unused : NULL;
}

int main(void)
{
    static char *blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++)
        memset(blocks[i] = malloc(SIZE), 1, SIZE);
    for (int i = 0; i < BLOCKS; i++)
        if (i % 10 != 0)
            free(blocks[i]);
    void *pages = malloc(PAGES);
    memset(pages, 1, PAGES);
    free(pages);
    void *own = mmap(NULL, OWN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(own, 1, OWN);
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 2 * STACK);
    pthread_create(&thread, &attributes, deep, NULL);
    pthread_join(thread, NULL);
    return 0;
}

/* SPDX-License-Identifier: MIT */
/* helper of coexistence.sh: a program with an allocator of its own, a bump allocator that never
 * frees. Whoever is preloaded must leave it alone. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 64 << 20, HEADER = 16 };

static _Alignas(16) char room[ROOM];
static _Atomic size_t used;

void *malloc(size_t size)
{
    size_t whole = (size + HEADER + 15) & ~(size_t)15, at = atomic_fetch_add(&used, whole);
    if (at + whole > ROOM) {
        errno = ENOMEM;
        return NULL;
    }
    *(size_t *)(void *)(room + at) = size;
    return room + at + HEADER;
}

void free(void *block)
{
    if (block != NULL && ((char *)block < room || (char *)block >= room + ROOM)) {
        abort();
    }
}

void *calloc(size_t count, size_t size)
{
    return malloc(count * size);
}

void *realloc(void *old, size_t size)
{
    void *block = malloc(size);
    if (old != NULL && block != NULL) {
        size_t before = *(size_t *)(void *)((char *)old - HEADER);
        memcpy(block, old, before < size ? before : size);
        free(old);
    }
    return block;
}

static void *work(void *unused)
{
    for (size_t i = 1; i < 300; i++) {
        char *text = NULL;
        if (asprintf(&text, "%zu %0*d", i, (int)i, 1) < 0) {
            abort();
        }
        text = realloc(text, i * 3 + 100);
        free(text);
    }
    return unused;
}

int main(void)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        pthread_create(&threads[i], NULL, work, NULL);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    char *mine = malloc(10);
    puts(mine >= room && mine < room + ROOM ? "its own" : "somebody else's");
    return 0;
}

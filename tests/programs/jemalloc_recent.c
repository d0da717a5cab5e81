/* SPDX-License-Identifier: MIT */
/* helper */
/* Five blocks, one of them freed and one enlarged, each in a function of its own; then the blocks
 * recorded last, and where main is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

extern int mallctl(const char *, void *, size_t *, void *, size_t) __attribute__((weak));

static char text[100000];
static size_t used;

static void hear(void *opaque, const char *part)
{
    (void)opaque;
    size_t length = strlen(part);
    if (length < sizeof text - used)
        memcpy(text + used, part, length);
    used += length;
}

__attribute__((noinline)) static void *allocate(size_t size)
{
    void *volatile block = malloc(size);
    return block;
}

__attribute__((noinline)) static void release(void *block)
{
    free(block);
    __asm__ volatile("");
}

__attribute__((noinline)) static void *enlarge(void *block, size_t size)
{
    void *volatile larger = realloc(block, size);
    return larger;
}

int main(void)
{
    struct {
        void (*write)(void *, const char *);
        void *opaque;
    } listener = {hear, NULL};
    void *blocks[5];
    if (mallctl == NULL)
        return 2;
    for (size_t i = 0; i < 5; i++)
        blocks[i] = allocate(5000 + i);
    release(blocks[2]);
    blocks[3] = enlarge(blocks[3], 90000);
    if (mallctl("experimental.prof_recent.alloc_dump", NULL, NULL, &listener, sizeof listener) != 0)
        return 3;
    char line[64];
    int length = snprintf(line, sizeof line, "\n%p\n", (void *)main);
    if (write(1, text, used) < 0 || write(1, line, (size_t)length) < 0)
        return 4;
    return used < sizeof text ? 0 : 5;
}

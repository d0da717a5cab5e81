/* SPDX-License-Identifier: MIT */
/* helper: the library that the dlopen tests load. It allocates in its constructor and frees in its
 * destructor, and has thread-local memory of its own, so that loading it makes the loader
 * allocate. */
#include <stdlib.h>
#include <string.h>

static char *from_constructor;
static __thread char own[200];

__attribute__((constructor)) static void begin(void)
{
    from_constructor = malloc(5000);
    memset(from_constructor, 0x33, 5000);
}

__attribute__((destructor)) static void end(void)
{
    if (from_constructor[4999] != 0x33) {
        abort();
    }
    free(from_constructor);
}

void *user_allocate(size_t size)
{
    own[0] = 1;
    return malloc(size);
}

void *user_resize(void *block, size_t size)
{
    return realloc(block, size);
}

void user_free(void *block)
{
    free(block);
}

char *user_duplicate(const char *text)
{
    return strdup(text);
}

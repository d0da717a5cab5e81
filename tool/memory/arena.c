/* SPDX-License-Identifier: MIT */
/* See tool/memory/arena.h. */
#include "tool/memory/arena.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/memory/shortage.h"

enum { BLOCK_SIZE = 65536 }; /* bytes; what is longer has a block of its own */

struct arena_block {
    struct arena_block *next;
    size_t used, room;
    alignas(max_align_t) char bytes[];
};

static void *take(struct arena *arena, size_t size, size_t alignment);

void *arena_take(struct arena *arena, size_t size)
{
    return take(arena, size, alignof(max_align_t));
}

char *arena_text(struct arena *arena, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = take(arena, size, 1);
    return copy ? memcpy(copy, text, size) : NULL;
}

char *arena_print(struct arena *arena, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    size_t size = length < 0 ? 1 : (size_t)length + 1;
    char *text = take(arena, size, 1);
    if (!text)
        return NULL;
    text[0] = '\0';
    va_start(arguments, format);
    vsnprintf(text, size, format, arguments);
    va_end(arguments);
    return text;
}

void arena_free(struct arena *arena)
{
    for (struct arena_block *block = arena->last, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    arena->last = NULL;
}

static void *take(struct arena *arena, size_t size, size_t alignment)
{
    struct arena_block *block = arena->last;
    size_t at = block ? (block->used + alignment - 1) & ~(alignment - 1) : 0;
    if (!block || at > block->room || block->room - at < size) {
        size_t room = size > BLOCK_SIZE ? size : BLOCK_SIZE;
        block = room <= SIZE_MAX / 2 ? malloc(sizeof *block + room) : NULL;
        if (!block) {
            shortage_note();
            return NULL;
        }
        *block = (struct arena_block){.next = arena->last, .room = room};
        arena->last = block;
        at = 0;
    }
    block->used = at + size;
    return block->bytes + at;
}

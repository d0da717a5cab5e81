/* SPDX-License-Identifier: MIT */
/*
 * Memory that goes back all at once: texts and small structures that live as long as a view, a
 * picture or a command. Nothing in it moves. Cost: no header a piece, one malloc for 64 KiB.
 */
#ifndef MEMORY_ARENA_H
#define MEMORY_ARENA_H

#include <stddef.h>

/* All of it zero is the empty arena. */
struct arena {
    struct arena_block *last;
};

/* Bytes for anything, not cleared. NULL: memory is out. */
void *arena_take(struct arena *arena, size_t size);
/* A copy of a text. NULL: memory is out. */
char *arena_text(struct arena *arena, const char *text);
/* A text as printf writes it. NULL: memory is out. */
char *arena_print(struct arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void arena_free(struct arena *arena);

#endif

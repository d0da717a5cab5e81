/* SPDX-License-Identifier: MIT */
/*
 * Blocks that are not from our window: libc's own, which reach us when a library was opened with
 * RTLD_DEEPBIND or something allocated before we were loaded; and our emergency blocks.
 */
#ifndef API_FOREIGN_H
#define API_FOREIGN_H

#include <stdbool.h>
#include <stddef.h>

/* True if p was somebody's block and has been handled. */
bool foreign_free(void *p);
bool foreign_realloc(void *p, size_t size, void **moved);
/* 0 if p is nobody's block. */
size_t foreign_usable(const void *p);

/* For a signal handler that allocates although it interrupted the allocator in its own thread: a few
 * blocks that are never reused. NULL when they are used up. */
void *foreign_emergency(size_t size);

#endif

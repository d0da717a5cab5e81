/* SPDX-License-Identifier: MIT */
/*
 * Blocks for calls that come while the same thread is inside the allocator: from a signal handler
 * that interrupted it, which C does not allow but programs do, or from libc in one of our own
 * calls. They come from memory of their own and are never reused: free ignores them.
 */
#ifndef API_EMERGENCY_H
#define API_EMERGENCY_H

#include <stdbool.h>
#include <stddef.h>

/* NULL if the memory set aside for this is used up. */
void *emergency_take(size_t size, size_t align);
bool emergency_owns(const void *p);
size_t emergency_size(const void *p);

#endif

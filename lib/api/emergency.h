/* SPDX-License-Identifier: MIT */
/*
 * Blocks for calls that come while the same thread is inside the allocator: from a signal handler
 * that interrupted it, which C does not allow but programs do, or from libc on our own behalf. They
 * are cut from memory of their own and never reused: free leaves them alone.
 */
#ifndef API_EMERGENCY_H
#define API_EMERGENCY_H

#include <stdbool.h>
#include <stddef.h>

/* NULL when the memory set aside for this is used up. */
void *emergency_take(size_t size, size_t align);
bool emergency_owns(const void *p);
size_t emergency_size(const void *p);

#endif

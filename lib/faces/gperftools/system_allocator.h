/* SPDX-License-Identifier: MIT */
/*
 * gperftools' SysAllocator: an object of the program's that memory comes from. While one is set,
 * the heap takes no more from the kernel: it uses what it has, and beyond that it asks the object.
 * Blocks in memory of the object's own (lib/alloc/lent.h) are counted as all others and never
 * sampled. If the object has none, malloc fails.
 */
#ifndef GPERFTOOLS_SYSTEM_ALLOCATOR_H
#define GPERFTOOLS_SYSTEM_ALLOCATOR_H

struct system_allocator; /* the C++ object */

/* The one in use: the program's, or one that asks the kernel. */
struct system_allocator *system_allocator_get(void);
/* NULL, or the first one of `system_allocator_get`: the kernel again. */
void system_allocator_set(struct system_allocator *allocator);

#endif

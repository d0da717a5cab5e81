/* SPDX-License-Identifier: MIT */
/*
 * What the program has said about its memory: blocks that are no leaks, whatever points to them,
 * and memory from which it reaches blocks although no root is there. Any thread may call at any
 * time; no lock.
 */
#ifndef LEAK_DECLARED_H
#define LEAK_DECLARED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The live block that begins at `block` is no leak, nor is what it leads to. False: there is no
 * such block, or memory is out. */
bool declared_ignore(const void *block);
/* It may be one again. False: it was not ignored. */
bool declared_ignore_end(const void *block);
/* The same for a block outside of the window, which the caller knows to be live. */
bool declared_ignore_other(const void *block);
bool declared_ignore_other_end(const void *block);
/* Memory that is looked at as data segments are. False: memory is out. */
bool declared_root(const void *start, size_t size);
/* False: there was no such call before, with these arguments. */
bool declared_root_end(const void *start, size_t size);

/* Calls `visit` for everything that is in force; size 0: a block. A block that was freed meanwhile
 * is left out if it had a record; one without a record can't be told from its successor. */
void declared_each(void (*visit)(void *context, uintptr_t start, size_t size), void *context);
/* In a forked child. */
void declared_recover(void);

#endif

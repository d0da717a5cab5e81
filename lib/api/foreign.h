/* SPDX-License-Identifier: MIT */
/*
 * Other allocators in the process. Blocks of libc reach us when a library was opened with
 * RTLD_DEEPBIND or when something allocated before we were loaded. The malloc of the whole process
 * is another one if our library was opened late or linked behind it.
 */
#ifndef API_FOREIGN_H
#define API_FOREIGN_H

#include <stdbool.h>
#include <stddef.h>

/* True if p was a block of another allocator and has been handled. */
bool foreign_free(void *p);
/* 0 if p is no such block. */
size_t foreign_usable(const void *p);
/* Whether the malloc of this process is not ours. Not in a signal handler. */
bool foreign_malloc(void);
/* The file of that malloc, without its folder. */
const char *foreign_malloc_file(void);
/* Whether the name leads to a function of another library. */
bool foreign_serves(const char *function);

#endif

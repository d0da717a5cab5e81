/* SPDX-License-Identifier: MIT */
/*
 * Blocks that are libc's own: they reach us when a library was opened with RTLD_DEEPBIND or
 * something allocated before we were loaded.
 */
#ifndef API_FOREIGN_H
#define API_FOREIGN_H

#include <stdbool.h>
#include <stddef.h>

/* True if p was somebody's block and has been handled. */
bool foreign_free(void *p);
/* 0 if p is nobody's block. */
size_t foreign_usable(const void *p);

#endif

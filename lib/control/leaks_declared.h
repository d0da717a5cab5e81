/* SPDX-License-Identifier: MIT */
/* What the program says about its memory (lib/leak/declared.h), for callers outside of the
 * allocator. */
#ifndef CONTROL_LEAKS_DECLARED_H
#define CONTROL_LEAKS_DECLARED_H

#include <stdbool.h>
#include <stddef.h>

bool leaks_ignore(const void *block);
bool leaks_ignore_end(const void *block);
bool leaks_root(const void *start, size_t size);
bool leaks_root_end(const void *start, size_t size);

#endif

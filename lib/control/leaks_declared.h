/* SPDX-License-Identifier: MIT */
/* What the program says about its memory (lib/leak/declared.h), for callers outside of the
 * allocator. */
#ifndef CONTROL_LEAKS_DECLARED_H
#define CONTROL_LEAKS_DECLARED_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/leak/leak.h"

/* The live block that an address is in, guarded ones, too. False: it is in none. */
bool leaks_block_at(uintptr_t address, struct found *block);
bool leaks_ignore(const void *block);
bool leaks_ignore_end(const void *block);
bool leaks_root(const void *start, size_t size);
bool leaks_root_end(const void *start, size_t size);

#endif

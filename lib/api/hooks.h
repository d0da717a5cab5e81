/* SPDX-License-Identifier: MIT */
/*
 * Functions of the program's that are called for every block: after one is handed out, before one
 * is freed, and both for a realloc. While there is any, no call takes the hot path, so that all of
 * them come by here; otherwise they cost nothing.
 */
#ifndef API_HOOKS_H
#define API_HOOKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

enum { HOOKS_MAX = 8 };

typedef void hook_new(const void *block, size_t size);
typedef void hook_delete(const void *block);

/* Empty places are NULL. After a change the caller calls `cold_hooks_changed`. */
struct hooks {
    hook_new *on_new[HOOKS_MAX];
    hook_delete *on_delete[HOOKS_MAX];
};
extern HIDDEN struct hooks hooks_set;
extern HIDDEN bool hooks_any;
extern HIDDEN bool hooks_fill; /* blocks are filled (filling.h): as if there were hooks */

/* From outside of the allocator: */
void hooks_call_new(const void *block, size_t size);
void hooks_call_delete(const void *block);
/* `before` became `after`, which may be the same address. */
void hooks_call_resized(const void *before, const void *after, size_t size);

#endif

/* SPDX-License-Identifier: MIT */
/* See lib/api/hooks.h. */
#include "lib/api/hooks.h"

struct hooks hooks_set;
bool hooks_any, hooks_fill;

void hooks_call_new(const void *block, size_t size)
{
    for (unsigned i = 0; i < HOOKS_MAX; i++) {
        hook_new *hook = load_acquire(&hooks_set.on_new[i]);
        if (hook != NULL)
            hook(block, size);
    }
}

void hooks_call_delete(const void *block)
{
    for (unsigned i = 0; i < HOOKS_MAX; i++) {
        hook_delete *hook = load_acquire(&hooks_set.on_delete[i]);
        if (hook != NULL)
            hook(block);
    }
}

void hooks_call_resized(const void *before, const void *after, size_t size)
{
    hooks_call_delete(before);
    hooks_call_new(after, size);
}

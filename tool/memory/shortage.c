/* SPDX-License-Identifier: MIT */
/* See tool/memory/shortage.h. */
#include "tool/memory/shortage.h"

#include <stdatomic.h>

static atomic_bool noted; /* progress and symbols have threads of their own */

void shortage_note(void)
{
    atomic_store(&noted, true);
}

bool shortage_is_noted(void)
{
    return atomic_load(&noted);
}

void shortage_forget(void)
{
    atomic_store(&noted, false);
}

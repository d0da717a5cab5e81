/* SPDX-License-Identifier: MIT */
/* See lib/process/memory.h. */
#include "lib/process/memory.h"

#include "base/os.h"
#include "lib/alloc/alloc.h"

void (*memory_settle)(void);

void memory_look(void)
{
    void (*settle)(void) = load_relaxed(&memory_settle);
    if (unlikely(alloc_forked()) && settle != NULL)
        settle();
}

bool memory_is_own(void)
{
    memory_look();
    return !os_shares_memory();
}

/* SPDX-License-Identifier: MIT */
/* See lib/api/filling.h. */
#include "lib/api/filling.h"

#include <string.h>

#include "lib/api/cold_inside.h"
#include "lib/api/elsewhere.h"
#include "lib/api/guarding.h"
#include "lib/api/hooks.h"
#include "lib/guard/guard.h"

static bool zeros, junk_new, junk_freed;

void filling_ask(bool zero, bool on_new, bool on_freed)
{
    zeros = zero;
    junk_new = on_new && !zero;
    junk_freed = on_freed;
    hooks_any = hooks_fill = zeros || junk_new || junk_freed;
}

void filling_begin(void *block, bool clear, bool *zero)
{
    if (zeros && !*zero) {
        large_clear(block, cold_usable(block));
        *zero = true;
    } else if (junk_new && !clear) {
        memset(block, FILLING_NEW, cold_usable(block));
        *zero = false;
    }
}

void filling_grown(void *block, size_t before)
{
    size_t usable = zeros || junk_new ? cold_usable(block) : 0;
    if (usable > before)
        memset((char *)block + before, zeros ? 0 : FILLING_NEW, usable - before);
}

void filling_end(void *p)
{
    bool ours;
    if (!junk_freed || harden_on || guard_debug || guarding_owns(p))
        return;
    size_t usable = cold_mark(p, &ours) != MARK_FREE ? cold_usable(p) : elsewhere_size(p);
    memset(p, FILLING_FREED, usable);
}

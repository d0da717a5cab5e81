/* SPDX-License-Identifier: MIT */
/* See lib/guard/suppress.h. */
#include "lib/guard/suppress.h"

#include <stddef.h>

#include "base/config.h"
#include "base/words.h"
#include "lib/watch/watch.h"

static bool fits(const char *name);

bool suppress_any(void)
{
    return config.guard_suppress[0] != '\0';
}

bool suppress_fits(uintptr_t pc, const char *module, bool named)
{
    struct code_name name = {0};
    if (fits(module))
        return true;
    if (named)
        code_name_find(pc, &name);
    return fits(name.function);
}

static bool fits(const char *name)
{
    const char *patterns = config.guard_suppress;
    while (*patterns != '\0') {
        size_t length = text_until(patterns, '|');
        if (length > 0 && wildcard_fits(patterns, length, name))
            return true;
        patterns += length + (patterns[length] == '|');
    }
    return false;
}

/* SPDX-License-Identifier: MIT */
/* See lib/control/leaks_declared.h. */
#include "lib/control/leaks_declared.h"

#include "lib/api/api.h"
#include "lib/leak/leak.h"

bool leaks_ignore(const void *block)
{
    if (!cold_begin(NULL))
        return false;
    bool did = declared_ignore(block);
    cold_end();
    return did;
}

bool leaks_ignore_end(const void *block)
{
    if (!cold_begin(NULL))
        return false;
    bool did = declared_ignore_end(block);
    cold_end();
    return did;
}

bool leaks_root(const void *start, size_t size)
{
    if (!cold_begin(NULL))
        return false;
    bool did = declared_root(start, size);
    cold_end();
    return did;
}

bool leaks_root_end(const void *start, size_t size)
{
    if (!cold_begin(NULL))
        return false;
    bool did = declared_root_end(start, size);
    cold_end();
    return did;
}

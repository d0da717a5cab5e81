/* SPDX-License-Identifier: MIT */
/* See lib/watch/wildcard.h. */
#include "lib/watch/wildcard.h"

#include <string.h>

static const char *part_find(const char *part, size_t length, const char *name, bool at_start);

bool wildcard_fits(const char *pattern, size_t length, const char *name)
{
    bool at_start = length > 0 && pattern[0] == '^';
    bool at_end = length > 0 && pattern[length - 1] == '$';
    const char *end = pattern + length - at_end;
    pattern += at_start;
    if (*name == '\0')
        return false;
    while (pattern < end) {
        const char *star = memchr(pattern, '*', (size_t)(end - pattern));
        size_t part = (size_t)((star == NULL ? end : star) - pattern);
        if (star == NULL && at_end) { /* the last part is at the end */
            size_t rest = strlen(name);
            return rest >= part && (!at_start || rest == part) &&
                   memcmp(name + rest - part, pattern, part) == 0;
        }
        const char *found = part_find(pattern, part, name, at_start);
        if (found == NULL)
            return false;
        name = found + part;
        at_start = false;
        pattern += part + (star != NULL);
    }
    return true;
}

/* Where a part without * occurs in the name, at the beginning only if `at_start`; NULL: nowhere. */
static const char *part_find(const char *part, size_t length, const char *name, bool at_start)
{
    for (; strlen(name) >= length; name++) {
        if (memcmp(name, part, length) == 0)
            return name;
        if (at_start)
            return NULL;
    }
    return NULL;
}

/* SPDX-License-Identifier: MIT */
/* See base/object.h. */
#include "base/object.h"

#include <stddef.h>

#include "base/compiler.h"

/* As the C library fills it in; what follows is its own. Declared here, because older headers do
 * not have it. */
struct found {
    unsigned long long flags;
    void *start, *end, *link_map, *header;
    unsigned long long rest[9];
};
extern int _dl_find_object(void *pc, struct found *found) __attribute__((weak));

bool object_find(uintptr_t pc, struct object *object)
{
    struct found found;
    if (_dl_find_object == NULL || _dl_find_object((void *)pc, &found) != 0)
        return false;
    object->start = (uintptr_t)found.start;
    object->end = (uintptr_t)found.end;
    object->header = found.header;
    return true;
}

void objects_refresh(void)
{
}

/* SPDX-License-Identifier: MIT */
/* See tool/memory/list.h. */
#include "tool/memory/list.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tool/memory/shortage.h"

/* Most lists of a command stay small; below this size growing costs more than the room. */
enum { ROOM_FIRST = 16 };

bool list_reserve(void *items, size_t *room, size_t want, size_t item_size)
{
    if (want <= *room)
        return true;
    size_t more = *room < ROOM_FIRST ? ROOM_FIRST : *room + *room / 2;
    if (more < want)
        more = want;
    if (!list_resize(items, more, item_size))
        return false;
    *room = more;
    return true;
}

bool list_resize(void *items, size_t room, size_t item_size)
{
    void *old;
    memcpy(&old, items, sizeof old); /* `items` is a pointer to a pointer of any type */
    size_t bytes;
    bool fits = !__builtin_mul_overflow(room > 0 ? room : 1, item_size, &bytes);
    void *moved = fits ? realloc(old, bytes) : NULL;
    if (!moved) {
        shortage_note();
        return false;
    }
    memcpy(items, &moved, sizeof moved);
    return true;
}

void *list_add(struct list *list, size_t item_size)
{
    if (!list_reserve(&list->items, &list->room, list->count + 1, item_size))
        return NULL;
    return memset((char *)list->items + list->count++ * item_size, 0, item_size);
}

bool list_append(struct list *list, size_t item_size, const void *items, size_t count)
{
    if (count > SIZE_MAX - list->count ||
        !list_reserve(&list->items, &list->room, list->count + count, item_size)) {
        shortage_note();
        return false;
    }
    if (count > 0)
        memcpy((char *)list->items + list->count * item_size, items, count * item_size);
    list->count += count;
    return true;
}

void list_free(struct list *list)
{
    free(list->items);
    *list = (struct list){0};
}

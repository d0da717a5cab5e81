/* SPDX-License-Identifier: MIT */
/*
 * Arrays that grow: the only code of the command that calls realloc for them. An array is either a
 * `struct list`, or a typed pointer with its room beside it, where the code reads its items a lot.
 * Items move when an array grows: keep numbers, not pointers.
 */
#ifndef MEMORY_LIST_H
#define MEMORY_LIST_H

#include <stdbool.h>
#include <stddef.h>

/* All of it zero is the empty list. */
struct list {
    void *items;
    size_t count, room;
};

/* Makes room for `want` items in the array that the pointer at `items` leads to; *room is how many
 * fit. It grows by half at least, so that adding one at a time costs a constant time each. False:
 * memory is out; the array is as it was. */
bool list_reserve(void *items, size_t *room, size_t want, size_t item_size);
/* Room for exactly `room` items, for several arrays that share one room. False: memory is out. */
bool list_resize(void *items, size_t room, size_t item_size);

/* One more item, zeroed. NULL: memory is out. */
void *list_add(struct list *list, size_t item_size);
/* A copy of `count` items at the end. False: memory is out. */
bool list_append(struct list *list, size_t item_size, const void *items, size_t count);
void list_free(struct list *list);

#endif

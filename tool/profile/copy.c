/* SPDX-License-Identifier: MIT */
/* See profile_copy in tool/profile/model.h. */
#include "tool/profile/model_index.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "tool/memory/memory.h"

static void *items_copy(const void *items, size_t count, size_t item_size);
static bool index_copy(struct profile_index *index);

bool profile_copy(struct profile *to, const struct profile *from)
{
    *to = *from;
    const struct {
        struct list *list;
        size_t item_size;
    } lists[] = {
        {&to->mappings, sizeof(struct profile_mapping)},
        {&to->functions, sizeof(struct profile_function)},
        {&to->lines, sizeof(struct profile_line)},
        {&to->locations, sizeof(struct profile_location)},
        {&to->stacks, sizeof(struct profile_stack)},
        {&to->frames, 1},
        {&to->labels, sizeof(struct profile_label)},
        {&to->label_sets, sizeof(struct profile_label_set)},
        {&to->points, sizeof(struct profile_point)},
        {&to->moments, sizeof(struct profile_moment)},
        {&to->threads, sizeof(struct profile_thread)},
        {&to->courses, sizeof(struct profile_course)},
        {&to->looks, sizeof(struct profile_look)},
        {&to->comments, sizeof(uint32_t)},
        {&to->warnings, sizeof(uint32_t)},
        {&to->text, 1},
        {&to->strings, sizeof(struct string)},
    };
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        lists[i].list->room = lists[i].list->count;
        lists[i].list->items =
            items_copy(lists[i].list->items, lists[i].list->count, lists[i].item_size);
        to->failed |= lists[i].list->items == NULL;
    }
    to->index = items_copy(from->index, from->index ? 1 : 0, sizeof *from->index);
    if (to->index)
        to->failed |= !index_copy(to->index);
    return profile_samples_copy(&to->samples) && to->index && !to->failed;
}

/* The copy of `count` items, with room for one more in any case. NULL when memory is out. */
static void *items_copy(const void *items, size_t count, size_t item_size)
{
    void *copy = malloc((count + 1) * item_size);
    if (copy && count > 0)
        memcpy(copy, items, count * item_size);
    return copy;
}

static bool index_copy(struct profile_index *index)
{
    struct map *dense[] = {&index->strings, &index->functions, &index->stacks, &index->label_sets};
    struct map *sparse[] = {&index->addresses, &index->named};
    bool ok = true;
    for (size_t i = 0; i < COUNT_OF(dense); i++) { /* the next search makes them again */
        dense[i]->slots = NULL;
        dense[i]->size = 0;
    }
    for (size_t i = 0; i < COUNT_OF(sparse); i++)
        ok &= (sparse[i]->slots =
                   items_copy(sparse[i]->slots, sparse[i]->size, sizeof *sparse[i]->slots)) != NULL;
    for (size_t i = 0; i < COUNT_OF(index->frames); i++)
        ok &= (index->frames[i] = items_copy(index->frames[i], index->frames_room[i],
                                             sizeof *index->frames[i])) != NULL;
    index->packed = NULL;
    index->packed_room = 0;
    index->by_start_room = index->by_start_count;
    index->by_start = items_copy(index->by_start, index->by_start_count, sizeof *index->by_start);
    return ok && index->by_start;
}

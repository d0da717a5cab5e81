/* SPDX-License-Identifier: MIT */
/* See tool/profile/parse/ids.h. */
#include "tool/profile/parse/ids.h"

#include <stdlib.h>

#include "tool/memory/memory.h"

bool ids_add(struct ids *ids, uint64_t id, uint32_t number)
{
    if (!list_reserve(&ids->pairs, &ids->room, ids->count + 1, sizeof *ids->pairs))
        return false;
    ids->pairs[ids->count++] = (struct ids_pair){id, number};
    ids->scattered |= id != ids->count;
    return true;
}

static int compare_pairs(const void *a, const void *b)
{
    uint64_t left = ((const struct ids_pair *)a)->id, right = ((const struct ids_pair *)b)->id;
    return left < right ? -1 : left > right;
}

bool ids_sort(struct ids *ids, uint64_t *twice)
{
    if (!ids->scattered)
        return true;
    qsort(ids->pairs, ids->count, sizeof *ids->pairs, compare_pairs);
    for (size_t i = 1; i < ids->count; i++)
        if (ids->pairs[i].id == ids->pairs[i - 1].id) {
            *twice = ids->pairs[i].id;
            return false;
        }
    return true;
}

bool ids_find(const struct ids *ids, uint64_t id, uint32_t *number)
{
    if (!ids->scattered) {
        if (id - 1 >= ids->count)
            return false;
        *number = ids->pairs[id - 1].number;
        return true;
    }
    struct ids_pair wanted = {.id = id};
    const struct ids_pair *found =
        bsearch(&wanted, ids->pairs, ids->count, sizeof wanted, compare_pairs);
    if (found)
        *number = found->number;
    return found != NULL;
}

/* SPDX-License-Identifier: MIT */
/* See tool/profile/moved.h. */
#include "tool/profile/moved.h"

#include <stdlib.h>
#include <string.h>

struct range {
    uint64_t start, end;
};

struct ranges {
    struct range *items;
    size_t count, room;
    bool failed;
};

static void ranges_add(struct ranges *ranges, uint64_t start, uint64_t end)
{
    if (start >= end || ranges->failed)
        return;
    if (ranges->count == ranges->room) {
        size_t room = 2 * ranges->room + 16;
        struct range *more = realloc(ranges->items, room * sizeof *more);
        if (!more) {
            ranges->failed = true;
            return;
        }
        ranges->items = more;
        ranges->room = room;
    }
    ranges->items[ranges->count++] = (struct range){start, end};
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Whether two are the same file, by build id where both have one, else by name. Code without a
 * file, made at run time, is its own business. */
static bool is_same(const struct profile *profile, const struct moved *a, const struct moved *b)
{
    if (a->build_id != 0 && b->build_id != 0)
        return a->build_id == b->build_id;
    return strcmp(base_name(profile_text(profile, a->path)),
                  base_name(profile_text(profile, b->path))) == 0;
}

static int compare(const void *a, const void *b)
{
    const struct moved *left = a, *right = b;
    return left->start < right->start ? -1 : left->start > right->start;
}

/* Where two of the sorted `all` are that differ. */
static void ranges_find(struct ranges *ranges, const struct profile *profile,
                        const struct moved *all, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = i + 1; k < count && all[k].start < all[i].end; k++)
            if (!is_same(profile, &all[i], &all[k]))
                ranges_add(ranges, all[k].start, all[k].end < all[i].end ? all[k].end : all[i].end);
}

static void locations_mark(struct profile *profile, const struct ranges *ranges)
{
    struct profile_location *locations = profile->locations.items;
    for (size_t i = 0; i < profile->locations.count && ranges->count > 0; i++) {
        uint64_t code = locations[i].address;
        code -= code > 0 && !(locations[i].flags & LOCATION_EXACT);
        for (size_t k = 0; k < ranges->count; k++)
            if (ranges->items[k].start <= code && code < ranges->items[k].end)
                locations[i].flags |= LOCATION_GUESS;
    }
}

bool moved_mark(struct profile *profile, const struct moved *moved, size_t count)
{
    size_t mappings = profile->mappings.count, all_count = 0;
    struct moved *all = calloc(mappings + count + 1, sizeof *all);
    struct ranges ranges = {.failed = !all};
    for (uint32_t i = 1; all && i < mappings; i++) {
        const struct profile_mapping *mapping = profile_mapping_at(profile, i);
        if (profile_text(profile, mapping->path)[0] == '/')
            all[all_count++] =
                (struct moved){mapping->start, mapping->limit, mapping->path, mapping->build_id};
    }
    if (all && count > 0)
        memcpy(all + all_count, moved, count * sizeof *moved);
    if (all) {
        all_count += count;
        qsort(all, all_count, sizeof *all, compare);
        ranges_find(&ranges, profile, all, all_count);
        locations_mark(profile, &ranges);
    }
    free(all);
    free(ranges.items);
    return !ranges.failed;
}

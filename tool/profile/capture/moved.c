/* SPDX-License-Identifier: MIT */
/* See tool/profile/capture/moved.h. */
#include "tool/profile/capture/moved.h"

#include <stdlib.h>
#include <string.h>

#include "tool/memory/memory.h"
#include "tool/terminal/terminal.h"

struct range {
    uint64_t start, end;
};

static int compare(const void *a, const void *b);
static void ranges_find(struct list *ranges, struct profile *profile, const struct moved *all,
                        size_t count);
static bool is_same(const struct profile *profile, const struct moved *a, const struct moved *b);
static void locations_mark(struct profile *profile, const struct list *ranges);

void moved_mark(struct profile *profile, const struct moved *moved, size_t count)
{
    size_t mappings = profile->mappings.count, all_count = 0;
    struct moved *all = calloc(mappings + count + 1, sizeof *all);
    struct list ranges = {0};
    if (!all) {
        profile->failed = true;
        return;
    }
    for (uint32_t i = 1; i < mappings; i++) {
        const struct profile_mapping *mapping = profile_mapping_at(profile, i);
        if (profile_text(profile, mapping->path)[0] == '/')
            all[all_count++] =
                (struct moved){mapping->start, mapping->limit, mapping->path, mapping->build_id};
    }
    if (count > 0)
        memcpy(all + all_count, moved, count * sizeof *moved);
    all_count += count;
    qsort(all, all_count, sizeof *all, compare);
    ranges_find(&ranges, profile, all, all_count);
    locations_mark(profile, &ranges);
    free(all);
    free(ranges.items);
}

static int compare(const void *a, const void *b)
{
    const struct moved *left = a, *right = b;
    return left->start < right->start ? -1 : left->start > right->start;
}

/* Places that two different files of the sorted `all` have had. */
static void ranges_find(struct list *ranges, struct profile *profile, const struct moved *all,
                        size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = i + 1; k < count && all[k].start < all[i].end; k++) {
            struct range both = {all[k].start, all[k].end < all[i].end ? all[k].end : all[i].end};
            if (both.start >= both.end || is_same(profile, &all[i], &all[k]))
                continue;
            struct range *range = profile_list_add(profile, ranges, sizeof *range);
            if (range)
                *range = both;
        }
}

/* Whether two are the same file, by build id where both have one, else by name. Code that
 * was generated at run time has no file, and is left out. */
static bool is_same(const struct profile *profile, const struct moved *a, const struct moved *b)
{
    if (a->build_id != 0 && b->build_id != 0)
        return a->build_id == b->build_id;
    return strcmp(name_base(profile_text(profile, a->path)),
                  name_base(profile_text(profile, b->path))) == 0;
}

static void locations_mark(struct profile *profile, const struct list *ranges)
{
    const struct range *range = ranges->items;
    struct profile_location *locations = profile->locations.items;
    for (size_t i = 0; i < profile->locations.count && ranges->count > 0; i++) {
        uint64_t code = locations[i].address;
        code -= code > 0 && !(locations[i].flags & LOCATION_EXACT);
        for (size_t k = 0; k < ranges->count; k++)
            if (range[k].start <= code && code < range[k].end)
                locations[i].flags |= LOCATION_GUESS;
    }
}

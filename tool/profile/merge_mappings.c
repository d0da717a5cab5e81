/* SPDX-License-Identifier: MIT */
/*
 * The mappings of two profiles into one (merge.c). Two runs of a program lie at different
 * addresses. A mapping of `from` is the one of `to` that has the same build id, or the same path
 * where one has none, and the same part of the file; addresses move along. One that is new and lies
 * where something else lies in `to` is moved to a free place.
 */
#include <string.h>

#include "tool/profile/merge_inside.h"

struct part {
    const struct merging *it;
    const struct profile_mapping *mapping;
};

static void know_mapping(struct merging *it, uint32_t number);
static bool add_file(struct merging *it, uint64_t group, const struct profile_mapping *mapping,
                     uint32_t number);
static bool has_addresses_only(const char *path);
static uint32_t find_mapping(struct merging *it, const struct profile_mapping *mapping);
static bool fits(const void *context, uint32_t number);
static bool same_file(const struct merging *it, const struct profile_mapping *a,
                      const struct profile_mapping *b);
static bool has_part(const struct merging *it, const struct profile_mapping *whole,
                     const struct profile_mapping *part);
static uint64_t free_start(struct merging *it, const struct profile_mapping *mapping);
static bool always(const void *context, uint32_t number);

void merge_mappings(struct merging *it)
{
    for (uint32_t i = 1; i < it->to->mappings.count && !it->to->failed; i++)
        know_mapping(it, i);
    for (uint32_t i = 1; i < it->from->mappings.count && !it->to->failed; i++) {
        struct profile_mapping mapping = *profile_mapping_at(it->from, i);
        uint32_t there = find_mapping(it, &mapping);
        if (there != 0) {
            const struct profile_mapping *known = profile_mapping_at(it->to, there);
            it->moves[i] = (int64_t)(known->start - known->offset - mapping.start + mapping.offset);
        } else {
            uint64_t start = free_start(it, &mapping);
            it->moves[i] = (int64_t)(start - mapping.start);
            mapping.limit += start - mapping.start;
            mapping.start = start;
            mapping.path = merge_string(it, mapping.path);
            mapping.build_id = merge_string(it, mapping.build_id);
            there = profile_mapping(it->to, &mapping);
            know_mapping(it, there);
        }
        it->mappings[i] = there;
    }
}

/* From now on it is found. */
static void know_mapping(struct merging *it, uint32_t number)
{
    const struct profile_mapping *mapping = profile_mapping_at(it->to, number);
    bool known = add_file(it, (uint64_t)mapping->path << 1, mapping, number) &&
                 (mapping->build_id == 0 ||
                  add_file(it, (uint64_t)mapping->build_id << 1 | 1, mapping, number)) &&
                 ranges_add(&it->taken, 0, mapping->start, mapping->limit, number);
    it->to->failed |= !known;
    if (mapping->limit > it->last)
        it->last = mapping->limit;
}

static bool add_file(struct merging *it, uint64_t group, const struct profile_mapping *mapping,
                     uint32_t number)
{
    bool addresses = has_addresses_only(profile_text(it->to, mapping->path));
    uint64_t start = addresses ? mapping->start : mapping->offset;
    return ranges_add(&it->files, group << 1 | addresses, start,
                      start + (mapping->limit - mapping->start), number);
}

/* What is in memory only is the same if its addresses are. */
static bool has_addresses_only(const char *path)
{
    return path[0] == 0 || path[0] == '[';
}

static uint32_t find_mapping(struct merging *it, const struct profile_mapping *mapping)
{
    const char *path = profile_text(it->from, mapping->path);
    bool addresses = has_addresses_only(path);
    uint64_t start = addresses ? mapping->start : mapping->offset;
    uint64_t end = start + (mapping->limit - mapping->start);
    uint32_t strings[2], best = UINT32_MAX;
    bool there[2] = {
        profile_has_string(it->to, path, &strings[0]),
        mapping->build_id != 0 &&
            profile_has_string(it->to, profile_text(it->from, mapping->build_id), &strings[1])};
    struct part part = {it, mapping};
    for (unsigned i = 0; i < 2; i++) {
        uint64_t group = ((uint64_t)strings[i] << 1 | i) << 1 | addresses;
        uint32_t found = there[i] ? ranges_find(&it->files, group, start, end, fits, &part) : best;
        best = found < best ? found : best;
    }
    return best == UINT32_MAX ? 0 : best;
}

static bool fits(const void *context, uint32_t number)
{
    const struct part *part = context;
    const struct profile_mapping *there = profile_mapping_at(part->it->to, number);
    return same_file(part->it, there, part->mapping) && has_part(part->it, there, part->mapping);
}

static bool same_file(const struct merging *it, const struct profile_mapping *a,
                      const struct profile_mapping *b)
{
    if (a->build_id != 0 && b->build_id != 0)
        return strcmp(profile_text(it->to, a->build_id), profile_text(it->from, b->build_id)) == 0;
    return strcmp(profile_text(it->to, a->path), profile_text(it->from, b->path)) == 0;
}

/* Has the file's bytes that `part` has, or the place in memory where there is no file. */
static bool has_part(const struct merging *it, const struct profile_mapping *whole,
                     const struct profile_mapping *part)
{
    if (has_addresses_only(profile_text(it->from, part->path)))
        return whole->start == part->start && whole->limit == part->limit;
    return whole->offset <= part->offset &&
           part->offset - whole->offset <= whole->limit - whole->start &&
           part->limit - part->start <=
               whole->limit - whole->start - (part->offset - whole->offset);
}

/* Where the mapping can be: at its own place unless something is there. */
static uint64_t free_start(struct merging *it, const struct profile_mapping *mapping)
{
    /* Apart from the last one, so that an address just behind it belongs to none. */
    enum { DISTANCE = 1 << 20 };
    uint64_t size = mapping->limit - mapping->start;
    bool taken = size > 0 && ranges_find(&it->taken, 0, mapping->limit - 1, mapping->start + 1,
                                         always, NULL) != UINT32_MAX;
    if (!taken || it->last > UINT64_MAX - size - 2 * (uint64_t)DISTANCE)
        return mapping->start;
    return (it->last + 2 * (uint64_t)DISTANCE - 1) & ~((uint64_t)DISTANCE - 1);
}

static bool always(const void *context, uint32_t number)
{
    (void)context;
    (void)number;
    return true;
}

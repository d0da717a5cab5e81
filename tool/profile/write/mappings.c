/* SPDX-License-Identifier: MIT */
/* See mappings.h. Texts of a profile are the same where they lie in the same place. */
#include "tool/profile/write/mappings.h"

#include <inttypes.h>
#include <stdlib.h>

#include "tool/profile/write/line.h"

static int compare(const void *one, const void *other, void *context);
static uintptr_t file_of(const struct profile *profile, const struct profile_mapping *mapping);

bool mappings_start(struct mappings *mappings, const struct profile *profile)
{
    size_t count = profile->mappings.count;
    mappings->profile = profile;
    mappings->order = calloc(count, sizeof *mappings->order);
    if (!mappings->order)
        return false;
    for (uint32_t i = 0; i < count; i++)
        mappings->order[i] = i;
    qsort_r(mappings->order, count, sizeof *mappings->order, compare, (void *)profile);
    return true;
}

static int compare(const void *one, const void *other, void *context)
{
    const struct profile *profile = context;
    const struct profile_mapping *a = profile_mapping_at(profile, *(const uint32_t *)one);
    const struct profile_mapping *b = profile_mapping_at(profile, *(const uint32_t *)other);
    if (file_of(profile, a) != file_of(profile, b))
        return file_of(profile, a) < file_of(profile, b) ? -1 : 1;
    return a->start < b->start ? -1 : a->start > b->start;
}

static uintptr_t file_of(const struct profile *profile, const struct profile_mapping *mapping)
{
    return (uintptr_t)profile_text(profile, mapping->path);
}

void mappings_free(struct mappings *mappings)
{
    free(mappings->order);
}

const struct profile_mapping *mappings_find(const struct mappings *mappings, const char *file,
                                            uint64_t address)
{
    const struct profile *profile = mappings->profile;
    size_t low = 0, high = profile->mappings.count;
    while (low < high) { /* to the first one that is beyond */
        size_t middle = low + (high - low) / 2;
        const struct profile_mapping *mapping =
            profile_mapping_at(profile, mappings->order[middle]);
        if (file_of(profile, mapping) < (uintptr_t)file ||
            (file_of(profile, mapping) == (uintptr_t)file && mapping->start <= address))
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t at = low > 0 ? low - 1 : low; at <= low && at < profile->mappings.count; at++) {
        const struct profile_mapping *mapping = profile_mapping_at(profile, mappings->order[at]);
        if (file_of(profile, mapping) == (uintptr_t)file)
            return mapping;
    }
    return profile_mapping_at(profile, 0);
}

void mappings_put(const struct profile *profile, FILE *file)
{
    for (uint32_t i = 1; i < profile->mappings.count; i++) {
        const struct profile_mapping *mapping = profile_mapping_at(profile, i);
        fprintf(file, "%08" PRIx64 "-%08" PRIx64 " r-xp %08" PRIx64 " 00:00 0          ",
                mapping->start, mapping->limit, mapping->offset);
        line_put(profile_text(profile, mapping->path), file);
        putc_unlocked('\n', file);
    }
}

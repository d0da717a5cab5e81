/* SPDX-License-Identifier: MIT */
/*
 * See tool/profile/model.h. Whatever has a number is found again by its bytes (tool/memory/map.h):
 * the list is the truth, the map an index that can be thrown away and made again.
 *
 * Stacks are packed, seven bits a byte, because files have a million of them; profile_frames_of
 * unpacks one into one of two buffers, in turns, so that a caller can hold two. Mappings are kept
 * in the order of their addresses beside the list, since every address asks for its own.
 */
#include "tool/profile/model.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "tool/memory/memory.h"
#include "tool/profile/model_index.h"

static bool profile_room(struct profile *profile, struct list *list, size_t item_size);
static const void *string_bytes(const void *context, uint32_t number, size_t *size);
static const void *function_bytes(const void *context, uint32_t number, size_t *size);
static bool stack_pack(struct profile_index *index, const uint32_t *locations, uint32_t count,
                       size_t *size);
static const void *stack_bytes(const void *context, uint32_t number, size_t *size);
static const struct profile_stack *stack_at(const struct profile *profile, uint32_t stack);
static bool frames_reserve(struct profile *profile, size_t count);
static int compare_labels(const void *a, const void *b);
static const void *set_bytes(const void *context, uint32_t number, size_t *size);
static bool mappings_order(struct profile *profile);
static size_t starts_before(const struct profile *profile, uint64_t address);
static int compare_starts(const void *a, const void *b, void *context);
static const void *address_bytes(const void *context, uint32_t number, size_t *size);
static const void *named_bytes(const void *context, uint32_t number, size_t *size);

void *profile_list_add(struct profile *profile, struct list *list, size_t item_size)
{
    void *item = list_add(list, item_size);
    profile->failed |= item == NULL;
    return item;
}

void profile_start(struct profile *profile)
{
    memset(profile, 0, sizeof *profile);
    profile->exact_allocs = profile->exact_frees = -1;
    profile->exact_alloc_bytes = profile->exact_live_bytes = -1;
    profile->format = "";
    profile->index = calloc(1, sizeof *profile->index);
    profile->failed = profile->index == NULL;
    if (profile->failed)
        return;
    profile->index->addresses.sparse = profile->index->named.sparse = true;
    /* Lists that are pointed into even when nothing is in them. */
    profile_room(profile, &profile->lines, sizeof(struct profile_line));
    profile_room(profile, &profile->frames, sizeof(uint32_t));
    profile_room(profile, &profile->labels, sizeof(struct profile_label));
    profile_string(profile, "", 0);
    profile_list_add(profile, &profile->mappings, sizeof(struct profile_mapping));
    profile_list_add(profile, &profile->functions, sizeof(struct profile_function));
    profile_stack(profile, NULL, 0);
    profile_list_add(profile, &profile->label_sets, sizeof(struct profile_label_set));
}

static bool profile_room(struct profile *profile, struct list *list, size_t item_size)
{
    bool ok = list_reserve(&list->items, &list->room, list->count + 1, item_size);
    profile->failed |= !ok;
    return ok;
}

void profile_free(struct profile *profile)
{
    struct list *lists[] = {
        &profile->mappings, &profile->functions, &profile->lines,   &profile->locations,
        &profile->stacks,   &profile->frames,    &profile->labels,  &profile->label_sets,
        &profile->points,   &profile->moments,   &profile->threads, &profile->comments,
        &profile->warnings, &profile->text,      &profile->strings, &profile->courses,
        &profile->looks,
    };
    for (size_t i = 0; i < COUNT_OF(lists); i++)
        free(lists[i]->items);
    struct profile_samples *samples = &profile->samples;
    free(samples->stacks);
    free(samples->label_sets);
    free(samples->weights);
    free(samples->scales);
    free(samples->lives);
    free(samples->history);
    for (unsigned i = 0; i < PROFILE_TYPES_MAX; i++)
        free(samples->values[i]);
    if (profile->index) {
        struct map *maps[] = {&profile->index->strings,   &profile->index->functions,
                              &profile->index->stacks,    &profile->index->label_sets,
                              &profile->index->addresses, &profile->index->named};
        for (size_t i = 0; i < COUNT_OF(maps); i++)
            map_free(maps[i]);
        free(profile->index->by_start);
        free(profile->index->packed);
        free(profile->index->frames[0]);
        free(profile->index->frames[1]);
        free(profile->index);
    }
    memset(profile, 0, sizeof *profile);
}

/* The number of a thing that is there, or MAP_NONE: also if it can't be added. */
static uint32_t find(struct profile *profile, struct map *map, map_bytes *bytes, const void *data,
                     size_t size)
{
    uint32_t number = MAP_NONE;
    if (!profile->failed && !map_find(map, profile, bytes, data, size, &number))
        profile->failed = true;
    return number;
}

static bool profile_append(struct profile *profile, struct list *list, size_t item_size,
                           const void *items, size_t count)
{
    bool ok = list_append(list, item_size, items, count);
    profile->failed |= !ok;
    return ok;
}

/* ---- strings ---------------------------------------------------------------------------- */

uint32_t profile_string(struct profile *profile, const char *text, size_t length)
{
    if (length > UINT32_MAX)
        return 0;
    struct map *map = profile->index ? &profile->index->strings : NULL;
    uint32_t there = find(profile, map, string_bytes, text, length);
    if (there != MAP_NONE || profile->failed)
        return profile->failed ? 0 : there;
    struct string string = {profile->text.count, (uint32_t)length};
    if (!profile_append(profile, &profile->text, 1, text, length) ||
        !profile_append(profile, &profile->text, 1, "", 1) ||
        !profile_append(profile, &profile->strings, sizeof string, &string, 1))
        return 0;
    map_add(map, (uint32_t)profile->strings.count - 1);
    return (uint32_t)profile->strings.count - 1;
}

static const void *string_bytes(const void *context, uint32_t number, size_t *size)
{
    const struct profile *profile = context;
    const struct string *string = (const struct string *)profile->strings.items + number;
    *size = string->length;
    return (const char *)profile->text.items + string->offset;
}

uint32_t profile_string_of(struct profile *profile, const char *text)
{
    return profile_string(profile, text, strlen(text));
}

bool profile_has_string(struct profile *profile, const char *text, uint32_t *string)
{
    if (!profile->failed)
        *string = find(profile, &profile->index->strings, string_bytes, text, strlen(text));
    return !profile->failed && *string != MAP_NONE;
}

const char *profile_text(const struct profile *profile, uint32_t string)
{
    size_t size;
    return string < profile->strings.count ? string_bytes(profile, string, &size) : "";
}

void profile_warn(struct profile *profile, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    uint32_t string = profile_string_of(profile, text), *place;
    for (size_t i = 0; i < profile->warnings.count; i++)
        if (((uint32_t *)profile->warnings.items)[i] == string)
            return;
    if ((place = profile_list_add(profile, &profile->warnings, sizeof *place)) != NULL)
        *place = string;
}

/* ---- functions, stacks, label sets ------------------------------------------------------ */

uint32_t profile_function(struct profile *profile, const struct profile_function *function)
{
    struct map *map = profile->index ? &profile->index->functions : NULL;
    uint32_t there = find(profile, map, function_bytes, function, sizeof *function);
    if (there != MAP_NONE || profile->failed)
        return profile->failed ? 0 : there;
    if (!profile_append(profile, &profile->functions, sizeof *function, function, 1))
        return 0;
    map_add(map, (uint32_t)profile->functions.count - 1);
    return (uint32_t)profile->functions.count - 1;
}

static const void *function_bytes(const void *context, uint32_t number, size_t *size)
{
    const struct profile *profile = context;
    *size = sizeof(struct profile_function);
    return profile_function_at(profile, number);
}

uint32_t profile_stack(struct profile *profile, const uint32_t *locations, uint32_t count)
{
    size_t size = 0;
    if (count > PROFILE_DEPTH_MAX)
        count = PROFILE_DEPTH_MAX;
    if (profile->failed || !stack_pack(profile->index, locations, count, &size)) {
        profile->failed = true;
        return 0;
    }
    const void *packed = size > 0 ? profile->index->packed : (const void *)"";
    struct map *map = &profile->index->stacks;
    uint32_t there = find(profile, map, stack_bytes, packed, size);
    if (there != MAP_NONE || profile->failed)
        return profile->failed ? 0 : there;
    struct profile_stack stack = {profile->frames.count, count};
    if (!frames_reserve(profile, count) ||
        !profile_append(profile, &profile->frames, 1, packed, size) ||
        !profile_append(profile, &profile->stacks, sizeof stack, &stack, 1))
        return 0;
    map_add(map, (uint32_t)profile->stacks.count - 1);
    return (uint32_t)profile->stacks.count - 1;
}

/* Seven bits a byte, the lowest first: files have a million stacks, and are no larger. */
static bool stack_pack(struct profile_index *index, const uint32_t *locations, uint32_t count,
                       size_t *size)
{
    enum { PACKED_MAX = 5 };
    if (!list_reserve(&index->packed, &index->packed_room, (size_t)count * PACKED_MAX, 1))
        return false;
    uint8_t *at = index->packed;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t left = locations[i];
        for (; left > 127; left >>= 7)
            *at++ = (uint8_t)(left | 128);
        *at++ = (uint8_t)left;
    }
    *size = (size_t)(at - index->packed);
    return true;
}

static const void *stack_bytes(const void *context, uint32_t number, size_t *size)
{
    const struct profile *profile = context;
    uint64_t first = stack_at(profile, number)->first;
    uint64_t end = number + 1 < profile->stacks.count ? stack_at(profile, number + 1)->first
                                                      : profile->frames.count;
    *size = end - first;
    return (const uint8_t *)profile->frames.items + first;
}

static const struct profile_stack *stack_at(const struct profile *profile, uint32_t stack)
{
    return (const struct profile_stack *)profile->stacks.items + stack;
}

/* Room for the way out of every stack that is in. */
static bool frames_reserve(struct profile *profile, size_t count)
{
    struct profile_index *index = profile->index;
    for (size_t i = 0; i < COUNT_OF(index->frames); i++)
        if (!list_reserve(&index->frames[i], &index->frames_room[i], count + 1,
                          sizeof *index->frames[i])) {
            profile->failed = true;
            return false;
        }
    return true;
}

void profile_settle(struct profile *profile)
{
    if (profile->index)
        map_rest(&profile->index->stacks);
}

uint32_t profile_depth_of(const struct profile *profile, uint32_t stack)
{
    return stack_at(profile, stack)->frames;
}

const uint32_t *profile_frames_of(const struct profile *profile, uint32_t stack, uint32_t *count)
{
    struct profile_index *index = profile->index;
    uint32_t *frames = index->frames[index->turn++ % COUNT_OF(index->frames)];
    *count = stack_at(profile, stack)->frames;
    const uint8_t *at = (const uint8_t *)profile->frames.items + stack_at(profile, stack)->first;
    for (uint32_t i = 0; i < *count; i++) {
        uint32_t location = *at & 127;
        for (unsigned shift = 7; *at++ & 128; shift += 7)
            location |= (uint32_t)(*at & 127) << shift;
        frames[i] = location;
    }
    return frames;
}

uint32_t profile_label_set(struct profile *profile, const struct profile_label *labels,
                           uint32_t count)
{
    struct profile_label sorted[PROFILE_LABELS_MAX];
    if (count == 0 || profile->failed)
        return 0;
    count = count < PROFILE_LABELS_MAX ? count : PROFILE_LABELS_MAX;
    memset(sorted, 0, count * sizeof sorted[0]);
    for (uint32_t i = 0; i < count; i++) { /* field by field: no padding may differ */
        sorted[i].key = labels[i].key, sorted[i].text = labels[i].text;
        sorted[i].unit = labels[i].unit, sorted[i].number = labels[i].number;
    }
    qsort(sorted, count, sizeof sorted[0], compare_labels);
    struct map *map = &profile->index->label_sets;
    uint32_t there = find(profile, map, set_bytes, sorted, count * sizeof sorted[0]);
    if (there != MAP_NONE || profile->failed)
        return profile->failed ? 0 : there;
    struct profile_label_set set = {(uint32_t)profile->labels.count, count};
    if (!profile_append(profile, &profile->labels, sizeof sorted[0], sorted, count) ||
        !profile_append(profile, &profile->label_sets, sizeof set, &set, 1))
        return 0;
    map_add(map, (uint32_t)profile->label_sets.count - 1);
    return (uint32_t)profile->label_sets.count - 1;
}

static int compare_labels(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct profile_label));
}

static const void *set_bytes(const void *context, uint32_t number, size_t *size)
{
    const struct profile *profile = context;
    const struct profile_label_set *set =
        (const struct profile_label_set *)profile->label_sets.items + number;
    *size = set->count * sizeof(struct profile_label);
    return (const struct profile_label *)profile->labels.items + set->first;
}

const struct profile_label *profile_label_of(const struct profile *profile, uint32_t label_set,
                                             const char *key)
{
    if (label_set == 0 || label_set >= profile->label_sets.count)
        return NULL;
    const struct profile_label_set *set =
        (const struct profile_label_set *)profile->label_sets.items + label_set;
    const struct profile_label *labels =
        (const struct profile_label *)profile->labels.items + set->first;
    for (uint32_t i = 0; i < set->count; i++)
        if (strcmp(profile_text(profile, labels[i].key), key) == 0)
            return &labels[i];
    return NULL;
}

/* ---- mappings and locations ------------------------------------------------------------- */

uint32_t profile_mapping(struct profile *profile, const struct profile_mapping *mapping)
{
    if (profile->failed ||
        !profile_append(profile, &profile->mappings, sizeof *mapping, mapping, 1))
        return 0;
    return (uint32_t)profile->mappings.count - 1;
}

uint32_t profile_find_mapping(struct profile *profile, uint64_t address)
{
    const struct profile_index *index = profile->index;
    if (!mappings_order(profile)) {
        profile->failed = true;
        return 0;
    }
    size_t low = starts_before(profile, address);
    if (low == 0)
        return 0;
    uint32_t found = index->by_start[low - 1];
    return address < profile_mapping_at(profile, found)->limit ? found : 0;
}

/* Puts those that are new in their places. A file may name one whenever it is loaded: few at a time
 * must not cost a look at all. */
static bool mappings_order(struct profile *profile)
{
    /* Put in their places one by one; more are sorted with all others. */
    enum { FEW = 16 };
    struct profile_index *index = profile->index;
    size_t count = profile->mappings.count - 1;
    bool few = count - index->by_start_count <= FEW;
    if (!list_reserve(&index->by_start, &index->by_start_room, count, sizeof *index->by_start))
        return false;
    for (; index->by_start_count < count; index->by_start_count++) {
        uint32_t number = (uint32_t)index->by_start_count + 1;
        uint64_t start = profile_mapping_at(profile, number)->start;
        size_t place = few ? starts_before(profile, start) : index->by_start_count;
        uint32_t *there = index->by_start + place;
        memmove(there + 1, there, (index->by_start_count - place) * sizeof *there);
        *there = number;
    }
    if (!few)
        qsort_r(index->by_start, count, sizeof *index->by_start, compare_starts, profile);
    return true;
}

/* How many of those in order start at the address or before. */
static size_t starts_before(const struct profile *profile, uint64_t address)
{
    const struct profile_index *index = profile->index;
    size_t low = 0, high = index->by_start_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (profile_mapping_at(profile, index->by_start[middle])->start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int compare_starts(const void *a, const void *b, void *context)
{
    uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;
    uint64_t left = profile_mapping_at(context, one)->start,
             right = profile_mapping_at(context, other)->start;
    return left != right ? (left < right ? -1 : 1) : one < other ? -1 : one > other;
}

uint32_t profile_location(struct profile *profile, const struct profile_location *location,
                          const struct profile_line *lines, uint32_t count)
{
    struct profile_location copy = *location;
    copy.first_line = (uint32_t)profile->lines.count;
    copy.lines = count = count < PROFILE_LINES_MAX ? count : PROFILE_LINES_MAX;
    if (profile->failed || !profile_append(profile, &profile->lines, sizeof *lines, lines, count) ||
        !profile_append(profile, &profile->locations, sizeof copy, &copy, 1))
        return 0;
    return (uint32_t)profile->locations.count - 1;
}

uint32_t profile_address(struct profile *profile, uint64_t address, uint8_t flags)
{
    struct map *map = profile->index ? &profile->index->addresses : NULL;
    uint32_t there = find(profile, map, address_bytes, &address, sizeof address);
    if (there != MAP_NONE || profile->failed)
        return profile->failed ? 0 : there;
    uint64_t code = flags & LOCATION_EXACT || address == 0 ? address : address - 1;
    struct profile_location location = {.address = address, .flags = flags};
    location.mapping = profile_find_mapping(profile, code);
    uint32_t number = profile_location(profile, &location, NULL, 0);
    if (!profile->failed)
        map_add(map, number);
    return number;
}

static const void *address_bytes(const void *context, uint32_t number, size_t *size)
{
    const struct profile *profile = context;
    const struct profile_location *location = profile_location_at(profile, number);
    *size = sizeof location->address;
    return &location->address;
}

uint32_t profile_named(struct profile *profile, uint32_t function, uint32_t line, uint32_t mapping)
{
    struct profile_line only = {function, line, 0};
    struct named wanted = {function, line, mapping};
    struct map *map = profile->index ? &profile->index->named : NULL;
    uint32_t there = find(profile, map, named_bytes, &wanted, sizeof wanted);
    if (there != MAP_NONE || profile->failed)
        return profile->failed ? 0 : there;
    struct profile_location location = {.mapping = mapping, .flags = LOCATION_LOOKED};
    uint32_t number = profile_location(profile, &location, &only, 1);
    if (!profile->failed)
        map_add(map, number);
    return number;
}

/* Its parts lie in two lists: they are put together where the next one will be. */
static const void *named_bytes(const void *context, uint32_t number, size_t *size)
{
    const struct profile *profile = context;
    const struct profile_line *line = profile_lines_of(profile, number);
    struct named *named = &profile->index->last_named;
    *named =
        (struct named){line->function, line->line, profile_location_at(profile, number)->mapping};
    *size = sizeof *named;
    return named;
}

void profile_set_lines(struct profile *profile, uint32_t location, const struct profile_line *lines,
                       uint32_t count, uint8_t flags)
{
    size_t first = profile->lines.count;
    if (!profile_append(profile, &profile->lines, sizeof *lines, lines, count))
        return;
    struct profile_location *place = (struct profile_location *)profile->locations.items + location;
    place->first_line = (uint32_t)first;
    place->lines = count;
    place->flags |= flags;
}

const struct profile_mapping *profile_mapping_at(const struct profile *profile, uint32_t mapping)
{
    return (const struct profile_mapping *)profile->mappings.items + mapping;
}

const struct profile_function *profile_function_at(const struct profile *profile, uint32_t function)
{
    return (const struct profile_function *)profile->functions.items + function;
}

const struct profile_location *profile_location_at(const struct profile *profile, uint32_t location)
{
    return (const struct profile_location *)profile->locations.items + location;
}

const struct profile_line *profile_lines_of(const struct profile *profile, uint32_t location)
{
    return (const struct profile_line *)profile->lines.items +
           profile_location_at(profile, location)->first_line;
}

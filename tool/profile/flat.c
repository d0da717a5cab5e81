/* SPDX-License-Identifier: MIT */
/* See tool/profile/flat.h. */
#include "tool/profile/flat.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NO_STACK = -1, NAME_MOST = 1 << 16 };

/* What makes a frame another one. Of those without a name, the address. */
struct key {
    uint32_t name, file, line, mapping;
    uint64_t address;
    uint32_t guess, unused;
};

struct known {
    struct key key;
    uint64_t address; /* one of those that are this frame */
};

struct maker {
    const struct profile *profile;
    struct flat_options options;
    struct known *known; /* of flat->frames */
    size_t known_room, path_count, path_room;
    uint32_t *slots; /* number + 1; 0: free */
    size_t slots_size;
};

static bool grow(void *array, size_t *room, size_t used, size_t item_size)
{
    void **place = array;
    if (used < *room)
        return true;
    size_t more = *room < 64 ? 64 : *room * 2;
    void *items = realloc(*place, more * item_size);
    if (!items)
        return false;
    *place = items;
    *room = more;
    return true;
}

static size_t hash(const struct key *key)
{
    uint64_t words[sizeof *key / sizeof(uint64_t)], sum = 0;
    memcpy(words, key, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        sum = (sum ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
        sum ^= sum >> 32;
    }
    return (size_t)sum;
}

static bool more_slots(struct maker *maker, size_t keys)
{
    size_t size = maker->slots_size == 0 ? 256 : maker->slots_size * 2;
    uint32_t *slots = calloc(size, sizeof *slots);
    if (!slots)
        return false;
    for (size_t i = 0; i < keys; i++) {
        size_t at = hash(&maker->known[i].key) & (size - 1);
        while (slots[at] != 0)
            at = (at + 1) & (size - 1);
        slots[at] = (uint32_t)i + 1;
    }
    free(maker->slots);
    maker->slots = slots;
    maker->slots_size = size;
    return true;
}

/* The frame's number, or UINT32_MAX when memory is out. */
static uint32_t frame(struct flat *flat, struct maker *maker, const struct key *key,
                      uint64_t address)
{
    size_t keys = flat->frames_count;
    if (keys * 4 >= maker->slots_size * 3 && !more_slots(maker, keys))
        return UINT32_MAX;
    size_t at = hash(key) & (maker->slots_size - 1);
    for (; maker->slots[at] != 0; at = (at + 1) & (maker->slots_size - 1))
        if (memcmp(&maker->known[maker->slots[at] - 1].key, key, sizeof *key) == 0)
            return maker->slots[at] - 1;
    if (!grow(&maker->known, &maker->known_room, keys, sizeof *maker->known))
        return UINT32_MAX;
    maker->known[keys] = (struct known){*key, address};
    maker->slots[at] = (uint32_t)keys + 1;
    flat->frames_count++;
    return (uint32_t)keys;
}

static bool path_add(struct flat *flat, struct maker *maker, const struct key *key,
                     uint64_t address)
{
    uint32_t number = frame(flat, maker, key, address);
    if (number == UINT32_MAX ||
        !grow(&flat->path, &maker->path_room, maker->path_count, sizeof *flat->path))
        return false;
    flat->path[maker->path_count++] = number;
    return true;
}

/* The frames of a location, leaf first. */
static bool location_add(struct flat *flat, struct maker *maker, uint32_t number)
{
    const struct profile *profile = maker->profile;
    const struct profile_location *location = profile_location_at(profile, number);
    const struct profile_line *lines = profile_lines_of(profile, number);
    bool named = false;
    for (uint32_t i = 0; i < location->lines; i++) {
        const struct profile_function *function = profile_function_at(profile, lines[i].function);
        struct key key = {.name = function->name, .guess = location->flags & LOCATION_GUESS};
        if (key.name == 0)
            key.name = function->system_name;
        if (key.name == 0)
            continue;
        if (maker->options.lines) {
            key.file = function->file;
            key.line = lines[i].line;
            key.mapping = location->mapping;
        }
        named = true;
        if (!path_add(flat, maker, &key, location->address))
            return false;
    }
    struct key key = {.mapping = location->mapping, .address = location->address};
    if (key.address != 0 && !(location->flags & LOCATION_EXACT))
        key.address--; /* of the call, not behind it */
    uint64_t start = profile_mapping_at(profile, key.mapping)->start;
    if (!maker->options.lines && key.address >= start && key.address - start >= location->behind)
        key.address -= location->behind; /* one frame for all of a function */
    return named || path_add(flat, maker, &key, location->address);
}

static bool stack_add(struct flat *flat, struct maker *maker, uint32_t stack)
{
    uint32_t count;
    const uint32_t *frames = profile_frames_of(maker->profile, stack, &count);
    struct flat_stack *made = &flat->stacks[flat->stacks_count++];
    made->first = maker->path_count;
    for (uint32_t i = 0; i < count; i++)
        if (!location_add(flat, maker, frames[i]))
            return false;
    made->count = (uint32_t)(maker->path_count - made->first);
    uint32_t *path = flat->path + made->first;
    for (uint32_t i = 0; i < made->count / 2 && !maker->options.leaf_first; i++) {
        uint32_t kept = path[i];
        path[i] = path[made->count - 1 - i];
        path[made->count - 1 - i] = kept;
    }
    return true;
}

char *flat_unnamed(const struct profile *profile, uint32_t number, uint64_t address)
{
    char *text = NULL;
    const struct profile_mapping *mapping = profile_mapping_at(profile, number);
    const char *path = profile_text(profile, mapping->path), *slash = strrchr(path, '/');
    int length;
    if (address == 0)
        length = asprintf(&text, "%.*s", NAME_MOST,
                          number == 0 ? "[unknown]"
                          : slash     ? slash + 1
                                      : path);
    else if (number == 0)
        length = asprintf(&text, "0x%" PRIx64, address);
    else
        length = asprintf(&text, "%.*s+0x%" PRIx64, NAME_MOST, slash ? slash + 1 : path,
                          address - mapping->start + mapping->offset);
    return length < 0 ? NULL : text;
}

static char *name_make(const struct profile *profile, const struct key *key)
{
    char *text = NULL;
    const char *name = profile_text(profile, key->name);
    if (key->name == 0)
        return flat_unnamed(profile, key->mapping, key->address);
    if (asprintf(&text, "%s%.*s", key->guess && name[0] != '~' ? "~" : "", NAME_MOST, name) < 0)
        return NULL;
    return text;
}

static int compare_frames(const void *one, const void *other, void *context)
{
    const struct flat_frame *frames = context;
    const struct flat_frame *a = &frames[*(const uint32_t *)one];
    const struct flat_frame *b = &frames[*(const uint32_t *)other];
    int order = strcmp(a->name, b->name);
    if (order == 0)
        order = strcmp(a->file, b->file);
    if (order == 0)
        order = strcmp(a->module, b->module);
    return order != 0 ? order : a->line < b->line ? -1 : a->line > b->line;
}

/* Makes the frames, and numbers them anew, by name. */
static bool frames_make(struct flat *flat, struct maker *maker)
{
    size_t count = flat->frames_count;
    struct flat_frame *made = calloc(count + 1, sizeof *made);
    uint32_t *order = calloc(count + 1, sizeof *order);
    uint32_t *place = calloc(count + 1, sizeof *place);
    flat->frames = calloc(count + 1, sizeof *flat->frames);
    bool done = made && order && place && flat->frames && (count == 0 || maker->known);
    for (size_t i = 0; i < count && done; i++) {
        const struct key *key = &maker->known[i].key;
        made[i] = (struct flat_frame){
            .name = name_make(maker->profile, key),
            .file = profile_text(maker->profile, key->file),
            .module = profile_text(maker->profile,
                                   profile_mapping_at(maker->profile, key->mapping)->path),
            .line = key->line,
            .address = maker->known[i].address,
        };
        order[i] = (uint32_t)i;
        done = made[i].name != NULL;
    }
    if (done)
        qsort_r(order, count, sizeof *order, compare_frames, made);
    for (size_t i = 0; i < count && done; i++) {
        flat->frames[i] = made[order[i]];
        made[order[i]].name = NULL;
        place[order[i]] = (uint32_t)i;
    }
    for (size_t i = 0; i < maker->path_count && done; i++)
        flat->path[i] = place[flat->path[i]];
    for (size_t i = 0; i < count && made; i++)
        free(made[i].name);
    free(made);
    free(order);
    free(place);
    return done;
}

static int compare_stacks(const void *one, const void *other, void *context)
{
    const struct flat *flat = context;
    const struct flat_stack *a = &flat->stacks[*(const size_t *)one];
    const struct flat_stack *b = &flat->stacks[*(const size_t *)other];
    for (uint32_t i = 0; i < a->count && i < b->count; i++) {
        uint32_t left = flat->path[a->first + i], right = flat->path[b->first + i];
        if (left != right)
            return left < right ? -1 : 1;
    }
    return a->count < b->count ? -1 : a->count > b->count;
}

/* Sorts the stacks; those that have become the same are added up. */
static bool stacks_sort(struct flat *flat)
{
    size_t count = flat->stacks_count, kept = 0;
    size_t *order = calloc(count + 1, sizeof *order);
    struct flat_stack *stacks = calloc(count + 1, sizeof *stacks);
    int64_t *values = calloc(count + 1, flat->types * sizeof *values);
    bool done = order && stacks && values;
    if (done) {
        for (size_t i = 0; i < count; i++)
            order[i] = i;
        qsort_r(order, count, sizeof *order, compare_stacks, flat);
        for (size_t i = 0; i < count; i++) {
            bool same = i > 0 && compare_stacks(&order[i - 1], &order[i], flat) == 0;
            kept += same ? 0 : 1;
            stacks[kept - 1] = flat->stacks[order[i]];
            for (unsigned type = 0; type < flat->types; type++)
                values[(kept - 1) * flat->types + type] += flat_value(flat, order[i], type);
        }
        free(flat->stacks);
        free(flat->values);
        flat->stacks = stacks;
        flat->values = values;
        flat->stacks_count = kept;
    } else {
        free(stacks);
        free(values);
    }
    free(order);
    return done;
}

bool flat_make(struct flat *flat, const struct profile *profile, const struct flat_options *options)
{
    const struct profile_samples *samples = &profile->samples;
    struct maker maker = {.profile = profile, .options = *options};
    size_t stacks = profile->stacks.count;
    memset(flat, 0, sizeof *flat);
    flat->types = profile->types + (options->more ? 1 : 0);
    int64_t *place = malloc((stacks + 1) * sizeof *place);
    flat->stacks = calloc(stacks + 1, sizeof *flat->stacks);
    flat->values = calloc(stacks + 1, (flat->types + 1) * sizeof *flat->values);
    bool done = place && flat->stacks && flat->values;
    for (size_t i = 0; i < stacks && done; i++)
        place[i] = NO_STACK;
    for (size_t i = 0; i < samples->count && done; i++) {
        uint32_t stack = samples->stacks[i];
        if (place[stack] == NO_STACK) {
            place[stack] = (int64_t)flat->stacks_count;
            done = stack_add(flat, &maker, stack);
        }
        int64_t *values = flat->values + (size_t)place[stack] * flat->types;
        for (unsigned type = 0; type < profile->types; type++)
            values[type] += samples->values[type][i];
        if (options->more)
            values[profile->types] += options->more[i];
    }
    done = done && frames_make(flat, &maker) && stacks_sort(flat);
    free(place);
    free(maker.known);
    free(maker.slots);
    return done;
}

void flat_free(struct flat *flat)
{
    for (size_t i = 0; i < flat->frames_count && flat->frames; i++)
        free(flat->frames[i].name);
    free(flat->frames);
    free(flat->path);
    free(flat->stacks);
    free(flat->values);
    memset(flat, 0, sizeof *flat);
}

bool flat_same_function(const struct flat *flat, uint32_t one, uint32_t other)
{
    const struct flat_frame *a = &flat->frames[one], *b = &flat->frames[other];
    return strcmp(a->name, b->name) == 0 && a->file == b->file && a->module == b->module;
}

char *flat_place(const struct flat_frame *frame)
{
    char *text = NULL;
    int length;
    if (frame->file[0] != '\0' && frame->line != 0)
        length = asprintf(&text, "0x%" PRIX64 ": %s (%s:%" PRIu32 ")", frame->address, frame->name,
                          frame->file, frame->line);
    else if (frame->file[0] != '\0' || frame->module[0] == '\0')
        length = asprintf(&text, "0x%" PRIX64 ": %s (%s)", frame->address, frame->name,
                          frame->file[0] != '\0' ? frame->file : "???");
    else
        length = asprintf(&text, "0x%" PRIX64 ": %s (in %s)", frame->address, frame->name,
                          frame->module);
    return length < 0 ? NULL : text;
}

uint32_t flat_common(const struct flat *flat, size_t one, size_t other)
{
    const struct flat_stack *a = &flat->stacks[one], *b = &flat->stacks[other];
    uint32_t same = 0;
    while (same < a->count && same < b->count &&
           flat->path[a->first + same] == flat->path[b->first + same])
        same++;
    return same;
}

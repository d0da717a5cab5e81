/* SPDX-License-Identifier: MIT */
/*
 * See tool/profile/write/flat.h. Frames are made for each location once and numbered by name;
 * stacks are then sorted by those numbers, so that equal ones lie side by side and are added up
 * without a table. A path is put together when it is asked for, in one of two buffers, in turns.
 */
#include "tool/profile/write/flat.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/memory/memory.h"
#include "tool/profile/profile.h"
#include "tool/terminal/terminal.h"

enum { FLAT_NAME_MAX = 1 << 16 }; /* C++ has names of some KiB; viewers choke on longer ones */

/* What makes a frame another one. Of those without a name, the address. */
struct flat_key {
    uint32_t name, file, line, mapping;
    uint64_t address;
    uint64_t guess; /* so wide that there is no padding: its bytes are compared */
};

struct known {
    struct flat_key key;
    uint64_t address; /* one of those that are this frame */
};

/* Frames of a location: numbers, leaf first. */
struct pieces {
    uint32_t first, count; /* in maker->items; count 0: not met yet */
};

struct flat_maker {
    const struct profile *profile;
    struct flat_options options;
    struct known *known; /* of flat->frames */
    size_t known_room;
    struct map frames;     /* of them */
    struct pieces *pieces; /* by location */
    uint32_t *items;
    size_t items_count, items_room;
    uint32_t *path[2]; /* of a stack, in turns */
    size_t path_room[2];
    unsigned turn;
};

static const uint32_t *stack_path(const void *context, uint32_t stack, uint32_t *count);
static bool stack_meet(struct flat *flat, struct flat_maker *maker, uint32_t stack);
static bool location_add(struct flat *flat, struct flat_maker *maker, uint32_t number);
static bool item_add(struct flat *flat, struct flat_maker *maker, const struct flat_key *key,
                     uint64_t address);
static uint32_t frame(struct flat *flat, struct flat_maker *maker, const struct flat_key *key,
                      uint64_t address);
static const void *key_bytes(const void *context, uint32_t number, size_t *size);
static bool frames_make(struct flat *flat, struct flat_maker *maker);
static char *name_make(const struct profile *profile, const struct flat_key *key);
static int compare_frames(const void *one, const void *other, void *context);
static bool stacks_sort(struct flat *flat, struct flat_maker *maker, uint32_t *places);
static bool stacks_link(struct flat *flat, const struct profile *profile, const uint32_t *places);

struct flat_stack flat_stack(const struct flat *flat, size_t stack)
{
    struct flat_stack made;
    const struct profile_samples *samples = &flat->maker->profile->samples;
    made.frames = stack_path(flat->maker, samples->stacks[flat->first[stack]], &made.count);
    return made;
}

/* The frames of a stack of the profile, in the order that is wanted. */
static const uint32_t *stack_path(const void *context, uint32_t stack, uint32_t *count)
{
    struct flat_maker *maker = (struct flat_maker *)context;
    uint32_t locations_count;
    const uint32_t *locations = profile_frames_of(maker->profile, stack, &locations_count);
    size_t length = 0;
    unsigned turn = maker->turn++ % 2;
    for (uint32_t i = 0; i < locations_count; i++)
        length += maker->pieces[locations[i]].count;
    if (length >= maker->path_room[turn]) {
        free(maker->path[turn]);
        maker->path_room[turn] = 2 * length + 64;
        maker->path[turn] = malloc(maker->path_room[turn] * sizeof(uint32_t));
    }
    uint32_t *path = maker->path[turn];
    *count = path ? (uint32_t)length : 0;
    if (!path) {
        maker->path_room[turn] = 0;
        return NULL;
    }
    size_t at = maker->options.leaf_first ? 0 : length;
    for (uint32_t i = 0; i < locations_count; i++) {
        const struct pieces *pieces = &maker->pieces[locations[i]];
        for (uint32_t k = 0; k < pieces->count; k++)
            path[maker->options.leaf_first ? at++ : --at] = maker->items[pieces->first + k];
    }
    return path;
}

int64_t flat_value(const struct flat *flat, size_t stack, unsigned type)
{
    const struct profile *profile = flat->maker->profile;
    const int64_t *values =
        type < profile->types ? profile->samples.values[type] : flat->maker->options.more;
    int64_t sum = 0;
    uint32_t sample = flat->first[stack];
    do {
        sum += values[sample];
        sample = flat->next ? flat->next[sample] : UINT32_MAX;
    } while (sample != UINT32_MAX);
    return sum;
}

char *flat_unnamed(const struct profile *profile, uint32_t number, uint64_t address)
{
    char *text = NULL;
    const struct profile_mapping *mapping = profile_mapping_at(profile, number);
    const char *path = profile_text(profile, mapping->path);
    int length;
    if (address == 0)
        length =
            asprintf(&text, "%.*s", FLAT_NAME_MAX, number == 0 ? "[unknown]" : name_base(path));
    else if (number == 0)
        length = asprintf(&text, "0x%" PRIx64, address);
    else
        length = asprintf(&text, "%.*s+0x%" PRIx64, FLAT_NAME_MAX, name_base(path),
                          address - mapping->start + mapping->offset);
    return length < 0 ? NULL : text;
}

bool flat_make(struct flat *flat, const struct profile *profile, const struct flat_options *options)
{
    const struct profile_samples *samples = &profile->samples;
    size_t stacks = profile->stacks.count;
    memset(flat, 0, sizeof *flat);
    flat->types = profile->types + (options->more ? 1 : 0);
    struct flat_maker *maker = flat->maker = calloc(1, sizeof *maker);
    uint32_t *places = malloc((stacks + 1) * sizeof *places);
    bool done = maker && places && samples->count < UINT32_MAX;
    if (done) {
        memset(places, 0xff, (stacks + 1) * sizeof *places);
        *maker = (struct flat_maker){.profile = profile, .options = *options};
        maker->pieces = calloc(profile->locations.count + 1, sizeof *maker->pieces);
        done = maker->pieces != NULL;
    }
    for (size_t i = 0; i < samples->count && done; i++) {
        uint32_t stack = samples->stacks[i];
        done = places[stack] != UINT32_MAX || stack_meet(flat, maker, stack);
        places[stack] = 0;
    }
    done = done && frames_make(flat, maker) && stacks_sort(flat, maker, places) &&
           stacks_link(flat, profile, places);
    free(places);
    return done;
}

/* Makes the frames of all locations of a stack. */
static bool stack_meet(struct flat *flat, struct flat_maker *maker, uint32_t stack)
{
    uint32_t count;
    const uint32_t *locations = profile_frames_of(maker->profile, stack, &count);
    for (uint32_t i = 0; i < count; i++) {
        struct pieces *pieces = &maker->pieces[locations[i]];
        if (pieces->count > 0)
            continue;
        pieces->first = (uint32_t)maker->items_count;
        if (!location_add(flat, maker, locations[i]))
            return false;
        pieces->count = (uint32_t)maker->items_count - pieces->first;
    }
    return true;
}

/* The frames of a location, leaf first. */
static bool location_add(struct flat *flat, struct flat_maker *maker, uint32_t number)
{
    const struct profile *profile = maker->profile;
    const struct profile_location *location = profile_location_at(profile, number);
    const struct profile_line *lines = profile_lines_of(profile, number);
    bool named = false;
    for (uint32_t i = 0; i < location->lines; i++) {
        const struct profile_function *function = profile_function_at(profile, lines[i].function);
        struct flat_key key = {.name = function->name, .guess = location->flags & LOCATION_GUESS};
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
        if (!item_add(flat, maker, &key, location->address))
            return false;
    }
    struct flat_key key = {.mapping = location->mapping, .address = location->address};
    if (key.address != 0 && !(location->flags & LOCATION_EXACT))
        key.address--; /* of the call, not behind it */
    uint64_t start = profile_mapping_at(profile, key.mapping)->start;
    bool starts = !maker->options.lines || maker->options.starts;
    if (starts && key.address >= start && key.address - start >= location->behind)
        key.address -= location->behind; /* one frame for all of a function */
    return named || item_add(flat, maker, &key, location->address);
}

static bool item_add(struct flat *flat, struct flat_maker *maker, const struct flat_key *key,
                     uint64_t address)
{
    uint32_t number = frame(flat, maker, key, address);
    if (number == UINT32_MAX || !list_reserve(&maker->items, &maker->items_room,
                                              maker->items_count + 1, sizeof *maker->items))
        return false;
    maker->items[maker->items_count++] = number;
    return true;
}

/* The frame's number, or UINT32_MAX when memory is out. */
static uint32_t frame(struct flat *flat, struct flat_maker *maker, const struct flat_key *key,
                      uint64_t address)
{
    size_t count = flat->frames_count;
    uint32_t number;
    if (!map_find(&maker->frames, maker, key_bytes, key, sizeof *key, &number))
        return UINT32_MAX;
    if (number != MAP_NONE)
        return number;
    if (!list_reserve(&maker->known, &maker->known_room, count + 1, sizeof *maker->known))
        return UINT32_MAX;
    maker->known[count] = (struct known){*key, address};
    map_add(&maker->frames, (uint32_t)count);
    flat->frames_count++;
    return (uint32_t)count;
}

static const void *key_bytes(const void *context, uint32_t number, size_t *size)
{
    *size = sizeof(struct flat_key);
    return &((const struct flat_maker *)context)->known[number].key;
}

/* Makes the frames, and numbers them anew, by name. */
static bool frames_make(struct flat *flat, struct flat_maker *maker)
{
    size_t count = flat->frames_count;
    struct flat_frame *made = calloc(count + 1, sizeof *made);
    uint32_t *order = calloc(count + 1, sizeof *order);
    uint32_t *place = calloc(count + 1, sizeof *place);
    flat->frames = calloc(count + 1, sizeof *flat->frames);
    bool done = made && order && place && flat->frames && (count == 0 || maker->known);
    for (size_t i = 0; i < count && done; i++) {
        const struct flat_key *key = &maker->known[i].key;
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
    for (size_t i = 0; i < maker->items_count && done; i++)
        maker->items[i] = place[maker->items[i]];
    for (size_t i = 0; i < count && made; i++)
        free(made[i].name);
    free(made);
    free(order);
    free(place);
    return done;
}

static char *name_make(const struct profile *profile, const struct flat_key *key)
{
    char *text = NULL;
    const char *name = profile_text(profile, key->name);
    if (key->name == 0)
        return flat_unnamed(profile, key->mapping, key->address);
    if (asprintf(&text, "%s%.*s", key->guess && name[0] != '~' ? "~" : "", FLAT_NAME_MAX, name) < 0)
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

/* Numbers the stacks in their order; those that have become the same are one. *places: by stack of
 * the profile, its number; UINT32_MAX: no sample has it. */
static bool stacks_sort(struct flat *flat, struct flat_maker *maker, uint32_t *places)
{
    struct order order;
    bool done = order_make(&order, maker->profile->stacks.count, stack_path, maker, false);
    uint32_t before = 0, count, shared = UINT32_MAX; /* with the last one that a sample has */
    for (size_t i = 0; i < order.count && done; i++) {
        uint32_t stack = order_stack(&order, i);
        shared = order_shared(&order, i) < shared ? order_shared(&order, i) : shared;
        if (places[stack] == UINT32_MAX)
            continue;
        stack_path(maker, stack, &count);
        flat->stacks_count += flat->stacks_count == 0 || before != count || shared != count;
        places[stack] = (uint32_t)flat->stacks_count - 1;
        before = count;
        shared = UINT32_MAX;
    }
    order_free(&order);
    return done;
}

/* Which samples each stack has. */
static bool stacks_link(struct flat *flat, const struct profile *profile, const uint32_t *places)
{
    const struct profile_samples *samples = &profile->samples;
    bool several = samples->count > flat->stacks_count;
    flat->first = malloc((flat->stacks_count + 1) * sizeof *flat->first);
    flat->next = several ? malloc(samples->count * sizeof *flat->next) : NULL;
    if (!flat->first || (several && !flat->next))
        return false;
    memset(flat->first, 0xff, (flat->stacks_count + 1) * sizeof *flat->first);
    for (size_t i = samples->count; i-- > 0;) {
        uint32_t *first = &flat->first[places[samples->stacks[i]]];
        if (several)
            flat->next[i] = *first;
        *first = (uint32_t)i;
    }
    return true;
}

void flat_free(struct flat *flat)
{
    for (size_t i = 0; i < flat->frames_count && flat->frames; i++)
        free(flat->frames[i].name);
    free(flat->frames);
    free(flat->first);
    free(flat->next);
    if (flat->maker) {
        free(flat->maker->known);
        map_free(&flat->maker->frames);
        free(flat->maker->pieces);
        free(flat->maker->items);
        free(flat->maker->path[0]);
        free(flat->maker->path[1]);
    }
    free(flat->maker);
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
    struct flat_stack a = flat_stack(flat, one), b = flat_stack(flat, other);
    uint32_t same = 0;
    while (same < a.count && same < b.count && a.frames[same] == b.frames[same])
        same++;
    return same;
}

/* SPDX-License-Identifier: MIT */
/*
 * See tool/profile/parse/frames.h. Frames that belong together are one location: that is how
 * inlined functions are told from calls. Locations are known by address and names, and each is made
 * once, since such files repeat their stacks for every snapshot.
 */
#include "tool/profile/parse/frames.h"

#include <stdlib.h>

#include "tool/memory/memory.h"

enum { LINES_MAX = 64 }; /* inlined calls at one address; compilers stop far below */

static uint32_t *number_of(struct keys *keys, struct list *list, struct profile *profile,
                           struct key key, bool *fresh);
static struct cursor place_of(struct cursor *text);
static bool belongs(const struct frame *frames, size_t length);
static uint32_t location_of(struct frames *known, struct profile *profile,
                            const struct frame *frames, size_t count);

uint32_t frames_mapping(struct frames *known, struct profile *profile, struct cursor path)
{
    uint32_t string = profile_string(profile, path.at, cursor_left(&path));
    bool fresh;
    uint32_t *number =
        number_of(&known->paths, &known->mappings, profile, (struct key){{string, 0, 0}}, &fresh);
    if (number && fresh) {
        struct profile_mapping mapping = {.path = string, .has_functions = true};
        *number = profile_mapping(profile, &mapping);
    }
    return number ? *number : 0;
}

/* The place in `list` of a key's number; what is new there must be filled in. */
static uint32_t *number_of(struct keys *keys, struct list *list, struct profile *profile,
                           struct key key, bool *fresh)
{
    uint32_t number = keys_add(keys, key, fresh);
    if (number == KEYS_NONE)
        profile->failed = true;
    else if (*fresh)
        profile_list_add(profile, list, sizeof(uint32_t));
    return number < list->count ? (uint32_t *)list->items + number : NULL;
}

struct frame frames_valgrind(struct frames *known, struct profile *profile, struct cursor text)
{
    struct frame frame = {.flags = LOCATION_LOOKED | LOCATION_EXACT};
    struct profile_function function = {0};
    uint64_t line = 0;
    if (cursor_take(&text, "0x") && cursor_number(&text, 16, &frame.address))
        cursor_take(&text, ":");
    cursor_trim(&text);
    struct cursor place = place_of(&text);
    if (cursor_take(&place, "in ")) {
        frame.mapping = frames_mapping(known, profile, place);
    } else if (place.at < place.end) {
        const char *colon = cursor_last(&place, ":");
        struct cursor number = {colon ? colon + 1 : place.end, place.end};
        if (colon && cursor_number(&number, 10, &line) && number.at == number.end)
            place.end = colon;
        function.file = profile_string(profile, place.at, cursor_left(&place));
    }
    frame.line = line <= INT32_MAX ? (uint32_t)line : 0;
    if (cursor_is(&text, "???") || cursor_left(&text) == 0)
        return frame;
    function.name = function.system_name = profile_string(profile, text.at, cursor_left(&text));
    frame.function = profile_function(profile, &function);
    return frame;
}

/* "(p.cc:16)" or "(in /usr/lib/libx.so)" at the end of a name; it may have brackets itself. */
static struct cursor place_of(struct cursor *text)
{
    const char *open =
        text->end > text->at && text->end[-1] == ')' ? cursor_last(text, " (") : NULL;
    struct cursor place = {text->end, text->end};
    if (open) {
        place = (struct cursor){open + 2, text->end - 1};
        text->end = open;
    }
    return place;
}

struct frame frames_remark(struct profile *profile, const char *name)
{
    uint32_t string = profile_string_of(profile, name);
    struct profile_function function = {.name = string, .system_name = string};
    return (struct frame){.function = profile_function(profile, &function),
                          .flags = LOCATION_LOOKED};
}

uint32_t frames_stack(struct frames *known, struct profile *profile, const struct frame *frames,
                      size_t count)
{
    uint32_t used = 0;
    if (!list_reserve(&known->stack, &known->stack_room, count, sizeof *known->stack)) {
        profile->failed = true;
        return 0;
    }
    for (size_t at = 0; at < count;) {
        size_t length = 1;
        while (at + length < count && length < LINES_MAX && frames[at].function != 0 &&
               belongs(frames + at, length))
            length++;
        known->stack[used++] = location_of(known, profile, frames + at, length);
        at += length;
    }
    return profile_stack(profile, known->stack, used);
}

/* Whether a frame goes on where the one before it was inlined. One that is there already is a
 * recursion. */
static bool belongs(const struct frame *frames, size_t length)
{
    const struct frame *next = &frames[length], *before = &frames[length - 1];
    if (next->address == 0 || next->address != before->address || next->function == 0 ||
        (before->mapping != 0 && before->mapping != next->mapping))
        return false;
    for (size_t i = 0; i < length; i++)
        if (frames[i].function == next->function && frames[i].line == next->line)
            return false;
    return true;
}

static uint32_t location_of(struct frames *known, struct profile *profile,
                            const struct frame *frames, size_t count)
{
    struct profile_line lines[LINES_MAX];
    uint32_t mapping = frames[count - 1].mapping;
    uint64_t hash = count;
    bool fresh;
    for (size_t i = 0; i < count; i++) {
        lines[i] = (struct profile_line){.function = frames[i].function, .line = frames[i].line};
        hash = map_mix(hash, (uint64_t)frames[i].function << 32 | frames[i].line);
    }
    struct key key = {{frames[0].address, hash, (uint64_t)frames[0].flags << 32 | mapping}};
    uint32_t *number = number_of(&known->locations, &known->numbers, profile, key, &fresh);
    if (number && fresh) {
        struct profile_location location = {
            .address = frames[0].address, .mapping = mapping, .flags = frames[0].flags};
        bool named = frames[0].function != 0;
        *number = profile_location(profile, &location, lines, named ? (uint32_t)count : 0);
    }
    return number ? *number : 0;
}

void frames_free(struct frames *known)
{
    keys_free(&known->locations);
    keys_free(&known->paths);
    free(known->numbers.items);
    free(known->mappings.items);
    free(known->stack);
}

/* SPDX-License-Identifier: MIT */
/* See tool/profile/valgrind.h. */
#include "tool/profile/valgrind.h"

#include <stdlib.h>

enum { LINES_MOST = 64 };

/* The number in `list` of a key of one word; what is new there is 0 and must be filled in. */
static uint32_t *number_of(struct keys *keys, struct profile_list *list, struct profile *profile,
                           struct key key, bool *fresh)
{
    uint32_t number = keys_add(keys, key, fresh);
    if (number == KEYS_NONE)
        profile->failed = true;
    else if (*fresh)
        profile_list_add(profile, list, sizeof(uint32_t));
    return number < list->count ? (uint32_t *)list->items + number : NULL;
}

static uint32_t mapping_of(struct valgrind *valgrind, struct profile *profile, struct cursor path)
{
    uint32_t string = profile_string(profile, path.at, cursor_left(&path));
    bool fresh;
    uint32_t *number = number_of(&valgrind->paths, &valgrind->mappings, profile,
                                 (struct key){{string, 0, 0}}, &fresh);
    if (number && fresh) {
        struct profile_mapping mapping = {.path = string, .has_functions = true};
        *number = profile_mapping(profile, &mapping);
    }
    return number ? *number : 0;
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

struct valgrind_frame valgrind_frame(struct valgrind *valgrind, struct profile *profile,
                                     struct cursor text)
{
    struct valgrind_frame frame = {0};
    struct profile_function function = {0};
    uint64_t line = 0;
    if (cursor_take(&text, "0x") && cursor_number(&text, 16, &frame.address))
        cursor_take(&text, ":");
    cursor_trim(&text);
    struct cursor place = place_of(&text);
    if (cursor_take(&place, "in ")) {
        frame.mapping = mapping_of(valgrind, profile, place);
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

struct valgrind_frame valgrind_remark(struct profile *profile, const char *name)
{
    uint32_t string = profile_string_of(profile, name);
    struct profile_function function = {.name = string, .system_name = string};
    return (struct valgrind_frame){.function = profile_function(profile, &function)};
}

/* Some frames of one address; one that comes again is a recursion, not inlined. */
static size_t run_length(const struct valgrind_frame *frames, size_t count)
{
    size_t length = 1;
    for (; length < count && length < LINES_MOST && frames[0].address != 0 &&
           frames[length].address == frames[0].address && frames[length].function != 0;
         length++)
        for (size_t i = 0; i < length; i++)
            if (frames[i].function == frames[length].function &&
                frames[i].line == frames[length].line)
                return length;
    return length;
}

static uint32_t location_of(struct valgrind *valgrind, struct profile *profile,
                            const struct valgrind_frame *frames, size_t count)
{
    struct profile_line lines[LINES_MOST];
    uint64_t hash = count;
    bool fresh;
    for (size_t i = 0; i < count; i++) {
        lines[i] = (struct profile_line){.function = frames[i].function, .line = frames[i].line};
        hash = (hash ^ ((uint64_t)frames[i].function << 32 | frames[i].line)) *
               UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 31;
    }
    uint32_t *number =
        number_of(&valgrind->locations, &valgrind->numbers, profile,
                  (struct key){{frames[0].address, hash, frames[0].mapping}}, &fresh);
    if (number && fresh) {
        struct profile_location location = {.address = frames[0].address,
                                            .mapping = frames[0].mapping,
                                            .flags = LOCATION_LOOKED | LOCATION_EXACT};
        bool named = frames[0].function != 0;
        *number = profile_location(profile, &location, lines, named ? (uint32_t)count : 0);
    }
    return number ? *number : 0;
}

uint32_t valgrind_stack(struct valgrind *valgrind, struct profile *profile,
                        const struct valgrind_frame *frames, size_t count)
{
    uint32_t used = 0;
    if (count > valgrind->stack_room) {
        uint32_t *larger = realloc(valgrind->stack, count * sizeof *larger);
        if (!larger) {
            profile->failed = true;
            return 0;
        }
        valgrind->stack = larger;
        valgrind->stack_room = count;
    }
    for (size_t at = 0; at < count;) {
        size_t length = run_length(frames + at, count - at);
        valgrind->stack[used++] = location_of(valgrind, profile, frames + at, length);
        at += length;
    }
    return profile_stack(profile, valgrind->stack, used);
}

void valgrind_free(struct valgrind *valgrind)
{
    keys_free(&valgrind->locations);
    keys_free(&valgrind->paths);
    free(valgrind->numbers.items);
    free(valgrind->mappings.items);
    free(valgrind->stack);
}

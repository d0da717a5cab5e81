/* SPDX-License-Identifier: MIT */
/*
 * A profile that brings its names, as jeprof and google-pprof write it with --raw:
 *
 *      --- symbol
 *      binary=/bin/program
 *      0x000055d0c0de1234 outer--inlined
 *      ---
 *      --- profile                 and any other format
 *
 * Some of these tools took one off the return addresses of the profile, all of them off those of
 * the names: which of both was done shows in which addresses have a name.
 */
#include <stdlib.h>
#include <string.h>

#include "tool/profile/parse/parse.h"
#include "tool/profile/read/read.h"

enum { INLINES_MAX = 64 }; /* inlined calls at one address; compilers stop far below */

/* The list of names; `text` is left at what follows it. */
static bool read_names(struct profile *profile, struct text *text, struct ids *names,
                       uint32_t *program)
{
    struct text line;
    while (text_line(text, &line)) {
        uint64_t address;
        text_trim(&line);
        if (text_starts(&line, "---")) {
            if (line.end - line.at == 3)
                return true;
            text->at = line.at; /* it is the next part's already */
            return true;
        }
        if (text_word(&line, "binary=")) {
            *program = profile_string(profile, line.at, (size_t)(line.end - line.at));
        } else if (text_starts(&line, "0x") && text_hex(&line, &address)) {
            text_blank(&line);
            if (line.at == line.end)
                continue;
            uint32_t name = profile_string(profile, line.at, (size_t)(line.end - line.at));
            profile->failed |= !ids_add(names, address, name);
        }
        if (profile->failed)
            return false;
    }
    return false;
}

/* Where the last name of OUTER--INLINED begins. There is an operator that looks like the mark. */
static size_t last_name(const char *text, size_t length)
{
    static const char word[] = "operator";
    enum { WORD = sizeof word - 1 };
    for (size_t i = length; i-- > 2;)
        if (text[i - 1] == '-' && text[i - 2] == '-' &&
            (i < WORD + 2 || memcmp(text + i - 2 - WORD, word, WORD) != 0))
            return i;
    return 0;
}

static void name_location(struct profile *profile, uint32_t location, uint32_t name)
{
    struct profile_line lines[INLINES_MAX] = {{0, 0, 0}};
    unsigned count = 0;
    char *text = strdup(profile_text(profile, name)); /* texts move when one is added */
    if (!text) {
        profile->failed = true;
        return;
    }
    for (size_t length = strlen(text); length > 0 && count < INLINES_MAX;) {
        size_t start = last_name(text, length);
        struct profile_function function = {0};
        function.name = profile_string(profile, text + start, length - start);
        if (function.name != 0)
            lines[count++].function = profile_function(profile, &function);
        length = start < 2 ? 0 : start - 2;
    }
    free(text);
    profile_set_lines(profile, location, lines, count, LOCATION_LOOKED);
}

/* The one that is right, of an address that a reader may have taken one off. */
static bool find_name(const struct ids *names, struct profile_location *location, bool adjusted,
                      uint32_t *name)
{
    if ((location->flags & LOCATION_EXACT) != 0) {
        if (ids_find(names, location->address, name))
            return true;
        if (!ids_find(names, location->address + 1, name))
            return false;
        location->address++;
        return true;
    }
    if (adjusted)
        location->flags |= LOCATION_EXACT;
    return ids_find(names, location->address - !adjusted, name) ||
           ids_find(names, location->address - adjusted, name);
}

static void name_locations(struct profile *profile, const struct ids *names)
{
    struct profile_location *locations = profile->locations.items;
    size_t as_is = 0, less_one = 0;
    uint32_t name;
    for (size_t i = 0; i < profile->locations.count; i++) {
        as_is += ids_find(names, locations[i].address, &name);
        less_one += ids_find(names, locations[i].address - 1, &name);
    }
    for (uint32_t i = 0; i < profile->locations.count && !profile->failed; i++)
        if (find_name(names, &locations[i], as_is >= less_one, &name))
            name_location(profile, i, name);
}

static bool is(const struct read_input *input)
{
    struct text text = text_of(input);
    return text_starts(&text, "--- symbol") || text_starts(&text, "---symbol");
}

static bool read_rest(const struct read_input *input, const char *at, struct profile *profile,
                      struct read_error *error)
{
    struct read_input rest = *input;
    struct text text = {at, input->bytes + input->size}, line, after = text;
    text_line(&after, &line);
    text_trim(&line);
    /* A line that says what follows; readers of heaps do not know it. */
    if (text_starts(&line, "---") && text_starts(&after, "heap"))
        text = after;
    rest.bytes = text.at;
    rest.size = (size_t)(text.end - text.at);
    rest.pages = false;
    if (rest.size == 0)
        return read_refuse(error, input->size, "there are names, but no profile follows");
    if (is(&rest))
        return read_refuse(error, (uint64_t)(at - input->bytes), "a list of names inside another");
    if (profile_read(profile, &rest, error))
        return true;
    error->offset += (uint64_t)(text.at - input->bytes);
    return false;
}

static bool read(const struct read_input *input, struct profile *profile, struct read_error *error)
{
    struct text text = text_of(input), line;
    struct ids names = {0};
    uint32_t program = 0;
    uint64_t twice;
    text_line(&text, &line);
    bool done = read_names(profile, &text, &names, &program) ||
                read_refuse(error, input->size, "the list of names does not end: the file is cut");
    done = done && read_rest(input, text.at, profile, error);
    if (done) {
        ids_sort(&names, &twice); /* a name that is there twice does no harm */
        name_locations(profile, &names);
        if (program != 0)
            profile->program = program;
        profile->format = reader_symbolized.name;
        profile->traits = reader_symbolized.traits;
    }
    free(names.pairs);
    return done;
}

const struct reader reader_symbolized = {.name = "symbolized", .is = is, .read = read};

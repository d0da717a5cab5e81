/* SPDX-License-Identifier: MIT */
/* See tool/profile/read/java.h. */
#include "tool/profile/read/java.h"

#include <string.h>

static uint32_t location_of(struct profile *profile, struct text name);
static const char *last_of(const struct text *text, char letter);
static uint32_t string_of(struct profile *profile, struct text text);

bool java_names(struct profile *profile, struct text text, struct ids *names,
                struct read_error *error)
{
    struct text line;
    uint64_t address;
    while (text_line(&text, &line) && !profile->failed) {
        text_trim(&line);
        if (!text_starts(&line, "0x") || !text_hex(&line, &address))
            continue;
        text_blank(&line);
        uint32_t location = line.at < line.end ? location_of(profile, line) : 0;
        if (line.at < line.end && !ids_add(names, address, location)) {
            profile->failed = true;
            return false;
        }
    }
    return ids_sort(names, &address) ||
           read_refuse(error, 0, "address 0x%llx has two names", (unsigned long long)address);
}

/* "Main.run (Main.java:12)", "read (/lib/libc.so.6)", "GC". */
static uint32_t location_of(struct profile *profile, struct text name)
{
    struct profile_function function = {0};
    struct text place = name;
    const char *open = last_of(&name, '(');
    uint64_t line = 0;
    if (memmem(name.at, (size_t)(name.end - name.at), "generated stub/JIT", 18)) {
        function.name = profile_string_of(profile, "STUB");
    } else if (open && open > name.at && name.end[-1] == ')') {
        place = (struct text){open + 1, name.end - 1};
        name.end = open;
        const char *colon = last_of(&place, ':'), *slash = last_of(&place, '/');
        struct text number = {colon ? colon + 1 : place.end, place.end};
        if (colon)
            place.end = colon;
        else if (slash)
            place.at = slash + 1;
        if (colon && (!text_number(&number, &line) || line > INT32_MAX))
            line = 0;
        function.file = string_of(profile, place);
    }
    if (function.name == 0)
        function.name = string_of(profile, name);
    function.system_name = function.name;
    return profile_named(profile, profile_function(profile, &function), (uint32_t)line, 0);
}

/* The last place of a letter, or NULL. */
static const char *last_of(const struct text *text, char letter)
{
    return memrchr(text->at, letter, (size_t)(text->end - text->at));
}

static uint32_t string_of(struct profile *profile, struct text text)
{
    text_trim(&text);
    return profile_string(profile, text.at, (size_t)(text.end - text.at));
}

uint32_t java_location(struct profile *profile, const struct ids *names, uint64_t address)
{
    uint32_t location;
    return ids_find(names, address, &location) ? location
                                               : profile_address(profile, address, LOCATION_EXACT);
}

/* SPDX-License-Identifier: MIT */
/*
 * The names that Go's programs put behind each stack of a profile in text:
 *
 *      3 @ 0x4378b6 0x4b40f7
 *      #  0x4b40f6  main.work+0x16  /src/work.go:39
 *
 * The address is that of the call, one less than the one in the stack. Functions that were inlined
 * may have the same address, the innermost first. Go leaves out frames of its own machinery.
 */
#include "tool/profile/parse/text_lines.h"

#include <string.h>

static struct text until_tab(struct text *line);
static struct profile_line line_of(struct profile *profile, struct text name, struct text place);
static uint32_t string_of(struct profile *profile, const struct text *text);

bool text_names(struct profile *profile, struct text line, struct text_names *names)
{
    uint64_t address;
    if (!text_word(&line, "#\t") || !text_hex(&line, &address) || !text_word(&line, "\t")) {
        names->count = 0; /* another stack begins */
        return false;
    }
    struct text name = until_tab(&line), place = line;
    text_trim(&place);
    if (name.at == name.end)
        return true;
    uint32_t location = profile_address(profile, address + 1, 0);
    if (profile->failed)
        return true;
    if (names->count == 0 || names->location != location) {
        names->location = location;
        names->count = 0;
        names->known = profile_location_at(profile, location)->lines > 0;
    }
    if (!names->known && names->count < TEXT_NAMES_MAX) {
        names->lines[names->count++] = line_of(profile, name, place);
        profile_set_lines(profile, location, names->lines, names->count, LOCATION_LOOKED);
        names->any = true;
    }
    return true;
}

static struct text until_tab(struct text *line)
{
    struct text part = *line;
    const char *tab = memchr(line->at, '\t', (size_t)(line->end - line->at));
    part.end = tab ? tab : line->end;
    line->at = part.end;
    text_blank(line);
    return part;
}

/* "main.work+0x16" and "/src/work.go:39". */
static struct profile_line line_of(struct profile *profile, struct text name, struct text place)
{
    struct profile_function function = {0};
    struct profile_line made = {0};
    const char *plus = memrchr(name.at, '+', (size_t)(name.end - name.at));
    const char *colon = memrchr(place.at, ':', (size_t)(place.end - place.at));
    uint64_t line;
    if (plus && plus > name.at)
        name.end = plus;
    if (colon) {
        struct text number = {colon + 1, place.end};
        place.end = colon;
        if (text_number(&number, &line) && line <= INT32_MAX)
            made.line = (uint32_t)line;
    }
    function.name = function.system_name = string_of(profile, &name);
    function.file = string_of(profile, &place);
    made.function = profile_function(profile, &function);
    return made;
}

static uint32_t string_of(struct profile *profile, const struct text *text)
{
    return profile_string(profile, text->at, (size_t)(text->end - text->at));
}

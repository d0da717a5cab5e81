/* SPDX-License-Identifier: MIT */
/*
 * See tool/profile/parse/text_lines.h. The styles of a mapping's line:
 *
 *      7f0000000000-7f0000002000 r-xp 00001000 08:01 1234   /lib/a library.so (deleted)
 *      40000000-40015000: /lib/ld.so
 *      0x40000-0x80000 /bin/program (@ff00) abc123
 *
 * and lines `build=DIR`, after which $build in a path is DIR.
 */
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "tool/profile/parse/text_lines.h"

static bool take_mapping(struct profile *profile, struct text line, struct text build);
static bool take_access(struct text *line, bool *code);
static bool take_place(struct text *line, uint64_t *offset);
static uint32_t take_build_id(struct profile *profile, struct text *path, uint64_t *offset);
static uint32_t path_string(struct profile *profile, struct text path, struct text build);
static const char *find_list(struct text text);

bool text_mapping(struct profile *profile, struct text line)
{
    return take_mapping(profile, line, (struct text){NULL, NULL});
}

static bool take_mapping(struct profile *profile, struct text line, struct text build)
{
    struct profile_mapping mapping = {0};
    bool code = true;
    text_trim(&line);
    if (!text_hex(&line, &mapping.start) || !text_word(&line, "-") ||
        !text_hex(&line, &mapping.limit) || mapping.limit < mapping.start)
        return false;
    text_word(&line, ":");
    if (line.at == line.end || (*line.at != ' ' && *line.at != '\t'))
        return line.at == line.end;
    text_blank(&line);
    if (!take_access(&line, &code) || !take_place(&line, &mapping.offset)) {
        text_blank(&line);
        mapping.build_id = take_build_id(profile, &line, &mapping.offset);
    }
    text_trim(&line);
    mapping.path = path_string(profile, line, build);
    if (mapping.path == 0 && !code)
        return true;
    profile_mapping(profile, &mapping);
    if (code && profile->program == 0 && line.at < line.end && *line.at != '[')
        profile->program = mapping.path;
    return true;
}

/* The permissions, if they are there. */
static bool take_access(struct text *line, bool *code)
{
    struct text rest = *line;
    const char *start = rest.at;
    while (rest.at < rest.end && strchr("-rwxps", *rest.at))
        rest.at++;
    if (rest.at - start < 3 || rest.at - start > 5 || (rest.at < rest.end && *rest.at != ' '))
        return false;
    *code = memchr(start, 'x', (size_t)(rest.at - start)) != NULL;
    *line = rest;
    return true;
}

/* Offset, device and inode. */
static bool take_place(struct text *line, uint64_t *offset)
{
    struct text rest = *line;
    uint64_t ignored, found;
    text_blank(&rest);
    if (!text_hex(&rest, &found))
        return false;
    text_blank(&rest);
    if (!text_hex(&rest, &ignored) || !text_word(&rest, ":") || !text_hex(&rest, &ignored))
        return false;
    text_blank(&rest);
    if (!text_number(&rest, &ignored))
        return false;
    text_blank(&rest);
    *offset = found;
    *line = rest;
    return true;
}

/* PATH, PATH (@OFFSET) or PATH (@OFFSET) ID: what stands behind the path is cut off it. */
static uint32_t take_build_id(struct profile *profile, struct text *path, uint64_t *offset)
{
    struct text place = *path;
    while (place.at < place.end && !text_starts(&place, " (@"))
        place.at++;
    const char *end = place.at;
    if (!text_word(&place, " (@") || !text_hex(&place, offset) || !text_word(&place, ")"))
        return 0;
    path->end = end;
    text_trim(path);
    text_trim(&place);
    char id[128];
    size_t length = (size_t)(place.end - place.at);
    if (length >= sizeof id)
        return 0;
    for (size_t i = 0; i < length; i++)
        id[i] = place.at[i] >= 'A' && place.at[i] <= 'Z' ? (char)(place.at[i] | 0x20) : place.at[i];
    return profile_string(profile, id, length);
}

static uint32_t path_string(struct profile *profile, struct text path, struct text build)
{
    static const char variable[] = "$build";
    char whole[4096];
    struct text rest = path;
    while (rest.at < rest.end && !text_starts(&rest, variable))
        rest.at++;
    size_t before = (size_t)(rest.at - path.at), value = (size_t)(build.end - build.at);
    if (!text_word(&rest, variable) || before + value + (size_t)(rest.end - rest.at) > sizeof whole)
        return profile_string(profile, path.at, (size_t)(path.end - path.at));
    memcpy(whole, path.at, before);
    if (value > 0)
        memcpy(whole + before, build.at, value);
    memcpy(whole + before + value, rest.at, (size_t)(rest.end - rest.at));
    return profile_string(profile, whole, before + value + (size_t)(rest.end - rest.at));
}

void text_mappings(struct profile *profile, struct text *text)
{
    struct text list = {find_list(*text), text->end}, line, build = {NULL, NULL};
    text->end = list.at;
    while (text_line(&list, &line)) {
        text_trim(&line);
        if (text_word(&line, "build="))
            build = line;
        else
            take_mapping(profile, line, build);
    }
}

/* The announcing line at or behind `from`; the end if there is none. */
static const char *find_list(struct text text)
{
    static const char *const announced[] = {"MAPPED_LIBRARIES:", "--- Memory map:"};
    const char *first = text.end;
    for (size_t i = 0; i < COUNT_OF(announced); i++) {
        const char *at = text.at;
        while ((at = memmem(at, (size_t)(text.end - at), announced[i], strlen(announced[i]))) &&
               at != text.at && at[-1] != '\n')
            at++;
        if (at && at < first)
            first = at;
    }
    return first;
}

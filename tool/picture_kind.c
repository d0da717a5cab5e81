/* SPDX-License-Identifier: MIT */
/* See tool/picture_kind.h. */
#include "tool/picture_kind.h"

#include <string.h>

#include "base/compiler.h"
#include "tool/report/picture/picture.h"
#include "tool/terminal/terminal.h"

/* The first is that of an .svg, the second that of all other endings. */
static const struct picture_kind kinds[] = {
    {"flame", picture_flame, VIEW_FUNCTION, VIEW_LEAF, COMMAND_EACH},
    {"graph", NULL, VIEW_FUNCTION, VIEW_LEAF, COMMAND_EACH},
    {"time", picture_time, VIEW_SITE, VIEW_BLAME, COMMAND_TIME},
    {"sizes", picture_sizes, VIEW_SITE, VIEW_BLAME, COMMAND_SIZES},
    {"frag", picture_frag, VIEW_SITE, VIEW_BLAME, COMMAND_FRAG},
    {"threads", picture_threads, VIEW_SITE, VIEW_BLAME, COMMAND_THREADS},
};

const struct picture_kind *picture_kind_of(const struct arguments *arguments,
                                           enum picture_format format)
{
    const char *word = arguments_value(arguments, FLAG_PICTURE);
    for (size_t i = 0; word && i < COUNT_OF(kinds); i++)
        if (strcmp(kinds[i].word, word) == 0)
            return &kinds[i];
    for (size_t i = 0; !word && i < COUNT_OF(kinds); i++)
        if (kinds[i].command == arguments->command->id)
            return &kinds[i];
    return &kinds[format != PICTURE_SVG];
}

bool picture_wanted(const struct arguments *arguments, const char *path)
{
    return arguments_value(arguments, FLAG_PICTURE) || picture_format_of(path) != PICTURE_NONE;
}

bool picture_check(const struct arguments *arguments, const char *path, struct error *error)
{
    enum picture_format format = picture_format_of(path);
    if (format == PICTURE_NONE && strcmp(path, "-") == 0)
        format = PICTURE_SVG;
    if (format == PICTURE_NONE) {
        error_set(error, ERROR_USAGE, "%s: unknown ending for a picture", path);
        return error_hint(error, "endings of pictures are:%s", picture_endings);
    }
    if (format == PICTURE_HTML) {
        if (!arguments_value(arguments, FLAG_PICTURE))
            return true;
        error_set(error, ERROR_USAGE, "a page contains all pictures, so --picture does not apply");
        return error_hint(error, "drop --picture from -o %s, or write a picture: -o picture.svg",
                          path);
    }
    const struct picture_kind *kind = picture_kind_of(arguments, format);
    if (kind->draw && format != PICTURE_SVG) {
        error_set(error, ERROR_USAGE, "the picture '%s' is written as .svg only, not as .%s",
                  kind->word, picture_format_word(format));
        if (!arguments_value(arguments, FLAG_PICTURE))
            return error_hint(error, "-o %s.svg", kind->word);
        return error_hint(error, "only --picture graph has other formats");
    }
    return true;
}

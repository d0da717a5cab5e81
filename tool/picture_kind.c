/* SPDX-License-Identifier: MIT */
/* See tool/picture_kind.h. */
#include "tool/picture_kind.h"

#include <string.h>

#include "base/compiler.h"
#include "tool/report/picture/picture.h"
#include "tool/terminal/terminal.h"

/* The first is that of an .svg, the second that of all other endings. */
static const struct picture_kind kinds[] = {
    {"flame", picture_flame, VIEW_FUNCTION, VIEW_LEAF, NULL},
    {"graph", NULL, VIEW_FUNCTION, VIEW_LEAF, NULL},
    {"time", picture_time, VIEW_SITE, VIEW_BLAME, "time"},
    {"sizes", picture_sizes, VIEW_SITE, VIEW_BLAME, "sizes"},
    {"frag", picture_frag, VIEW_SITE, VIEW_BLAME, "frag"},
    {"threads", picture_threads, VIEW_SITE, VIEW_BLAME, "threads"},
};

const char picture_endings[] = " .html .svg .dot .pdf .ps .png .gif";

const char *picture_ending(const char *path)
{
    static const char *const formats[] = {"html", "svg", "dot", "pdf", "ps", "png", "gif"};
    size_t length = pack_stem(path);
    for (size_t i = 0; i < COUNT_OF(formats); i++) {
        size_t of = strlen(formats[i]);
        if (length > of && path[length - of - 1] == '.' &&
            memcmp(path + length - of, formats[i], of) == 0)
            return formats[i];
    }
    return NULL;
}

const struct picture_kind *picture_kind_of(const struct arguments *arguments, const char *format)
{
    const char *word = arguments_value(arguments, FLAG_PICTURE);
    for (size_t i = 0; word && i < COUNT_OF(kinds); i++)
        if (strcmp(kinds[i].word, word) == 0)
            return &kinds[i];
    for (size_t i = 0; !word && i < COUNT_OF(kinds); i++)
        if (kinds[i].verb && strcmp(kinds[i].verb, arguments->command->verb) == 0)
            return &kinds[i];
    return &kinds[strcmp(format, "svg") != 0];
}

bool picture_wanted(const struct arguments *arguments, const char *path)
{
    return arguments_value(arguments, FLAG_PICTURE) || picture_ending(path);
}

bool picture_check(const struct arguments *arguments, const char *path, struct error *error)
{
    const char *format = picture_ending(path);
    if (!format && strcmp(path, "-") == 0)
        format = "svg";
    if (!format) {
        error_set(error, ERROR_USAGE, "%s: unknown ending for a picture", path);
        return error_hint(error, "endings of pictures are:%s", picture_endings);
    }
    if (strcmp(format, "html") == 0) {
        if (!arguments_value(arguments, FLAG_PICTURE))
            return true;
        error_set(error, ERROR_USAGE, "a page contains all pictures, so --picture does not apply");
        return error_hint(error, "drop --picture from -o %s, or write a picture: -o picture.svg",
                          path);
    }
    const struct picture_kind *kind = picture_kind_of(arguments, format);
    if (kind->draw && strcmp(format, "svg") != 0) {
        error_set(error, ERROR_USAGE, "the picture '%s' is written as .svg only, not as .%s",
                  kind->word, format);
        if (!arguments_value(arguments, FLAG_PICTURE))
            return error_hint(error, "-o %s.svg", kind->word);
        return error_hint(error, "only --picture graph has other formats");
    }
    return true;
}

/* SPDX-License-Identifier: MIT */
/* See tool/picture.h. */
#include "tool/picture.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

struct kind {
    const char *word;
    void (*draw)(const struct view *view, const struct picture_options *options, FILE *file);
    enum view_by by;         /* unless --by says so */
    enum view_frames frames; /* unless --frames does */
};

/* The first is that of an .svg, the second that of all other endings. */
static const struct kind kinds[] = {
    {"flame", picture_flame, VIEW_FUNCTION, VIEW_CALLERS},
    {"graph", NULL, VIEW_FUNCTION, VIEW_CALLERS},
    {"time", picture_time, VIEW_SITE, VIEW_BLAME},
    {"sizes", picture_sizes, VIEW_SITE, VIEW_BLAME},
};

const char picture_endings[] = " .svg .dot .pdf .ps .png .gif";

/* "svg" of a path that ends in one of those; NULL: none of them. */
static const char *picture_format(const char *path)
{
    static const char *const formats[] = {"svg", "dot", "pdf", "ps", "png", "gif"};
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < COUNT_OF(formats); i++)
        if (strcmp(dot + 1, formats[i]) == 0)
            return formats[i];
    return NULL;
}

static const struct kind *picture_kind(const struct arguments *arguments, const char *format)
{
    const char *word = arguments_value(arguments, "--picture");
    for (size_t i = 0; word && i < COUNT_OF(kinds); i++)
        if (strcmp(kinds[i].word, word) == 0)
            return &kinds[i];
    return &kinds[strcmp(format, "svg") != 0];
}

bool picture_wanted(const struct arguments *arguments, const char *path)
{
    return arguments_value(arguments, "--picture") || picture_format(path);
}

bool picture_check(const struct arguments *arguments, const char *path, struct error *error)
{
    const char *format = picture_format(path);
    if (!format && strcmp(path, "-") == 0)
        format = "svg";
    if (!format) {
        error_set(error, ERROR_USAGE, "%s: no picture has this ending", path);
        return error_hint(error, "endings of pictures are:%s", picture_endings);
    }
    const struct kind *kind = picture_kind(arguments, format);
    if (kind->draw && strcmp(format, "svg") != 0) {
        error_set(error, ERROR_USAGE, "the picture '%s' is written as .svg only, not as .%s",
                  kind->word, format);
        return error_hint(error, "only the call graph has other formats: --picture graph");
    }
    return true;
}

static bool picture_options_read(struct picture_options *options, const struct arguments *arguments,
                                 const struct loaded *loaded, struct error *error)
{
    const char *width = arguments_value(arguments, "--width");
    const char *title = arguments_value(arguments, "--title");
    *options = (struct picture_options){
        .title = title ? title : loaded->name,
        .inverted = arguments_value(arguments, "--inverted") != NULL,
        .reversed = arguments_value(arguments, "--reversed") != NULL,
    };
    if (width) {
        char *end;
        unsigned long pixels = strtoul(width, &end, 10);
        if (width[0] < '0' || width[0] > '9' || *end || pixels < 300 || pixels > 20000)
            return error_set(error, ERROR_USAGE, "--width '%s' is not a width from 300 to 20000",
                             width);
        options->width = (unsigned)pixels;
    }
    return true;
}

bool picture_export(const struct arguments *arguments, const struct loaded *loaded,
                    const char *path, FILE *file, struct error *error)
{
    const char *format = picture_format(path);
    struct picture_options options;
    struct loaded like = *loaded;
    struct view view = {0};
    struct view_error reason = {""};
    if (!format)
        format = "svg";
    const struct kind *kind = picture_kind(arguments, format);
    if (!arguments_value(arguments, "--by"))
        like.view.by = kind->by;
    if (!arguments_value(arguments, "--frames"))
        like.view.frames = kind->frames;
    if (kind->by == VIEW_FUNCTION && !loaded->has_base) /* as top; a difference is as diff has it */
        load_moment(&like, arguments);
    like.view.past = strcmp(kind->word, "time") == 0;
    bool done =
        picture_options_read(&options, arguments, loaded, error) && load_view(&view, &like, error);
    if (done && kind->draw)
        kind->draw(&view, &options, file);
    else if (done && strcmp(format, "dot") == 0)
        picture_dot(&view, &options, file);
    else if (done && !picture_graph(&view, &options, format, file, &reason))
        done = error_set(error, ERROR_INPUT, "%s: %s", path, reason.text);
    view_free(&view);
    return done;
}

/* SPDX-License-Identifier: MIT */
/* See tool/render_picture.h. */
#include "tool/render_picture.h"

#include "tool/render_page.h"
#include "tool/report/picture/picture.h"
#include "tool/terminal/terminal.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

struct kind {
    const char *word;
    void (*draw)(const struct view *view, const struct picture_options *options, FILE *file);
    enum view_by by;         /* unless --by says so */
    enum view_frames frames; /* unless --frames does */
    const char *verb;        /* whose picture it is */
};

/* The first is that of an .svg, the second that of all other endings. */
static const struct kind kinds[] = {
    {"flame", picture_flame, VIEW_FUNCTION, VIEW_CALLERS, NULL},
    {"graph", NULL, VIEW_FUNCTION, VIEW_CALLERS, NULL},
    {"time", picture_time, VIEW_SITE, VIEW_BLAME, "time"},
    {"sizes", picture_sizes, VIEW_SITE, VIEW_BLAME, "sizes"},
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

static const struct kind *picture_kind(const struct arguments *arguments, const char *format)
{
    const char *word = arguments_value(arguments, "--picture");
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
    return arguments_value(arguments, "--picture") || picture_ending(path);
}

bool picture_check(const struct arguments *arguments, const char *path, struct error *error)
{
    const char *format = picture_ending(path);
    if (!format && strcmp(path, "-") == 0)
        format = "svg";
    if (!format) {
        error_set(error, ERROR_USAGE, "%s: no picture has this ending", path);
        return error_hint(error, "endings of pictures are:%s", picture_endings);
    }
    if (strcmp(format, "html") == 0) {
        if (!arguments_value(arguments, "--picture"))
            return true;
        error_set(error, ERROR_USAGE, "a page has all pictures, and takes no --picture");
        return error_hint(error, "-o %s without it, or a picture: -o picture.svg", path);
    }
    const struct kind *kind = picture_kind(arguments, format);
    if (kind->draw && strcmp(format, "svg") != 0) {
        error_set(error, ERROR_USAGE, "the picture '%s' is written as .svg only, not as .%s",
                  kind->word, format);
        if (!arguments_value(arguments, "--picture"))
            return error_hint(error, "-o %s.svg", kind->word);
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

static bool picture_draw(const struct arguments *arguments, const struct loaded *loaded,
                         const char *path, bool moment, FILE *file, struct error *error)
{
    const char *format = picture_ending(path);
    struct picture_options options;
    struct loaded like = *loaded;
    struct view view = {0};
    struct view_error reason = {""};
    if (!format)
        format = "svg";
    if (strcmp(format, "html") == 0) {
        if (moment && !loaded->has_base)
            load_moment(&like, arguments);
        return page_write(arguments, &like, file, error);
    }
    const struct kind *kind = picture_kind(arguments, format);
    like.view.rows_only = false;
    like.view.past = kind->draw == picture_time;
    if (!arguments_value(arguments, "--by"))
        like.view.by = kind->by;
    if (!arguments_value(arguments, "--frames"))
        like.view.frames = kind->frames;
    if (moment && !like.view.past)
        load_moment(&like, arguments);
    bool done =
        picture_options_read(&options, arguments, loaded, error) && load_view(&view, &like, error);
    if (strcmp(path, "-") != 0 && done)
        progress_start("drawing", path);
    if (done && kind->draw)
        kind->draw(&view, &options, file);
    else if (done && strcmp(format, "dot") == 0)
        picture_dot(&view, &options, file);
    else if (done && !picture_graph(&view, &options, format, file, &reason))
        done = error_set(error, ERROR_INPUT, "%s: %s", path, reason.text);
    progress_end();
    view_free(&view);
    return done;
}

bool picture_write(const struct arguments *arguments, const struct loaded *loaded, const char *path,
                   bool moment, struct error *error)
{
    struct output output;
    char *name = strndup(path, pack_stem(path));
    if (!name)
        return error_set(error, ERROR_INPUT, "out of memory");
    bool done = output_start(&output, path, error);
    if (done) {
        done = (strcmp(name, path) == 0 || output_pack(&output, path, error)) &&
               picture_draw(arguments, loaded, name, moment, output.file, error);
        done = output_end(&output, done, error) && done;
    }
    if (done)
        output_say(&output, path);
    free(name);
    return done;
}

bool picture_asked(const struct arguments *arguments, bool *asked, struct error *error)
{
    const char *path = arguments_value(arguments, "--output");
    *asked = path && picture_ending(path);
    return !*asked || picture_check(arguments, path, error);
}

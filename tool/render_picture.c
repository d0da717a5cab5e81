/* SPDX-License-Identifier: MIT */
/* See tool/render_picture.h. */
#include "tool/render_picture.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "tool/picture_kind.h"
#include "tool/render_page.h"
#include "tool/report/picture/picture.h"
#include "tool/terminal/terminal.h"

static bool picture_draw(const struct request *request, const char *path, bool moment, FILE *file,
                         struct error *error);
static bool picture_options_read(struct picture_options *options, const struct request *request,
                                 struct error *error);

bool picture_write(struct request *request, const char *path, bool moment, struct error *error)
{
    struct output output;
    char *name = strndup(path, pack_stem(path));
    if (!name)
        return error_memory(error);
    bool done = output_start(&output, path, error);
    if (done) {
        done = (strcmp(name, path) == 0 || output_pack(&output, path, error)) &&
               picture_draw(request, name, moment, output.file, error);
        done = output_end(&output, done, error) && done;
    }
    if (done)
        output_say(&output, path);
    free(name);
    return done;
}

static bool picture_draw(const struct request *request, const char *path, bool moment, FILE *file,
                         struct error *error)
{
    const struct arguments *arguments = request->arguments;
    enum picture_format format = picture_format_of(path);
    struct picture_options options;
    struct request like = *request; /* whose options are others */
    struct view view = {0};
    struct view_error reason = {.text = ""};
    if (format == PICTURE_NONE)
        format = PICTURE_SVG;
    if (format == PICTURE_HTML) {
        if (moment && !request->base)
            request_moment(&like);
        return page_write(&like, file, error);
    }
    const struct picture_kind *kind = picture_kind_of(arguments, format);
    like.options.rows_only = false;
    like.options.past = kind->draw == picture_time;
    if (!arguments_value(arguments, FLAG_BY))
        like.options.by = kind->by;
    if (!arguments_value(arguments, FLAG_FRAMES))
        like.options.frames = kind->frames;
    if (moment && !like.options.past)
        request_moment(&like);
    bool done =
        picture_options_read(&options, request, error) && request_view_make(&view, &like, error);
    if (strcmp(path, "-") != 0 && done)
        progress_start("drawing", path);
    if (done && kind->draw)
        kind->draw(&view, &options, file);
    else if (done && format == PICTURE_DOT)
        picture_dot(&view, &options, file);
    else if (done && !picture_graph(&view, &options, format, file, &reason))
        done = error_set(error, ERROR_INPUT, "%s: %s", path, reason.text);
    progress_end();
    view_free(&view);
    return done;
}

static bool picture_options_read(struct picture_options *options, const struct request *request,
                                 struct error *error)
{
    const struct arguments *arguments = request->arguments;
    const char *width = arguments_value(arguments, FLAG_WIDTH);
    const char *title = arguments_value(arguments, FLAG_TITLE);
    *options = (struct picture_options){
        .title = title ? title : request->name,
        .inverted = arguments_value(arguments, FLAG_INVERTED) != NULL,
        .reversed = arguments_value(arguments, FLAG_REVERSED) != NULL,
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

/* SPDX-License-Identifier: MIT */
/* See tool/load.h: what the flags of a view mean, and how its reports look. */
#include "tool/load_parts.h"
#include "tool/profile/read/read.h"

#include "tool/command/command.h"
#include "tool/render_picture.h"
#include "tool/suggest.h"
#include "tool/terminal/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/nearest.h"

enum { CHURN_US = 1024 }; /* a block that lived shorter is short-lived; a border of the buckets */

bool load_metric(struct loaded *loaded, const char *word, struct error *error)
{
    const struct profile *profile = &loaded->profile;
    char known[512] = "";
    size_t used = 0;
    if (metric_find(profile, word, &loaded->view.type)) {
        if (strcmp(word, "churn") == 0 && loaded->view.age_most_us == 0)
            loaded->view.age_most_us = CHURN_US;
        return true;
    }
    for (unsigned i = 0; i < profile->types && used < sizeof known - 1; i++)
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i > 0 ? ", " : "",
                                 profile_text(profile, profile->type[i].name));
    terminal_clean(known, strlen(known));
    const char *nearest = metric_nearest(profile, word);
    error_set(error, ERROR_USAGE, "%s has no metric '%s'%s%s%s", loaded->name, word,
              nearest ? ", the nearest is '" : "", nearest ? nearest : "", nearest ? "'" : "");
    return error_hint(error, "it has: %s   (memoir help metrics)", known);
}

struct suffix {
    const char *text;
    double factor;
};

static const struct suffix bytes[] = {
    {"", 1},           {"b", 1},           {"k", 1024},         {"kb", 1024},
    {"kib", 1024},     {"m", 1048576},     {"mb", 1048576},     {"mib", 1048576},
    {"g", 1073741824}, {"gb", 1073741824}, {"gib", 1073741824}, {NULL, 0}};
static const struct suffix microseconds[] = {{"", 1e6},  {"us", 1},    {"ms", 1e3},  {"s", 1e6},
                                             {"m", 6e7}, {"min", 6e7}, {"h", 3.6e9}, {NULL, 0}};

static bool part_read(const char *text, size_t length, const struct suffix *suffixes,
                      uint64_t *number)
{
    char part[32];
    char *end;
    if (length >= sizeof part)
        return false;
    memcpy(part, text, length);
    part[length] = '\0';
    double value = strtod(part, &end);
    if (end == part || !(value >= 0) || value > 1e15)
        return false;
    for (; suffixes->text; suffixes++)
        if (strcasecmp(suffixes->text, end) == 0) {
            value *= suffixes->factor;
            *number = value < 0x1p63 ? (uint64_t)value : UINT64_C(1) << 63;
            return true;
        }
    return false;
}

/* 1K:64K, :1s, 10s:, or one number. */
static bool range_read(const struct arguments *arguments, const char *flag,
                       const struct suffix *suffixes, uint64_t *least, uint64_t *most,
                       struct error *error)
{
    const char *text = arguments_value(arguments, flag);
    if (!text)
        return true;
    const char *colon = strchr(text, ':');
    bool right = text[0] != '\0' && strcmp(text, ":") != 0;
    if (!colon) {
        right = right && part_read(text, strlen(text), suffixes, least);
        *most = *least;
    } else {
        if (colon > text)
            right = right && part_read(text, (size_t)(colon - text), suffixes, least);
        if (colon[1])
            right = right && part_read(colon + 1, strlen(colon + 1), suffixes, most);
    }
    if (right && (*most == 0 || *least <= *most))
        return true;
    error_set(error, ERROR_USAGE, "%s can't be '%s'", flag, text);
    return error_hint(error, suffixes == bytes ? "--size 1K:64K, --size :4096, --size 1M:"
                                               : "--age :1ms, --age 10s:, --age 1s:1m");
}

static unsigned word_of(const struct arguments *arguments, const char *flag, const char *words,
                        unsigned otherwise)
{
    const char *value = arguments_value(arguments, flag);
    unsigned index = 0;
    for (; value && *words; index++) {
        size_t length = strcspn(words, "|");
        if (strlen(value) == length && memcmp(words, value, length) == 0)
            return index;
        words += length + (words[length] == '|');
    }
    return otherwise;
}

bool load_view_options(struct loaded *loaded, const struct arguments *arguments,
                       struct error *error)
{
    struct view_options *view = &loaded->view;
    const char *metric = arguments_value(arguments, "--metric");
    view->type = loaded->profile.default_type;
    load_moment_type(loaded, arguments);
    view->by = (enum view_by)word_of(
        arguments, "--by", "site|function|line|file|module|address|thread|size", VIEW_SITE);
    view->frames = (enum view_frames)word_of(arguments, "--frames", "blame|leaf|all", VIEW_BLAME);
    view->show = arguments_value(arguments, "--show");
    view->hide = arguments_value(arguments, "--hide");
    view->from = arguments_value(arguments, "--from");
    view->prune = arguments_value(arguments, "--prune");
    view->module = arguments_value(arguments, "--module");
    view->tag_focus = arguments_value(arguments, "--tag-focus");
    view->tag_ignore = arguments_value(arguments, "--tag-ignore");
    view->no_inlines = arguments_value(arguments, "--no-inlines") != NULL;
    if (strncmp(loaded->profile.format, "jemalloc", 8) != 0) /* its reader has picked them */
        view->thread = arguments_value(arguments, "--thread");
    view->base = loaded->has_base ? &loaded->base : NULL;
    bool capture = strcmp(loaded->profile.format, reader_capture.name) == 0; /* or none ended */
    if (arguments_value(arguments, "--age") && !loaded->profile.samples.lives && !capture) {
        error_set(error, ERROR_USAGE, "%s does not say how long blocks lived", loaded->name);
        return error_hint(error, "memoir run -- ./program   records it; --age needs that");
    }
    int allocated = profile_type_named(&loaded->profile, "alloc_space");
    if (arguments_value(arguments, "--age") && allocated >= 0) /* blocks that have ended */
        view->type = (unsigned)allocated;
    return range_read(arguments, "--size", bytes, &view->size_least, &view->size_most, error) &&
           range_read(arguments, "--age", microseconds, &view->age_least_us, &view->age_most_us,
                      error) &&
           (!metric || load_metric(loaded, metric, error)) &&
           load_base_take(loaded, arguments, error);
}

bool load_view(struct view *view, const struct loaded *loaded, struct error *error)
{
    struct view_error reason = {""};
    const struct profile *profile = &loaded->profile;
    const char *type = loaded->view.type < profile->types
                           ? profile_text(profile, profile->type[loaded->view.type].name)
                           : "";
    if (loaded->has_base && loaded->base.types > 0 && profile_type_named(&loaded->base, type) < 0) {
        error_set(error, ERROR_USAGE, "%s has no metric '%s', so it can't be compared with %s",
                  loaded->base_name, type, loaded->name);
        return error_hint(error, "--metric picks a metric that both have");
    }
    if ((loaded->view.age_least_us > 0 || loaded->view.age_most_us > 0) &&
        strncmp(type, "alloc_", 6) != 0) {
        error_set(error, ERROR_USAGE,
                  "--age is the one at which blocks have ended, and '%s' has those that have not",
                  type);
        return error_hint(error, "--metric alloc or count; memoir churn has the short-lived ones");
    }
    progress_start("sorting", loaded->name);
    bool right = view_make(view, &loaded->profile, &loaded->view, &reason);
    progress_end();
    if (right)
        suggest_filters(loaded, view);
    return right || error_set(error, ERROR_USAGE, "%s", reason.text);
}

static struct style style_of(const struct arguments *arguments, const struct loaded *loaded)
{
    const char *rows = arguments_value(arguments, "--rows");
    struct style style = {
        .out = stdout,
        .format = arguments_value(arguments, "--json")  ? STYLE_JSON
                  : arguments_value(arguments, "--csv") ? STYLE_CSV
                                                        : STYLE_TEXT,
        .width = terminal_width(),
        .rows = rows ? (unsigned)strtoul(rows, NULL, 10) : 0,
        .color = terminal_colors(),
        .utf8 = terminal_utf8(),
        .links = terminal_links(),
        .fits = terminal_fits(),
        .verbose = arguments_value(arguments, "--verbose") != NULL,
        .by_total = word_of(arguments, "--sort", "self|total", 0) == 1,
        .name = loaded->name,
        .base_name = loaded->base_name,
    };
    if (rows && style.rows == 0)
        style.rows = UINT32_MAX;
    return style;
}

static bool ends_in(const char *text, const char *ending)
{
    size_t length = strlen(text), of = strlen(ending);
    return length > of && strcmp(text + length - of, ending) == 0;
}

bool load_open(struct style *style, const struct arguments *arguments, struct loaded *loaded,
               struct error *error)
{
    const char *output = arguments_value(arguments, "--output");
    if (output && strcmp(output, "-") == 0)
        output = NULL;
    *style = style_of(arguments, loaded);
    if (output && ends_in(output, ".json"))
        style->format = STYLE_JSON;
    else if (output && ends_in(output, ".csv"))
        style->format = STYLE_CSV;
    if (style->format == STYLE_CSV && !commands_answer(arguments->command->verb)->table) {
        error_set(error, ERROR_USAGE, "%s is no table, and has no CSV", arguments->command->verb);
        return error_hint(error, "--json has all its numbers");
    }
    if (output && picture_ending(output)) {
        error_set(error, ERROR_USAGE, "%s has no picture", arguments->command->verb);
        return error_hint(error, "memoir export draws: memoir export %s -o %s", loaded->name,
                          output);
    }
    if (!output) {
        if (style->format == STYLE_TEXT)
            terminal_page();
        style->out = style->format == STYLE_TEXT ? wrap_output() : stdout;
        if (style->out != stdout || !terminal_fits()) /* wrap_write ends it */
            progress_start("drawing", loaded->name);
        return true;
    }
    if (!output_start(&loaded->output, output, error))
        return error_hint(error, "-o FILE in a folder that is there and yours");
    style->color = style->links = style->fits = false;
    style->out = loaded->output.file;
    progress_start("drawing", loaded->name);
    return true;
}

bool load_close(struct style *style, struct loaded *loaded, bool whole, struct error *error)
{
    progress_end();
    if (loaded->output.file)
        return output_end(&loaded->output, whole, error);
    if (style->out != stdout)
        fclose(style->out); /* standard output is looked at in the end */
    return whole;
}

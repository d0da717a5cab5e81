/* SPDX-License-Identifier: MIT */
/* The verbs that are a profile, a view and one report: top, peak, ... */
#include "tool/arguments.h"
#include "tool/load.h"
#include "tool/picture.h"
#include "tool/suggest.h"
#include "tool/terminal.h"

#include <stdlib.h>
#include <string.h>

/* As much of a name as a shell takes for nothing else: what is printed may be copied. */
static void name_plain(char *text, size_t size, const char *name)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:.";
    name += name[0] == '~';
    snprintf(text, size, "%.*s", (int)strspn(name, plain), name);
}

/* The next commands, about the row that has the most. */
static void next_print(const struct loaded *loaded, const struct view *view, bool by_total)
{
    char text[1024], name[128] = "", file[256] = " ", other[256];
    size_t count;
    struct view_row *rows = view_rows(view, by_total, &count);
    if (load_word(loaded))
        suggest_quoted(file + 1, sizeof file - 1, load_word(loaded));
    else
        file[0] = '\0';
    if (rows && count > 0) {
        bool unnamed = view->unnamed > 0.05;
        if (view->options.by < VIEW_FILE)
            name_plain(name, sizeof name, view->frames[rows[0].frame].name);
        snprintf(text, sizeof text, "%s%s%s%s%smemoir tree%s%s%s", name[0] ? "memoir peek" : "",
                 name[0] ? file : "", name[0] ? " " : "", name, name[0] ? "      " : "", file,
                 unnamed ? "      memoir doctor " : "",
                 unnamed ? suggest_quoted(other, sizeof other, loaded->name) : "");
        terminal_next(text);
    }
    free(rows);
}

/* Loads, makes the view of a metric (NULL: as flags say), reports. */
static bool verb_report(const struct arguments *arguments, const char *metric,
                        void (*report)(const struct view *view, const struct style *style),
                        struct error *error)
{
    struct loaded loaded;
    struct view view = {0};
    struct style style;
    bool picture;
    if (!picture_asked(arguments, &picture, error))
        return false;
    bool right = load(&loaded, arguments, error);
    if (right && metric && !arguments_value(arguments, "--metric"))
        right = load_metric(&loaded, metric, error);
    else if (right)
        load_moment(&loaded, arguments);
    if (right && picture) {
        const char *path = arguments_value(arguments, "--output");
        right = picture_write(arguments, &loaded, path, !metric, error);
        load_free(&loaded);
        return right;
    }
    bool verbose = arguments_value(arguments, "--verbose") != NULL;
    bool json = arguments_value(arguments, "--json") || arguments_value(arguments, "--output");
    loaded.view.rows_only = report == report_top && !verbose && !json;
    loaded.view.apart =
        (report == report_top && (verbose || json)) || (report == report_traces && verbose);
    right = right && load_view(&view, &loaded, error);
    if (right && load_open(&style, arguments, &loaded, error)) {
        report(&view, &style);
        right = load_close(&style, &loaded, true, error);
        if (right && report == report_top && style.format == STYLE_TEXT)
            next_print(&loaded, &view, style.by_total);
    } else {
        right = false;
    }
    view_free(&view);
    load_free(&loaded);
    return right;
}

bool verb_top(const struct arguments *arguments, struct error *error)
{
    return verb_report(arguments, NULL, report_top, error);
}

bool verb_peak(const struct arguments *arguments, struct error *error)
{
    return verb_report(arguments, "peak", report_top, error);
}

bool verb_tree(const struct arguments *arguments, struct error *error)
{
    return verb_report(arguments, NULL, report_tree, error);
}

bool verb_traces(const struct arguments *arguments, struct error *error)
{
    return verb_report(arguments, NULL, report_traces, error);
}

bool verb_page(const struct arguments *arguments, struct error *error)
{
    return verb_report(arguments, NULL, report_page, error);
}

/* What a verb about one function answers. */
typedef bool function_answer(const struct view *view, const char *function,
                             const struct arguments *arguments, const struct style *style,
                             struct view_error *reason);

static bool answer_peek(const struct view *view, const char *function,
                        const struct arguments *arguments, const struct style *style,
                        struct view_error *reason)
{
    (void)arguments;
    return report_peek(view, function, style, reason);
}

static bool answer_list(const struct view *view, const char *function,
                        const struct arguments *arguments, const struct style *style,
                        struct view_error *reason)
{
    const char *folders = arguments_value(arguments, "--source-path");
    return report_list(view, function, folders, style, reason);
}

static bool verb_function(const struct arguments *arguments, function_answer *answer,
                          enum view_by by, struct error *error)
{
    const char *verb = arguments->command->verb;
    struct loaded loaded;
    struct view view = {0};
    struct style style;
    struct view_error reason = {""};
    bool right = load(&loaded, arguments, error);
    if (right && !loaded.rest[0]) {
        error_set(error, ERROR_USAGE, "%s needs a function", verb);
        right = error_hint(error, "memoir %s %s main", verb, loaded.name);
    }
    if (right)
        load_moment(&loaded, arguments);
    if (by == VIEW_SITE || !arguments_value(arguments, "--by")) /* sites: whatever the flags say */
        loaded.view.by = by;
    right = right && load_view(&view, &loaded, error);
    if (right && load_open(&style, arguments, &loaded, error)) {
        right = answer(&view, loaded.rest[0], arguments, &style, &reason) ||
                suggest_refuse(&loaded, reason.text, error);
        right = load_close(&style, &loaded, right, error);
    } else {
        right = false;
    }
    view_free(&view);
    load_free(&loaded);
    return right;
}

bool verb_peek(const struct arguments *arguments, struct error *error)
{
    return verb_function(arguments, answer_peek, VIEW_FUNCTION, error);
}

bool verb_list(const struct arguments *arguments, struct error *error)
{
    if (arguments_value(arguments, "--asm"))
        return verb_disasm(arguments, error);
    return verb_function(arguments, answer_list, VIEW_SITE, error);
}

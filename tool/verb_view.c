/* SPDX-License-Identifier: MIT */
/* The verbs that are a profile, a view and one report: top, peak, ... */
#include "tool/arguments.h"
#include "tool/load.h"
#include "tool/terminal.h"

/* Loads, makes the view of a metric (NULL: as flags say), reports. */
static bool verb_report(const struct arguments *arguments, const char *metric,
                        void (*report)(const struct view *view, const struct style *style),
                        struct error *error)
{
    struct loaded loaded;
    struct view view = {0};
    struct style style;
    bool right = load(&loaded, arguments, error) &&
                 (!metric || arguments_value(arguments, "--metric") ||
                  load_metric(&loaded, metric, error)) &&
                 load_view(&view, &loaded, error);
    if (right && load_open(&style, arguments, &loaded, error)) {
        report(&view, &style);
        right = load_close(&style, arguments, error);
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

bool verb_peek(const struct arguments *arguments, struct error *error)
{
    struct loaded loaded;
    struct view view = {0};
    struct style style;
    struct view_error reason;
    bool right = load(&loaded, arguments, error);
    if (right && !loaded.rest[0]) {
        error_set(error, ERROR_USAGE, "peek needs a function");
        right = error_hint(error, "memoir peek %s main", loaded.name);
    }
    right = right && load_view(&view, &loaded, error);
    if (right && load_open(&style, arguments, &loaded, error)) {
        right = report_peek(&view, loaded.rest[0], &style, &reason) ||
                error_set(error, ERROR_INPUT, "%s", reason.text);
        right = load_close(&style, arguments, error) && right;
    } else {
        right = false;
    }
    view_free(&view);
    load_free(&loaded);
    return right;
}

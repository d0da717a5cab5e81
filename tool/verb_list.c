/* SPDX-License-Identifier: MIT */
/* `memoir list`: source with numbers. */
#include "tool/arguments.h"
#include "tool/load.h"
#include "tool/suggest.h"

bool verb_list(const struct arguments *arguments, struct error *error)
{
    struct loaded loaded;
    struct view view = {0};
    struct style style;
    struct view_error reason = {""};
    bool right = load(&loaded, arguments, error);
    if (right && !loaded.rest[0]) {
        error_set(error, ERROR_USAGE, "list needs a function");
        right = error_hint(error, "memoir list %s main", loaded.name);
    }
    if (right)
        load_moment(&loaded, arguments);
    loaded.view.by = VIEW_SITE; /* lines of functions, whatever the flags say */
    right = right && load_view(&view, &loaded, error);
    if (right && load_open(&style, arguments, &loaded, error)) {
        right = report_list(&view, loaded.rest[0], arguments_value(arguments, "--source-path"),
                            &style, &reason) ||
                suggest_refuse(&loaded, reason.text, error);
        right = load_close(&style, arguments, error) && right;
    } else {
        right = false;
    }
    view_free(&view);
    load_free(&loaded);
    return right;
}

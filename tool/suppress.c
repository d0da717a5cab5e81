/* SPDX-License-Identifier: MIT */
/* See tool/suppress.h. */
#include "tool/suppress.h"

#include <stdlib.h>

bool suppress_read(struct suppressions **suppressions, const struct arguments *arguments,
                   struct error *error)
{
    const char *path = arguments_value(arguments, FLAG_SUPPRESSIONS);
    struct view_error reason = {.text = ""};
    *suppressions = suppressions_new();
    if (!*suppressions)
        return error_memory(error);
    if (!path)
        return true;
    char *text = text_file_read(path, error);
    bool ok = text != NULL;
    if (ok && !suppressions_add(*suppressions, path, text, &reason))
        ok = error_set(error, ERROR_USAGE, "%s", reason.text);
    free(text);
    return ok;
}

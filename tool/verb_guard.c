/* SPDX-License-Identifier: MIT */
/* `memoir guard`: reports about guarded blocks, with names. */
#include <glob.h>

#include "tool/command/command.h"
#include "tool/record/record.h"

bool verb_guard(const struct arguments *arguments, struct error *error)
{
    bool as_json = arguments_value(arguments, FLAG_JSON);
    char **paths = arguments->operands;
    glob_t found = {0};
    bool ok = true;
    if (!paths[0]) {
        if (glob("memoir-guard-*.json", 0, NULL, &found) != 0) {
            error_set(error, ERROR_INPUT, "no report is named, and there is none in this folder");
            return error_hint(error, "memoir run --guard COMMAND makes reports and shows them");
        }
        paths = found.gl_pathv;
    }
    for (; ok && *paths; paths++)
        ok = guard_report_print(*paths, stdout, as_json, error);
    globfree(&found);
    return ok;
}

/* SPDX-License-Identifier: MIT */
/* Filling in an error. */
#include "tool/terminal/error.h"

#include <stdarg.h>
#include <stdio.h>

const char error_out_of_memory[] = "out of memory";

bool error_found(struct error *error)
{
    return error_set(error, ERROR_FOUND, "%s", "");
}

bool error_set(struct error *error, enum error_status status, const char *format, ...)
{
    va_list list;
    error->status = status;
    error->code = 0;
    error->hint[0] = '\0';
    va_start(list, format);
    vsnprintf(error->text, sizeof error->text, format, list);
    va_end(list);
    return false;
}

bool error_memory(struct error *error)
{
    return error_set(error, ERROR_INPUT, "%s", error_out_of_memory);
}

bool error_hint(struct error *error, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(error->hint, sizeof error->hint, format, list);
    va_end(list);
    return false;
}

/* SPDX-License-Identifier: MIT */
/* See tool/profile/parse/read_input.h. */
#include "tool/profile/parse/read_input.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool read_refuse(struct read_error *error, uint64_t offset, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->reason, sizeof error->reason, format, arguments);
    va_end(arguments);
    error->offset = offset;
    return false;
}

bool read_refuse_at(struct read_error *error, const struct read_input *input, const char *at,
                    const char *reason)
{
    return read_refuse(error, (uint64_t)(at - input->bytes), "%s", reason);
}

bool read_lacks(struct read_error *error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->reason, sizeof error->reason, format, arguments);
    va_end(arguments);
    error->offset = 0;
    error->asked = true;
    return false;
}

bool read_time(const char *text, uint64_t *time_ms)
{
    static const struct {
        const char *name;
        double ms;
    } units[] = {{"ms", 1}, {"s", 1000}, {"min", 60000}, {"m", 60000}, {"h", 3600000}};
    double sum = 0;
    if (*text == '\0')
        return false;
    while (*text != '\0') {
        char *end;
        if (!isdigit((unsigned char)*text))
            return false;
        double number = strtod(text, &end);
        size_t unit = 0, count = sizeof units / sizeof *units;
        while (unit < count && strncmp(end, units[unit].name, strlen(units[unit].name)) != 0)
            unit++;
        if (unit == count)
            return false;
        sum += number * units[unit].ms;
        text = end + strlen(units[unit].name);
    }
    *time_ms = sum < 1e15 ? (uint64_t)sum : UINT64_C(1000000000000000);
    return true;
}

enum read_moment read_moment(const char *at, uint64_t *value)
{
    *value = 0;
    if (!at || *at == '\0' || strcmp(at, "end") == 0)
        return MOMENT_END;
    if (strcmp(at, "peak") == 0)
        return MOMENT_PEAK;
    if (at[strspn(at, "0123456789")] == '\0') {
        *value = strtoull(at, NULL, 10);
        return MOMENT_NUMBER;
    }
    return read_time(at, value) ? MOMENT_TIME : MOMENT_UNKNOWN;
}

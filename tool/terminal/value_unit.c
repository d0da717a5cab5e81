/* SPDX-License-Identifier: MIT */
/* See tool/terminal/value_unit.h. */
#include "tool/terminal/value_unit.h"

#include <string.h>

static const struct {
    const char *name, *alias;
    double ns;
} rows[UNITS_COUNT] = {
    [UNIT_OTHER] = {"", "", 0},
    [UNIT_COUNT] = {"count", "", 0},
    [UNIT_INSTRUCTIONS] = {"instructions", "", 0},
    [UNIT_BYTES] = {"bytes", "byte", 0},
    [UNIT_NANOSECONDS] = {"nanoseconds", "ns", 1},
    [UNIT_MICROSECONDS] = {"microseconds", "us", 1e3},
    [UNIT_MILLISECONDS] = {"milliseconds", "ms", 1e6},
    [UNIT_SECONDS] = {"seconds", "s", 1e9},
    [UNIT_MINUTES] = {"minutes", "", 6e10},
};

const char *value_unit_name(enum value_unit unit)
{
    return rows[unit].name;
}

enum value_unit value_unit_find(const char *name)
{
    for (enum value_unit i = UNIT_OTHER + 1; i < UNITS_COUNT; i++)
        if (strcmp(name, rows[i].name) == 0 || (name[0] && strcmp(name, rows[i].alias) == 0))
            return i;
    return UNIT_OTHER;
}

double value_unit_ns(enum value_unit unit)
{
    return rows[unit].ns;
}

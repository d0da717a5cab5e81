/* SPDX-License-Identifier: MIT */
/* The units of numbers in profiles: ids, and the names that files have for them. */
#ifndef TERMINAL_VALUE_UNIT_H
#define TERMINAL_VALUE_UNIT_H

enum value_unit {
    UNIT_OTHER, /* a name that is no row of the table */
    UNIT_COUNT,
    UNIT_INSTRUCTIONS,
    UNIT_BYTES,
    UNIT_NANOSECONDS,
    UNIT_MICROSECONDS,
    UNIT_MILLISECONDS,
    UNIT_SECONDS,
    UNIT_MINUTES,
    UNITS_COUNT,
};

/* "bytes", as our own profiles have it; "" for UNIT_OTHER. */
const char *value_unit_name(enum value_unit unit);
/* Of "nanoseconds", and of its short name "ns". */
enum value_unit value_unit_find(const char *name);
/* Nanoseconds of a unit of time; 0: it is none. */
double value_unit_ns(enum value_unit unit);

#endif

/* SPDX-License-Identifier: MIT */
/* References of loaded libraries and of the program, turned from libc's functions to ours. */
#ifndef API_DEEPBIND_H
#define API_DEEPBIND_H

#include <stdbool.h>
#include <stddef.h>

struct binding {
    const char *name;
    void *ours;
    void *libcs; /* found when it is applied */
};

/* In everything that is loaded now but libc and ourselves. Not from under malloc. False, and
 * nothing is done, with a C library that does not allow it; not there in static programs. */
bool deepbind_apply(struct binding *rows, size_t count) __attribute__((weak));

#endif

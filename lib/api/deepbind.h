/* SPDX-License-Identifier: MIT */
/* Points references of the program and its libraries from libc's functions to ours. */
#ifndef API_DEEPBIND_H
#define API_DEEPBIND_H

#include <stdbool.h>
#include <stddef.h>

struct binding {
    const char *name;
    void *ours;
    void *libcs; /* filled in when the binding is applied */
};

/* In all loaded objects except libc and this library. Not from under malloc. False, without any
 * change, with a C library that does not allow it; absent in static programs. */
bool deepbind_apply(struct binding *rows, size_t count) __attribute__((weak));

#endif

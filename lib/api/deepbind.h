/* SPDX-License-Identifier: MIT */
/* Points references of the program and its libraries from libc's functions to ours. */
#ifndef API_DEEPBIND_H
#define API_DEEPBIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct binding {
    const char *name;
    void *ours;
    void *libcs; /* filled in when the binding is applied */
    /* A version of the symbol that is another function: references to it stay as they are. */
    const char *other_version;
};

/* In all loaded objects except libc and this library, and those that another thread is loading just
 * now. Not from under malloc. False, without any change, with a C library that does not allow it;
 * absent in static programs. */
bool deepbind_apply(struct binding *rows, size_t count) __attribute__((weak));
/* The same where `libcs` is filled in; rows without one are left out. */
bool deepbind_point(struct binding *rows, size_t count) __attribute__((weak));
/* The same without the loader, in the objects of `deepbind_remember` alone: also for threads that
 * libc does not know of. False also if there are none. */
bool deepbind_point_first(struct binding *rows, size_t count) __attribute__((weak));
/* At the program's start: how many objects there are, which are never unloaded. */
void deepbind_count(void) __attribute__((weak));
/* Later, by a thread that may ask the loader: notes where these are. Not if this library was itself
 * opened by the program. */
void deepbind_remember(void) __attribute__((weak));
/* Grows with each object that is loaded, and with each walk that had to leave one out. */
uint64_t deepbind_loads(void) __attribute__((weak));

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The object behind gperftools' property "tcmalloc.impl.testing-portal" (2.16 and later), which its
 * own test programs ask for what its headers do not tell: sizes, classes, flags that they change.
 */
#ifndef GPERFTOOLS_TESTING_PORTAL_H
#define GPERFTOOLS_TESTING_PORTAL_H

#include <stdbool.h>
#include <stddef.h>

/* True if the property is this one. The caller has room for the object's address in front of
 * `value`: so gperftools hands it over. */
bool testing_portal_get(const char *name, size_t *value);

/* Gives what the program has written to the flags to the allocator. Nothing to do, and cheap, in a
 * program that writes to none. */
void testing_portal_apply(void);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Variables of the environment that the process was started with, at a time when libc may not know
 * it yet. Nothing in setuid programs: there the environment is an attacker's.
 */
#ifndef API_ENVIRONMENT_H
#define API_ENVIRONMENT_H

/* The value, or NULL if there is none. It stays. */
const char *environment_get(const char *name);

#endif

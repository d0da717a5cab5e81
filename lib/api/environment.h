/* SPDX-License-Identifier: MIT */
/*
 * Variables of the environment that the process was started with, at a time when libc may not know
 * it yet. Nothing in setuid programs: there the environment is an attacker's.
 */
#ifndef API_ENVIRONMENT_H
#define API_ENVIRONMENT_H

/* The value, or NULL if there is none. It stays. */
const char *environment_get(const char *name);
/* From now until `environment_show`, nobody finds the variable: another allocator, which the
 * program is linked with and which is idle, must not act upon it as well. */
void environment_hide(const char *name);
void environment_show(void);
/* Adds "NAME=value", a text that stays, to what programs started by this one inherit. Allocates
 * nothing. Once libc is up and before the program runs. */
void environment_add(char *entry);

#endif

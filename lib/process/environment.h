/* SPDX-License-Identifier: MIT */
/*
 * Variables of the environment that the process was started with, even before libc knows it.
 * Nothing in setuid programs: there the environment may be an attacker's.
 */
#ifndef PROCESS_ENVIRONMENT_H
#define PROCESS_ENVIRONMENT_H

/* The value, or NULL if the variable is not set. It stays valid. */
const char *environment_get(const char *name);
/* Hides the variable until `environment_show`: another, idle allocator that the program is linked
 * with must not act upon it as well. */
void environment_hide(const char *name);
void environment_show(void);
/* Adds "NAME=value", a text that must stay valid, to what child programs inherit. Allocates
 * nothing. Called after libc is up and before the program runs. */
void environment_add(char *entry);

#endif

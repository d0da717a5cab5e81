/* SPDX-License-Identifier: MIT */
/*
 * Memory is out: the one place that remembers it. Lists, maps and arenas note it themselves; code
 * that calls malloc directly notes it where an answer becomes incomplete. The end of a command asks
 * (`output_whole`) and says "out of memory", so that a part of an answer never looks like all of
 * it, even if a function in between has swallowed the failure.
 */
#ifndef MEMORY_SHORTAGE_H
#define MEMORY_SHORTAGE_H

#include <stdbool.h>

void shortage_note(void);
bool shortage_is_noted(void);
/* The shell begins its next command. */
void shortage_forget(void);

#endif

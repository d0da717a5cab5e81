/* SPDX-License-Identifier: MIT */
/*
 * Whose memory this is. A child that was not made by libc's fork (the bare system call, clone with
 * a stack of its own) is noticed at its first slow call of malloc. It may call another function of
 * ours before, or have a malloc of its own inside and call none for long.
 */
#ifndef PROCESS_MEMORY_H
#define PROCESS_MEMORY_H

#include <stdbool.h>

#include "base/compiler.h"

/* Mends a forked child that was not noticed yet; lib/api sets it. NULL before. */
extern HIDDEN void (*memory_settle)(void);
/* Mends it, if it is one. May run in a signal handler: inside malloc it does nothing. */
void memory_look(void);
/* False in a child that runs in its parent's memory (vfork, CLONE_VM). Mends a forked one first. */
bool memory_is_own(void);

#endif

/* SPDX-License-Identifier: MIT */
/* Errors that the option guard.suppress wants no report about: by the functions and files in their
 * stacks. */
#ifndef GUARD_SUPPRESS_H
#define GUARD_SUPPRESS_H

#include <stdbool.h>
#include <stdint.h>

/* Whether there are any. */
bool suppress_any(void);
/* Whether a frame is one of them. `pc` is a return address, `module` the file that it is in;
 * `named`: there is room on the stack to look for its name. May run in a signal handler. */
bool suppress_fits(uintptr_t pc, const char *module, bool named);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Return addresses that no call left: the first byte of a function that a signal handler or a
 * coroutine returns to. All others are looked up one byte lower, since a call may be a function's
 * last instruction; these would get the name of the function before.
 */
#ifndef SYMBOL_ENTRY_H
#define SYMBOL_ENTRY_H

#include "tool/symbol/module.h"

/* Moves such addresses, in `wanted` and `owns`, to the first byte. Needs the file with the code. */
void entry_mend(struct module *module);

#endif

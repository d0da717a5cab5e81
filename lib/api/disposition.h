/* SPDX-License-Identifier: MIT */
/*
 * What a program learns of its signals' handlers. Programs ask what a signal does before they set
 * it: who finds a handler keeps it, and Ctrl-C would not raise KeyboardInterrupt. So sigaction and
 * its relatives are ours, and where `ending_handler` is in place they say SIG_DFL; a program that
 * sets SIG_DFL gets `ending_handler`. Everything else goes to libc's functions as it is.
 *
 * There is no record of what the program has set: the kernel's own is the only one, so that
 * children of vfork, which share our memory but not their parent's handlers, are right as well.
 */
#ifndef API_DISPOSITION_H
#define API_DISPOSITION_H

#include <stdbool.h>

/* Puts `ending_handler` in the place of SIG_DFL from now on, or takes it away. Nothing happens
 * where the program's sigaction is not ours. Weak: static programs do not have it. */
void disposition_hide(bool hidden) __attribute__((weak));

#endif

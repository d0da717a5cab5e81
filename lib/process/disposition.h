/* SPDX-License-Identifier: MIT */
/*
 * What a program sees of its signals' handlers. Programs ask for a signal's handler before they
 * install theirs: Python, for one, keeps a handler that it finds, and Ctrl-C would not raise
 * KeyboardInterrupt. So we wrap sigaction and its relatives: where `ending_handler` is installed
 * they answer SIG_DFL, and a program that sets SIG_DFL gets `ending_handler`. Everything else is
 * passed to libc unchanged.
 *
 * There is no record of what the program has set: the kernel's own is the only one, so that vfork
 * children, which share our memory but not their parent's handlers, get the right answer, too.
 */
#ifndef PROCESS_DISPOSITION_H
#define PROCESS_DISPOSITION_H

#include <stdbool.h>

/* Installs `ending_handler` in place of SIG_DFL from now on, or removes it. Does nothing if the
 * program's sigaction is not ours. Weak: absent in static programs. */
void disposition_hide(bool hidden) __attribute__((weak));

#endif

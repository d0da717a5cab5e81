/* SPDX-License-Identifier: MIT */
/*
 * SIGSEGV while blocks are guarded. A fault in the region of guarded blocks is reported; then the
 * program's own handler gets it, or the program dies by the same signal, in the faulting
 * instruction. All other faults pass through. What the program sets by sigaction and its relatives
 * is kept here (lib/process/disposition.c), and the kernel keeps our handler.
 */
#ifndef GUARD_FAULT_H
#define GUARD_FAULT_H

#include <stdbool.h>

struct sigaction;

/* Installs the handler. */
void fault_init(void);
/* Whether the kernel has our handler, so that the two below serve the program. */
bool fault_is_ours(int number);
/* What the program has set; and sets. */
void fault_get(struct sigaction *action);
void fault_set(const struct sigaction *action);

#endif

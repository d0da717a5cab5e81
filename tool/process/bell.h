/* SPDX-License-Identifier: MIT */
/* The bell of a process (base/attach_protocol.h), found and rung through its memory. */
#ifndef PROCESS_BELL_H
#define PROCESS_BELL_H

#include <stdbool.h>
#include <stddef.h>

#include "tool/process/proc.h"

/* The description of the library's note among these notes, ATTACH_NOTE_BELL bytes of it at least;
 * NULL if there is none. */
const char *bell_note(const char *notes, size_t size);
/* Looks for the bell of a process: sets its `bell`, `bell_reason` and `threadless`. `ring`: rings
 * it if it hangs. */
void bell_look(struct process *process, bool ring);

#endif

/* SPDX-License-Identifier: MIT */
/* Asking the library in another process; base/attach_protocol.h has the protocol. */
#ifndef PROCESS_ATTACH_CLIENT_H
#define PROCESS_ATTACH_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

#include "tool/process/proc.h"
#include "tool/terminal/terminal.h"

/* Why a process can't be asked, a few words; NULL if it can. */
const char *attach_refusal(const struct process *process);

/* Sends one line, with the descriptor `fd` or none (-1), and brings its answer, a string to free.
 * False: it could not be asked (the answer is NULL), or it refused: then the error has the answer's
 * first line and `code`, and the answer is to be freed, too. */
bool attach_ask(const struct process *process, const char *line, int fd, char **answer,
                struct error *error);

/* What stands behind `KEY:` in a line of such an answer, up to its end; NULL: no such line. */
const char *attach_fact(const char *answer, const char *key);

/* Removes this user's sockets without a listener: their processes were killed. */
void attach_sweep(void);

#endif

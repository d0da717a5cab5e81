/* SPDX-License-Identifier: MIT */
/* What verbs that ask a process share: which process, and the file that it is to write. */
#ifndef TOOL_VERB_CTL_H
#define TOOL_VERB_CTL_H

#include "tool/process/process.h"
#include "tool/terminal/terminal.h"

/* The process whose id the word is. */
bool ctl_process(const char *word, struct process *process, struct error *error);
/* A new file, for the process to write: with the rights of this user, and of no other name. `flags`
 * are more of open's. */
bool ctl_file(const char *path, int flags, int *fd, struct error *error);

#endif

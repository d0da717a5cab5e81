/* SPDX-License-Identifier: MIT */
/* One operand of a command into a profile: a file, a process, a URL. */
#ifndef PROCESS_INPUT_H
#define PROCESS_INPUT_H

#include "tool/profile/profile.h"
#include "tool/profile/read/read.h"
#include "tool/terminal/terminal.h"

enum input_kind { INPUT_NOTHING, INPUT_FILE, INPUT_PROGRAM, INPUT_PROCESS, INPUT_URL };
enum input_kind input_kind_of(const char *word);
struct input_options {
    struct read_options read;
    unsigned seconds; /* that a server should record for; 0: as it likes */
    bool add_up;      /* dumps of one process, too */
};
/* *pid is set if it is a process. */
bool input_read(struct profile *profile, const char *word, const struct input_options *options,
                int64_t *pid, struct error *error);
/* The newest capture in this folder, to be freed, or NULL. */
char *input_newest(void);
/* Why a word that was meant as a file is none. False, for `return input_missing(...)`. */
bool input_missing(const char *word, struct error *error);

#endif

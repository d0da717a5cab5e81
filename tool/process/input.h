/* SPDX-License-Identifier: MIT */
/* What a user names, as one profile: files of any format, processes by number, URLs. */
#ifndef PROCESS_INPUT_H
#define PROCESS_INPUT_H

#include "tool/profile/profile.h"
#include "tool/profile/read/read.h"
#include "tool/terminal/terminal.h"

enum input_kind { INPUT_NOTHING, INPUT_FILE, INPUT_PROGRAM, INPUT_PROCESS, INPUT_URL };
enum input_kind input_kind_of(const char *word);
struct input_options {
    struct read_options read;
    unsigned seconds; /* how long a server should record; 0: its default */
    bool add_up;      /* dumps of one process, too */
    const char *ask;  /* what a process is asked, with a file for the answer; NULL: its profile */
};
/* How long a scan for lost blocks makes the threads of a process stand still, before it is made.
 * False: there is no such process. */
bool input_scan_pause(const char *word, FILE *file, struct error *error);
/* What `count` words name, as one profile: moments of one process are its history, all else is
 * added up. *pid is set if one is a process. */
bool input_read_all(struct profile *profile, const char *const *inputs, size_t count,
                    const struct input_options *options, int64_t *pid, struct error *error);
/* "a.heap", or "a.heap and 3 more"; to be freed. */
char *input_name_of(const char *const *inputs, size_t count);
/* The newest capture in this folder, to be freed, or NULL. */
char *input_newest(void);
/* A word that was meant to be a file: it has a folder, or an ending that profiles have. */
bool input_looks_like_file(const char *word);
/* Why a word that was meant as a file is none. False, for `return input_missing(...)`. */
bool input_missing(const char *word, struct error *error);

#endif

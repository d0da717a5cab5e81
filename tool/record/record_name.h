/* SPDX-License-Identifier: MIT */
/* Names of recordings. They tell the program, the time of its end, its pid and its peak. */
#ifndef RECORD_NAME_H
#define RECORD_NAME_H

#include <stddef.h>

struct summary;

/* The name of the recording `from` with the program `program`, in `folder`. */
void record_name(const char *program, const struct summary *summary, const char *from,
                 const char *folder, const char *suffix, char *path, size_t size);

/* The name of a process's program, from its command line, in letters that any file may have. */
const char *record_name_program(const struct summary *summary, char *text, size_t size);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Running a program as if it had been started in our place: the terminal, signals and the way it
 * ends are its own.
 */
#ifndef PROCESS_CHILD_H
#define PROCESS_CHILD_H

#include "tool/terminal/terminal.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct child {
    pid_t pid;
    int status; /* as waitpid tells it */
    uint64_t time_ms;
    uint64_t rss_peak_bytes; /* of the largest of it and the children it waited for */
};

/* False: it could not be started. The error's status is right for a shell then. */
bool child_run(struct child *child, char **words, const char *path, struct error *error);
/* What execvp's errno means. Returns false. */
bool child_not_started(const char *path, int reason, struct error *error);
/* Ends this process as the child has ended, by its exit code or by its signal. */
_Noreturn void child_end_alike(const struct child *child);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Running a program as if it had been started in our place: the terminal, signals and the way it
 * ends are its own. Processes that it leaves running become our children (PR_SET_CHILD_SUBREAPER),
 * so that their end is seen, too.
 */
#ifndef PROCESS_CHILD_H
#define PROCESS_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tool/terminal/terminal.h"

/* A process that ended as our child. */
struct child_end {
    pid_t pid;
    int status; /* as waitpid tells it */
};

struct child {
    pid_t pid;
    int status;  /* as waitpid tells it */
    bool unseen; /* its end was not seen: `status` says nothing */
    uint64_t start_ms, time_ms;
    uint64_t rss_peak_bytes; /* of the largest of it and the children it waited for */
    sigset_t before;         /* the signals that were blocked before all were */
    struct child_end *ends;  /* of processes that it left running */
    size_t ends_count, ends_room;
};

/* Starts it and waits for its end. False: it could not be started; the error's status is right for
 * a shell then. All signals are blocked afterwards, until `child_release`. */
bool child_run(struct child *child, char **words, const char *path, struct error *error);
/* Starts it in a session of its own, without a terminal, and waits for nothing. */
bool child_detach(struct child *child, char **words, const char *path, struct error *error);
/* Stays until no process with the library is left of those that the program started. `announce` is
 * called once, when one of them goes on for longer than a moment. False: a signal of the terminal
 * asks us to leave them alone. Signals that processes send us are passed on to them. */
bool child_follow(struct child *child, void (*announce)(void *context, pid_t pid), void *context);
/* How a process ended, as far as we saw it: the child, or one that it left running. */
bool child_end_of(const struct child *child, pid_t pid, int *status);
/* Signals as they were before. */
void child_release(const struct child *child);
/* What execvp's errno means. Returns false. */
bool child_not_started(const char *path, int reason, struct error *error);
/* Ends this process as the child has ended, by its exit code or by its signal. */
_Noreturn void child_end_alike(const struct child *child);

#endif

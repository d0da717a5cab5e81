/* SPDX-License-Identifier: MIT */
/*
 * What the command is busy with, on standard error: nothing for the first 300 ms, then one line
 * that is rewritten ten times a second and erased at the end. Where standard error is no terminal,
 * a line in ten seconds at most. Nothing with --quiet.
 */
#ifndef TERMINAL_PROGRESS_H
#define TERMINAL_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* A phase begins: "reading", "symbols", ... and what it is about. Ends the one before. */
void progress_start(const char *phase, const char *what);
/* `what` may be NULL: as before. `all` 0: not known. May be called as often as one likes. */
void progress_update(const char *what, uint64_t done, uint64_t all);
/* Instead of progress_update: the thread that draws asks this function. The phase
 * may change; false: not known. */
void progress_ask(bool (*ask)(const char **phase, uint64_t *done, uint64_t *all));
void progress_end(void);

#endif

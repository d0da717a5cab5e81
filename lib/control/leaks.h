/* SPDX-License-Identifier: MIT */
/* Scans for lost blocks (lib/leak): at the end of the program, and on request. */
#ifndef CONTROL_LEAKS_H
#define CONTROL_LEAKS_H

#include <stdbool.h>

#include "lib/leak/leak.h"

/* What memoir's own scans ask for: the options leak.*. */
struct leak_request leaks_request(void);
/* Makes a scan now, while the calling thread waits, and waits for one that another thread makes.
 * NULL if it could not be made; otherwise it stays until `leak_last_end`. */
const struct leak_scan *leaks_find(const struct leak_request *request);
/* Why there is none, for people. */
const char *leaks_refusal(void);
/* Prints a line, once, about threads that the scan could not stop. For reports of lost blocks in
 * forms that have no place for it. */
void leaks_tell_silent(const struct leak_scan *scan);
/* The program ends, by the thread `here`, which stays until then. With the option leak.at_exit the
 * result is part of the last snapshot. */
void leaks_exit(const struct roots_thread *here);

#endif

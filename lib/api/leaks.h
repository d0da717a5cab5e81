/* SPDX-License-Identifier: MIT */
/* Scans for lost blocks (lib/leak): at the end of the program, and on request. */
#ifndef API_LEAKS_H
#define API_LEAKS_H

#include <stdbool.h>

/* Makes one now, while the calling thread waits; `leak_last` has the result. Not by a thread of
 * ours. False if it could not be made. */
bool leaks_scan(void);
/* The program ends. With the option leak.at_exit the result is part of the last snapshot. */
void leaks_exit(void);

#endif

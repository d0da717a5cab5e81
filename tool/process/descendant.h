/* SPDX-License-Identifier: MIT */
/* The processes below this one, as /proc lists them. */
#ifndef PROCESS_DESCENDANT_H
#define PROCESS_DESCENDANT_H

#include <sys/types.h>

/* A living process below this one that has the library in it: `last` if it is one, so that the
 * others are looked at only when that has ended; 0: none. */
pid_t descendant_with_library(pid_t last);

#endif

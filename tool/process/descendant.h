/* SPDX-License-Identifier: MIT */
/* The processes below this one, as /proc lists them. */
#ifndef PROCESS_DESCENDANT_H
#define PROCESS_DESCENDANT_H

#include <stdbool.h>
#include <sys/types.h>

/* A living process below this one that has the library in it: `last` if it is one, so that the
 * others are looked at only when that has ended; 0: none. Then *starting says whether one has begun
 * another program whose loader has loaded nothing yet: the library may come. */
pid_t descendant_with_library(pid_t last, bool *starting);
/* Whether the kernel takes a process below this one down: while its memory goes back, it has no
 * library any more, but still its files. */
bool descendant_is_exiting(void);

#endif

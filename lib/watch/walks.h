/* SPDX-License-Identifier: MIT */
/*
 * Places for walks. A walk needs some kilobytes, which the stack of a signal handler may not have.
 * A thread that comes again gets the place that it had last, if that is free, and its next walk
 * takes over what did not change. No lock, no allocation: made for signal handlers.
 */
#ifndef WATCH_WALKS_H
#define WATCH_WALKS_H

#include <stdint.h>

#include "lib/watch/unwind.h"

enum { WALKS_UNOWNED = 0 };

/* `owner`: a number of the thread that walks, which no other thread ever has; WALKS_UNOWNED:
 * nothing is taken over. `own`: what the thread knows of its stack. NULL: all places are taken. */
struct walk *walks_take(uint32_t owner, const struct own_stack *own);
void walks_give(struct walk *walk);
/* In a forked child: handlers of threads that stayed behind had some. */
void walks_forked(void);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * We can't be unloaded: signal handlers, timers and threads lead to us until the process ends.
 * libmemoir.so says so itself (-z nodelete); a library that is linked with libmemoir.a does not.
 */
#ifndef PROCESS_STAY_H
#define PROCESS_STAY_H

/* In our constructor: dlclose of the library that we are part of leaves it in memory. */
void stay_loaded(void);

#endif

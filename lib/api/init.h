/* SPDX-License-Identifier: MIT */
/* What starts and ends the library. */
#ifndef API_INIT_H
#define API_INIT_H

#include <stdbool.h>

#include "base/compiler.h"

/* Starts the library if it is not up; false if that failed or is under way in this very thread. Any
 * number of threads may call it at any time. */
bool init_done_slow(void);
extern HIDDEN bool init_ready;
INLINE bool init_done(void)
{
    return likely(load_acquire(&init_ready)) || init_done_slow();
}
/* A face will make a scan for lost blocks, so that all blocks must be where the scan looks. Set
 * before the heap starts. */
extern HIDDEN bool init_expects_scan;
/* Tells libc that this thread has a heap to give back at its end. */
void init_thread(void *heap);
/* The calling thread's end will be noticed though it has no heap. */
void init_thread_watch(void);
/* At the start: whether the program has C++ operators of its own (lib/api/cxx.c). */
void cxx_find_operators(void);

#endif

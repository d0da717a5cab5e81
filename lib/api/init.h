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

/* What this room asks of those above it: control (lib/control), and the faces of other allocators
 * (lib/faces), which change nothing unless the program uses them. */

/* The allocator is up, and this thread holds no lock: applies the options. */
void control_init(void);

/* `config` is loaded and nothing else is up: reads variables and options and changes `config`. */
void faces_init(void);
/* The allocator is up, and this thread holds no lock: sets up dumps. */
void faces_ready(void);
/* The program ends: makes the last dumps and reports. May not return. */
void faces_exit(void);
/* The program has loaded an object. */
void faces_loaded(void);

#endif

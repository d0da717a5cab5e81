/* SPDX-License-Identifier: MIT */
/*
 * Waits for locks are counted while this is on (lib/cpu/waits.h). No function of ours has the name
 * of one of libc's: while it is on, the references of the program and its libraries to mutexes,
 * rwlocks and condition variables point here (lib/api/deepbind.h); off, they point to libc.
 */
#ifndef API_LOCKS_H
#define API_LOCKS_H

/* Returns 0, or ENOSYS: a static program, or a C library whose loader does not allow it. Not to be
 * called under malloc.
 *
 * The helper of lib/process/attach.c may call it, too, although libc does not know that thread:
 * references of libraries that the program opened then follow at the next `locks_loaded`. There it
 * returns EAGAIN if the program has threads and none of them is from pthread_create. */
int locks_start(void);
void locks_stop(void);
/* In a thread of the program, where the loader may be asked: redirects the references of objects
 * that were loaded since. Cheap if there are none. */
void locks_loaded(void);
/* The program starts a thread: finds libc's functions, for the helper, and does what `locks_loaded`
 * does. Absent where thread_start.c is alone. */
void locks_prepare(void) __attribute__((weak));

#endif

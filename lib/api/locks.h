/* SPDX-License-Identifier: MIT */
/*
 * Waits for locks are counted while this is on (lib/cpu/waits.h). No function of ours has the name
 * of one of libc's: while it is on, the references of the program and its libraries to mutexes,
 * rwlocks and condition variables point here (lib/api/deepbind.h); off, they point to libc.
 */
#ifndef API_LOCKS_H
#define API_LOCKS_H

/* 0, or ENOSYS: a static program, or a C library whose loader does not allow it; or EAGAIN: in such
 * a thread as follows, if the program has threads and none is from pthread_create. Not from under
 * malloc. In a thread that libc does not know of (the helper of lib/process/attach.c), references
 * of libraries that the program opened follow at the next `locks_loaded`. */
int locks_start(void);
void locks_stop(void);
/* In a thread of the program, where the loader may be asked: something was loaded, perhaps, and its
 * references are redirected, too. Cheap if nothing was. */
void locks_loaded(void);
/* The program starts a thread: finds libc's functions, for the helper, and does what `locks_loaded`
 * does. Absent where thread_start.c is alone. */
void locks_prepare(void) __attribute__((weak));

#endif

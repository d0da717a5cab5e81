/* SPDX-License-Identifier: MIT */
/*
 * All threads of the program stand still for a moment, with their registers noted. Each is
 * interrupted (lib/watch/interrupt.h) and waits in the handler until it is released, or until
 * nothing was heard of the thread that stops them for STOP_MAX_MS: a scan that dies must not stop
 * the program for ever. If they do not all stand still within STOP_ALL_MS, there is no scan.
 *
 * A thread that blocks the signal is sent the one that libc keeps for itself, if it waits in a call
 * that goes on after it. One that blocks that, too, or that the kernel does not let go, does not
 * answer. Of such a *silent* thread the kernel tells the stack pointer while it waits in a system
 * call; its registers are not known.
 */
#ifndef LEAK_STOP_H
#define LEAK_STOP_H

#include "lib/leak/roots.h"

/* A stopped thread goes on by itself after STOP_MAX_MS without a sign of the scan, and a stop is
 * extended up to STOP_ALL_MS: a scan that dies must not leave the program standing. */
enum { STOP_MAX_MS = 5000, STOP_ALL_MS = 10000 };

enum stop_outcome {
    STOP_DONE,
    STOP_IMPOSSIBLE, /* memory is out, or there is no list of threads */
    STOP_TOO_SLOW,   /* more threads are ready to run than the machine has turns for */
};

struct stop {
    struct roots_thread *threads; /* those that stand still, and silent ones whose sp is known */
    unsigned count, room;
    const void *places; /* where they note that: not memory of the program either */
    size_t places_room;
    unsigned silent;   /* did not answer */
    unsigned unknown;  /* of them: not even their stack pointer is known */
    uint64_t since_ns; /* they have stood still for that long, the first of them */
};

/* To be called by a thread of ours (base/os_thread.h), whose descriptors are not the program's.
 * Whatever it returns, `stop_release` and `stop_free` are to be called. */
enum stop_outcome stop_threads(struct stop *stop);
/* They wait for longer than STOP_MAX_MS: until now and `ms`. */
void stop_extend(unsigned ms);
/* Whether none of them has gone on by itself. */
bool stop_holds(void);
/* They go on. */
void stop_release(void);
/* Gives the list of threads back. */
void stop_free(struct stop *stop);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * System calls for which the program's seccomp filter would end the process. An installed filter
 * can't be queried, and trying a call would be deadly; so a filter is judged before it is
 * installed, by running it on the calls that we make (lib/process/sandbox.c). From then on,
 * whatever needs a deadly call is not done. Filters that refuse with an errno value deny nothing
 * here.
 *
 * Calls that the allocator can't do without (mmap, futex, getpid and so on) are not judged.
 */
#ifndef BASE_CONFINE_H
#define BASE_CONFINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arch.h"
#include "base/compiler.h"

/* What can be denied. */
enum confine {
    CONFINE_THREADS = 1,     /* asking whether a thread exists */
    CONFINE_NAMES = 2,       /* the names of threads */
    CONFINE_NODE = 4,        /* the memory node of a thread */
    CONFINE_MESSAGES = 8,    /* lines on standard error */
    CONFINE_OPEN = 16,       /* reading a file */
    CONFINE_FILES = 32,      /* dumps and captures */
    CONFINE_CONTROL = 64,    /* control from outside */
    CONFINE_ENDING = 128,    /* the last snapshot when a signal ends the program */
    CONFINE_CPU = 256,       /* the CPU profile */
    CONFINE_GROW = 512,      /* a longer recorder file */
    CONFINE_LEAKS = 1024,    /* scans for lost blocks */
    CONFINE_HURRY = 2048,    /* a thread of ours runs before the program's */
    CONFINE_EVENTS = 4096,   /* clocks of the CPU profile that ring more often than the tick */
    CONFINE_WRITTEN = 8192,  /* which pages the program writes to */
    CONFINE_SIGNALS = 16384, /* which signals wait, and what handlers they have */
    CONFINE_WAITS = 32768,   /* waits that begin again: calls that take a mask of signals */
    CONFINE_PAGES = 131072,  /* opening and closing pages, of guarded and hardened blocks */
    CONFINE_ALL = 65535 | CONFINE_PAGES,
    /* Reading the processor's time stamp counter, which no filter can deny, but seccomp's strict
     * mode does, and prctl(PR_SET_TSC). */
    CONFINE_CLOCK = 65536,
};

extern HIDDEN uint32_t confine_denied; /* a sum of these */

INLINE bool confined(enum confine what)
{
    return unlikely(load_relaxed(&confine_denied) & (uint32_t)what);
}

/* The processor's ticks; where they are denied, those of the moment before. */
extern HIDDEN uint64_t confine_ticks_last;
INLINE uint64_t confine_ticks(void)
{
    return confined(CONFINE_CLOCK) ? load_relaxed(&confine_ticks_last) : arch_ticks();
}

/* What a filter denies: a struct sock_fprog at that address, which may be invalid. A filter that
 * the kernel will reject denies nothing. */
uint32_t confine_judge(uintptr_t program);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * System calls that a seccomp filter of the program answers by ending it. A filter can't be asked
 * once it is in force, and every way to learn of it is a system call, too; so it is judged before,
 * by running it on the calls that we make (lib/api/sandbox.c). What needs a deadly call is left
 * undone from then on. Filters that refuse with an errno value deny nothing here.
 *
 * What the allocator can't do without (mmap, futex, getpid and so on) is not judged.
 */
#ifndef BASE_CONFINE_H
#define BASE_CONFINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

/* What can be denied. */
enum confine {
    CONFINE_THREADS = 1,  /* asking whether a thread exists */
    CONFINE_NAMES = 2,    /* the names of threads */
    CONFINE_NODE = 4,     /* the memory node of a thread */
    CONFINE_MESSAGES = 8, /* lines on standard error */
    CONFINE_OPEN = 16,    /* reading a file */
    CONFINE_FILES = 32,   /* dumps and captures */
    CONFINE_CONTROL = 64, /* control from outside */
    CONFINE_ENDING = 128, /* the last snapshot when a signal ends the program */
    CONFINE_ALL = 255,
};

extern HIDDEN uint32_t confine_denied; /* a sum of these */

INLINE bool confined(enum confine what)
{
    return unlikely(load_relaxed(&confine_denied) & (uint32_t)what);
}

/* What a filter denies: a struct sock_fprog at that address, wherever it may point. What the kernel
 * will refuse denies nothing. */
uint32_t confine_judge(uintptr_t program);

#endif

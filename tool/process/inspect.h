/* SPDX-License-Identifier: MIT */
/*
 * Whether a library can be preloaded into a program, from its file alone. Reads any bytes: what is
 * not understood is "fine", because the kernel will say better what is wrong with it.
 */
#ifndef PROCESS_INSPECT_H
#define PROCESS_INSPECT_H

#include <limits.h>
#include <stdbool.h>

enum inspect_verdict {
    INSPECT_FINE,
    INSPECT_STATIC,  /* no loader runs, nothing can be preloaded */
    INSPECT_SECURE,  /* setuid, setgid or capabilities: the loader ignores LD_PRELOAD */
    INSPECT_MACHINE, /* another machine or word size than ours */
    INSPECT_LOADER,  /* another C library than ours */
};

struct inspection {
    enum inspect_verdict verdict;
    bool linked;           /* it has the library in it: nothing need be preloaded */
    char file[PATH_MAX];   /* what was judged: for a script, its interpreter */
    char loader[PATH_MAX]; /* its loader, or "" */
};

void inspect_program(struct inspection *inspection, const char *path);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * What is said about one error with a guarded block: lines on standard error with addresses and
 * their files, and the same as a JSON file, which `memoir guard` shows with names. Made where the
 * error was found, maybe in a signal handler: no allocation, no lock of libc's.
 */
#ifndef GUARD_REPORT_H
#define GUARD_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/guard/debug.h"

struct cell;
struct walk;

enum guard_error {
    GUARD_OVERFLOW,       /* access behind a live block */
    GUARD_UNDERFLOW,      /* access before one */
    GUARD_USE_AFTER_FREE, /* access to a freed one */
    GUARD_WILD,           /* access to the region, where no block is */
    GUARD_DAMAGE,         /* the bytes around a block were changed */
    GUARD_DOUBLE_FREE,
    GUARD_FREED,    /* realloc or malloc_usable_size of a freed block */
    GUARD_INTERIOR, /* free of an address inside of a block */
    GUARD_NEVER,    /* free of an address of the region that no block began at */
    GUARD_MIXED,    /* free of what new allocated, and the like */
    GUARD_SIZE,     /* delete with another size */
    GUARD_WRITTEN,  /* a freed block was changed: found when it left the queue */
    GUARD_ERRORS
};

struct guard_report {
    enum guard_error error;
    uintptr_t address; /* that was accessed, freed, or found changed */
    int wrote;         /* 1: by a write; 0: by a read; -1: not known, or no access */
    const struct cell *cell;
    const char *call;         /* the function that was called, for errors of frees */
    unsigned family;          /* and its family */
    size_t size;              /* GUARD_SIZE: that was told */
    struct debug_place place; /* GUARD_WRITTEN: the allocator's block */
    const struct walk *now;   /* the stack of the error; NULL: not known */
    uint32_t thread;
    bool again; /* it was the last one, too: not said twice, but guard.suppress is asked */
    bool ends;  /* the program can't go on: guard.suppress is not asked */
};

/* Says it, one thread at a time. False: the option guard.suppress wants the program to go on. */
bool report_make(const struct guard_report *report);
/* How many errors there were, and how many of them were not reported for that option. */
struct report_counts {
    uint64_t errors, suppressed;
};
struct report_counts report_counts(void);
/* What the program calls the functions of a family: those that allocate, those that free. */
const char *report_family(unsigned family, bool frees);
/* Whether the calling thread's stack has room to look for names of functions, which takes much of
 * it: an alternate one may be too small. */
bool report_may_name(void);
/* In a forked child. */
void report_forked(void);

#endif

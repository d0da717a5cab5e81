/* SPDX-License-Identifier: MIT */
/* How names are looked for, and how good those are that were found. */
#ifndef SYMBOL_SYMBOL_OPTIONS_H
#define SYMBOL_SYMBOL_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct symbol_options {
    const char *program;    /* the main program's file, if the user named one */
    const char *sysroot;    /* stands before all paths; NULL: none */
    const char *debug_path; /* further folders with debug files, joined by ':' */
    int64_t pid;            /* a live process, whose files are seen through /proc; 0: none */
    bool fetch;             /* ask debuginfod */
    bool no_cache;
    bool no_inlines;
    bool again; /* also locations that have names already */
    /* Called now and then from the calling thread; `done` of `all` addresses. May be NULL. */
    void (*progress)(void *context, const char *module, uint64_t done, uint64_t all);
    void *context;
};

enum symbol_quality {
    SYMBOL_NOTHING,  /* no file */
    SYMBOL_MISMATCH, /* a file, but of another build */
    SYMBOL_EXPORTS,  /* .dynsym alone: names are guesses between exported ones */
    SYMBOL_TABLE,    /* .symtab: functions, no lines */
    SYMBOL_FULL,     /* DWARF */
    SYMBOL_GIVEN,    /* the profile brought its names */
};

/* How asking debuginfod went. */
enum symbol_fetch {
    SYMBOL_FETCH_FINE,
    SYMBOL_FETCH_LATE, /* it did not answer in time; what came after was not asked for */
    SYMBOL_FETCH_NO_LIBRARY,
};

#endif

/* SPDX-License-Identifier: MIT */
/*
 * What is loaded where, by the loader's own list of objects: for processes that see no /proc, as in
 * a bare chroot. Code that was generated at run time is not in the list. No lock, no call of the
 * loader; may run in a signal handler. The list may change while it is read, so every address is
 * tested before it is read.
 */
#ifndef BASE_LOADED_H
#define BASE_LOADED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LOADED_PATH = 4096 };

struct loaded {
    uintptr_t next;        /* entry of the loader's list; 0: it has ended */
    unsigned stage;        /* what comes next: the program, the list, the vdso */
    unsigned count;        /* objects so far; bounds a circular list */
    uintptr_t base, parts; /* of the object: what is added to its addresses; program headers */
    unsigned parts_left;
    char path[LOADED_PATH]; /* of the object */
};

/* A part of an object that is loaded. */
struct loaded_part {
    uint64_t start, end, offset, object; /* whole pages; a number for all parts of one object */
    bool readable, writable, executable;
};

void loaded_start(struct loaded *loaded);
bool loaded_next(struct loaded *loaded, struct loaded_part *part);

/* The program's file, as it was started; remembers the working directory of the first call, which
 * should come early. `path` has LOADED_PATH bytes. Returns the length; 0: not known. */
size_t loaded_program(char *path);

#endif

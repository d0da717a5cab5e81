/* SPDX-License-Identifier: MIT */
/*
 * The code that a return address leads to, and its row of the unwind tables.
 *
 * A call may be a function's last instruction; its return address is then the first byte of the
 * next function. So the row is that of the byte before the return address. Two kinds of return
 * addresses are *exact* instead, since no call put them there: that of a signal handler, and the
 * first byte of a function that code without a call returns to (makecontext, coroutines).
 */
#ifndef WATCH_CODE_H
#define WATCH_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cfi.h"

struct code {
    uintptr_t at;       /* the byte that `row` is for: the return address, or the byte before */
    bool object;        /* it belongs to a loaded object */
    bool known;         /* `row` is filled in */
    bool signal;        /* a signal handler returns to it */
    struct cfi_row row; /* not set for the return of a signal handler, which has no row */
};

/* `interrupted`: `pc` is the address of an interrupted instruction plus one (unwind.h). May run in
 * a signal handler. Cost: a few searches and one or two system calls. */
void code_find(uintptr_t pc, bool interrupted, struct code *code);
/* The function that is called by the code before a return address; 0: it is not known. */
uintptr_t code_called(uintptr_t pc);

#endif

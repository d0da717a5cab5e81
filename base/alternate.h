/* SPDX-License-Identifier: MIT */
/*
 * Alternate signal stacks that our handlers can't use. They run on the alternate stack, for the
 * sake of programs with coroutines. But the constant that old programs use for its size
 * (MINSIGSTKSZ, 2048) is less than the registers of a newer CPU take, and then the kernel ends the
 * program. And a program may give one stack to all of its threads, if only fatal signals are to use
 * it (varnishd does): handlers of ours in two threads would write over each other. From the first
 * such stack on, our handlers run on the ordinary one.
 */
#ifndef BASE_ALTERNATE_H
#define BASE_ALTERNATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* SA_ONSTACK or 0, for a handler of ours that is about to be installed; it is remembered. */
int alternate_flag(const void *handler);
/* The calling thread, which blocks all signals, now has this alternate stack; size 0: none. */
void alternate_look(uintptr_t low, size_t size);
/* Whether a thread has had an alternate stack on which a handler of the program's may leave no room
 * for one of ours that interrupts it: the one for libc's signal, which no handler blocks. */
bool alternate_small(void);
/* Where the calling thread's begins, as `alternate_look` was told; 0: it has none. */
uintptr_t alternate_low(void);
/* The memory of a stack at `low` goes: if it is another thread's, no handler of ours uses such
 * stacks from now on. */
void alternate_end(uintptr_t low);
/* Whether `bytes` are free below `sp`, if it is on the thread's alternate stack. Takes a system
 * call in static programs only, where sigaltstack is not wrapped. */
bool alternate_has(uintptr_t sp, size_t bytes);
/* The bytes of the thread's alternate stack below `sp`; ALTERNATE_NONE if `sp` is not on it. One
 * system call. */
static const size_t ALTERNATE_NONE = SIZE_MAX;
size_t alternate_room(uintptr_t sp);

#endif

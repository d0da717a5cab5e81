/* SPDX-License-Identifier: MIT */
/*
 * Alternate stacks for signals that are too small for our handlers. They run there if there is one,
 * for the sake of programs with coroutines; but the constant that old programs take for its size
 * (MINSIGSTKSZ, 2048) holds less than the registers of a newer machine, and then the kernel ends
 * the program. From the first such stack on, our handlers run on the ordinary one.
 */
#ifndef BASE_ALTERNATE_H
#define BASE_ALTERNATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* SA_ONSTACK or 0, for a handler of ours that is about to be set; it is remembered. */
int alternate_flag(const void *handler);
/* The calling thread has this alternate stack now; size 0: none. */
void alternate_look(uintptr_t low, size_t size);
/* Whether there are so many bytes below `sp`, if it is on the thread's alternate stack. A system
 * call only in static programs, whose stacks nobody tells us. */
bool alternate_has(uintptr_t sp, size_t bytes);
/* The bytes of the thread's alternate stack below `sp`; ALTERNATE_NONE if `sp` is not on it. One
 * system call. */
static const size_t ALTERNATE_NONE = SIZE_MAX;
size_t alternate_room(uintptr_t sp);

#endif

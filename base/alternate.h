/* SPDX-License-Identifier: MIT */
/*
 * Alternate stacks for signals that are too small for our handlers. They run there if there is one,
 * for the sake of programs with coroutines; but the constant that old programs take for its size
 * (MINSIGSTKSZ, 2048) holds less than the registers of a newer machine, and then the kernel ends
 * the program. From the first such stack on, our handlers run on the ordinary one.
 */
#ifndef BASE_ALTERNATE_H
#define BASE_ALTERNATE_H

#include <stddef.h>

/* SA_ONSTACK or 0, for a handler of ours that is about to be set; it is remembered. */
int alternate_flag(const void *handler);
/* A thread has an alternate stack of this size now. */
void alternate_look(size_t size);

#endif

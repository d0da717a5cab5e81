/* SPDX-License-Identifier: MIT */
/*
 * One line about a profiler that can't do anything: a profile was asked for and nothing would
 * ever write it, or the malloc of the process is not ours.
 */
#ifndef FACES_NOTICE_H
#define FACES_NOTICE_H

#include <stdbool.h>

/* Before main: what the environment asks for and memoir does not do. */
void notice_start(void);
/* The program ends, and all dumps that were to be made then are made. */
void notice_exit(void);
/* The program calls `name`, which is about the heap of memoir. Prints a line, once for each
 * `told`, if the program's malloc is another one. */
void notice_call(const char *name, bool *told);

#endif

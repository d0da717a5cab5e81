/* SPDX-License-Identifier: MIT */
/*
 * One line about a profile that can't be made: nothing would ever write it, or the malloc of the
 * process is not ours.
 */
#ifndef FACES_NOTICE_H
#define FACES_NOTICE_H

#include <stdbool.h>

/* Before main: names the variables and options that memoir does not serve. */
void notice_start(void);
/* The program ends, after the dumps at exit. */
void notice_exit(void);
/* The program calls `name`, a function about memoir's heap. Prints a line, once for each `told`, if
 * the program's malloc is another one. */
void notice_call(const char *name, bool *told);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Variables of other allocators that are set and not served: no variable of a library that we stand
 * in for is ignored in silence. variables.def is the table.
 *
 * One line for each row of the table, with the names that are set. A process tells the programs
 * that it starts what it has said, in MEMOIR_TOLD ("CPUPROFILE,HEAPCHECK"), so that a build of 500
 * commands has one line and not 500. Nothing is said in setuid programs, and where the process has
 * another malloc than ours: there the variables may well be served.
 */
#ifndef FACES_VARIABLES_H
#define FACES_VARIABLES_H

#include <stdbool.h>
#include <stddef.h>

/* Before main: looks at the environment once and prints what there is to say. */
void variables_tell(void);

/* Whether a process that started this one has said it already: `word` is in MEMOIR_TOLD. */
bool told_before(const char *word, size_t length);
/* Adds a word to the MEMOIR_TOLD of child programs. Before main only. */
void told_add(const char *word, size_t length);
/* Puts the added words into the environment. */
void told_publish(void);

#endif

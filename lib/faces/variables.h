/* SPDX-License-Identifier: MIT */
/*
 * Variables of other allocators that are set and not served: no variable of a library that memoir
 * replaces is ignored in silence. variables.def is the table.
 *
 * One line for each row of the table, with the names that are set. A process passes what it has
 * told to its child programs in MEMOIR_TOLD ("CPUPROFILE,HEAPCHECK"), so that a build of 500
 * commands has one line and not 500. Nothing is told in setuid programs, and in processes with
 * another malloc than ours, where the variables may well be served.
 */
#ifndef FACES_VARIABLES_H
#define FACES_VARIABLES_H

#include <stdbool.h>
#include <stddef.h>

/* Before main: checks the environment once and prints the lines. */
void variables_tell(void);

/* Whether a parent process has told it already: `word` is in MEMOIR_TOLD. */
bool told_before(const char *word, size_t length);
/* Adds a word to the MEMOIR_TOLD of child programs. Before main only. */
void told_add(const char *word, size_t length);
/* Puts the added words into the environment. */
void told_publish(void);

#endif

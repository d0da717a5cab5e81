/* SPDX-License-Identifier: MIT */
/*
 * Text that others gave, for formats of lines: what would end a line or steer a terminal becomes
 * spaces, what is no UTF-8 becomes question marks, byte for byte.
 */
#ifndef PROFILE_WRITE_LINE_H
#define PROFILE_WRITE_LINE_H

#include <stdbool.h>
#include <stdio.h>

/* The bytes of the character there, which is not the end. *instead: what to write for each of them;
 * 0: the character itself. */
unsigned line_character(const char *text, char *instead);
/* Whether all of a text can be written as it is. */
bool line_is_plain(const char *text);
void line_put(const char *text, FILE *file);
void line_clean(char *text);
/* Only what is no UTF-8. */
void line_mend(char *text);

#endif

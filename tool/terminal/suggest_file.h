/* SPDX-License-Identifier: MIT */
/* The file that was meant by a name that no file has, and words as a shell reads them. */
#ifndef TERMINAL_SUGGEST_FILE_H
#define TERMINAL_SUGGEST_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "tool/terminal/error.h"

enum { SUGGEST_ROOM = 512 };

/* The file with the nearest name in the folder of `word`. False: none is near. */
bool suggest_file_nearest(const char *word, char name[SUGGEST_ROOM]);
/* Whether a name that is not empty is nearer to `word` than *best, which becomes its distance. */
bool suggest_is_nearer(const char *word, const char *name, size_t length, size_t *best);
/* False, for `return suggest_file(...)`; the hint names the nearest file, where one is near. */
bool suggest_file(const char *word, const char *otherwise, struct error *error);
/* A word as a shell reads it: in quotes if it must be. Answers `text`. */
const char *suggest_quoted(char *text, size_t size, const char *word);

#endif

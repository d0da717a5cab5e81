/* SPDX-License-Identifier: MIT */
/* A small file that a user wrote, whole: suppressions, budgets. */
#ifndef TERMINAL_TEXT_FILE_H
#define TERMINAL_TEXT_FILE_H

#include "tool/terminal/error.h"

/* Ends in 0, to be freed. NULL: it can't be read, is too large, or is no text. */
char *text_file_read(const char *path, struct error *error);

#endif

/* SPDX-License-Identifier: MIT */
/* A folder of profiles in place of two: the first and the last that were written there. */
#ifndef TOOL_FOLDER_H
#define TOOL_FOLDER_H

#include "tool/command/command.h"

struct folder {
    char *first, *last;
    char **operands;
};

/* `words` are the arguments, in which a folder has become two files. Pair with folder_free. */
bool folder_operands(struct folder *folder, struct arguments *words,
                     const struct arguments *arguments, struct error *error);
void folder_free(struct folder *folder);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Pictures of a profile, by the ending of the file and the flags of `memoir export`: --picture,
 * --inverted, --reversed, --title, --width.
 */
#ifndef TOOL_PICTURE_H
#define TOOL_PICTURE_H

#include "tool/arguments.h"
#include "tool/load.h"

/* The endings of pictures, each with a space before it. */
extern const char picture_endings[];

/* Whether a file is to be one: its ending, or --picture. */
bool picture_wanted(const struct arguments *arguments, const char *path);
/* Which picture, by what; before profiles are read, so that mistakes are found early. */
bool picture_check(const struct arguments *arguments, const char *path, struct error *error);
bool picture_export(const struct arguments *arguments, const struct loaded *loaded,
                    const char *path, FILE *file, struct error *error);

#endif

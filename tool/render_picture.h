/* SPDX-License-Identifier: MIT */
/*
 * Pictures of a profile, by the ending of the file and the flags of `memoir export`: --picture,
 * --inverted, --reversed, --title, --width. Verbs whose --output has such an ending draw, too: the
 * plots of `time` and `sizes`, the flame graph or the call graph of all others.
 */
#ifndef TOOL_RENDER_PICTURE_H
#define TOOL_RENDER_PICTURE_H

#include "tool/command/command.h"
#include "tool/load.h"

/* The endings of pictures, each with a space before it. */
extern const char picture_endings[];

/* "svg" of a path that ends in one of those; NULL: none of them. */
const char *picture_ending(const char *path);
/* Whether a file is to be one: its ending, or --picture. */
bool picture_wanted(const struct arguments *arguments, const char *path);
/* Which picture, by what; before profiles are read, so that mistakes are found early. */
bool picture_check(const struct arguments *arguments, const char *path, struct error *error);
/* Both, of --output of a verb that answers in text otherwise. */
bool picture_asked(const struct arguments *arguments, bool *asked, struct error *error);
/* Writes it. `moment`: the metric may become that of the peak (load_moment). */
bool picture_write(const struct arguments *arguments, const struct loaded *loaded, const char *path,
                   bool moment, struct error *error);

#endif

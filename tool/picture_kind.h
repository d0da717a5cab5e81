/* SPDX-License-Identifier: MIT */
/*
 * Which picture a file is to be, by its ending and --picture; known before a profile is read, so
 * that mistakes are found early.
 */
#ifndef TOOL_PICTURE_KIND_H
#define TOOL_PICTURE_KIND_H

#include "tool/command/command.h"
#include "tool/report/picture/picture.h"
#include "tool/terminal/terminal.h"

struct picture_kind {
    const char *word;
    void (*draw)(const struct view *view, const struct picture_options *options, FILE *file);
    enum view_by by;         /* unless --by says so */
    enum view_frames frames; /* unless --frames does */
    enum command_id command; /* whose picture it is; COMMAND_EACH: of none by itself */
};

const struct picture_kind *picture_kind_of(const struct arguments *arguments,
                                           enum picture_format format);
/* Whether a file is to be one: its ending, or --picture. */
bool picture_wanted(const struct arguments *arguments, const char *path);
/* Whether the flags and the ending fit together. */
bool picture_check(const struct arguments *arguments, const char *path, struct error *error);

#endif

/* SPDX-License-Identifier: MIT */
/* What tool/load.c and tool/load_view.c share. */
#ifndef TOOL_LOAD_PARTS_H
#define TOOL_LOAD_PARTS_H

#include "tool/load.h"

/* The words of a command, sorted; each list ends in NULL. */
struct load_words {
    const char **inputs, **focus, **ignore;
    char **rest;
    size_t inputs_count, focus_count, ignore_count, rest_count;
    char *newest; /* the capture that was found, if none was named */
};

/* Refuses what --at, --since, --until and --base can't mean (load_moment.c). */
bool load_moment_check(const struct arguments *arguments, struct error *error);
/* The column that a moment that was asked for is in. */
void load_moment_type(struct loaded *loaded, const struct arguments *arguments);
/* The base is taken away, where the verb's answer is about the difference. */
bool load_base_take(struct loaded *loaded, const struct arguments *arguments, struct error *error);

/* Fills loaded->view from the flags. */
bool load_view_options(struct loaded *loaded, const struct arguments *arguments,
                       struct error *error);

#endif

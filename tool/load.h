/* SPDX-License-Identifier: MIT */
/*
 * What a user names, as one profile: files of any format, processes by number, URLs; several are
 * added up. Words are sorted here, too: `memoir top ./server server.heap Parser -Test` is a program
 * (which need not be named), a profile, a word to focus on and one to ignore.
 */
#ifndef TOOL_LOAD_H
#define TOOL_LOAD_H

#include "tool/arguments.h"
#include "tool/profile/profile.h"
#include "tool/report/report.h"
#include "tool/symbol/symbol.h"

struct loaded {
    struct profile profile;
    struct profile base; /* --base */
    bool has_base;
    char *name, *base_name; /* for people */
    struct symbol_options symbol_options;
    struct symbol_report symbols;
    struct view_options view; /* filters and metric, from flags and words */
    const char *program;
    char **rest; /* operands that are neither: patterns, in order; ends in NULL */
    void *keep;
};

/* Reads, symbolizes, sets the view. Without a profile among the operands: the newest capture in
 * this folder. Pair with load_free, also after an error. */
bool load(struct loaded *loaded, const struct arguments *arguments, struct error *error);
void load_free(struct loaded *loaded);
/* From the flags --json, --csv, --rows, ... and the terminal. */
struct style load_style(const struct arguments *arguments, const struct loaded *loaded);

#endif

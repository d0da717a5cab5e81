/* SPDX-License-Identifier: MIT */
/*
 * What a user names, as one profile: files of any format, processes by number, URLs; several are
 * added up. Words are sorted here, too: `memoir top ./server server.heap Parser -Test` is a program
 * (which need not be named), a profile, a word to focus on and one to ignore.
 *
 * Verbs that read profiles say so in commands.def by operands that begin with PROFILE:
 *      PROFILE             further words are patterns to focus on
 *      PROFILE RE          the first such word is the verb's own (loaded->rest)
 *      PROFILE PROFILE     of two profiles or more, the first is the base of the others
 */
#ifndef TOOL_LOAD_H
#define TOOL_LOAD_H

#include "tool/command/command.h"
#include "tool/profile/profile.h"
#include "tool/report/report.h"
#include "tool/symbol/symbol.h"
#include "tool/terminal/terminal.h"

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
    struct load_words *keep;
    struct output output; /* between load_open and load_close */
};

/* Reads, symbolizes, sets the view. Without a profile among the operands: the newest capture in
 * this folder. Pair with load_free, also after an error. */
bool load(struct loaded *loaded, const struct arguments *arguments, struct error *error);
void load_free(struct loaded *loaded);
/* From now on commands without a profile among their operands take this one, for good: one command
 * may (tool/verb_shell.c, where each runs in a process of its own). */
void load_give(struct loaded *loaded);
/* The word by which the user named the one profile; NULL: by none, or there were several. */
const char *load_word(const struct loaded *loaded);
/* The column that is meant by such a word, or by its name in the profile. */
bool load_metric(struct loaded *loaded, const char *word, struct error *error);
/* For `memoir time`: the part of a run that --since and --until name, as times in loaded->view. */
bool load_window(struct loaded *loaded, const struct arguments *arguments, struct error *error);
/* Without --metric: a program that has ended has little left; what it had at its peak is of more
 * interest then. */
void load_moment(struct loaded *loaded, const struct arguments *arguments);
/* view_make, with progress; its error as ours. */
bool load_view(struct view *view, const struct loaded *loaded, struct error *error);

/* How answers look, from the flags --json, --csv, --rows, ... and the terminal. --output is opened
 * as style->out, and its ending is a format. Pair with load_close: with `whole` the file gets its
 * name, else what was there stays. */
bool load_open(struct style *style, const struct arguments *arguments, struct loaded *loaded,
               struct error *error);
bool load_close(struct style *style, struct loaded *loaded, bool whole, struct error *error);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The words behind the verb, sorted into flags and operands and checked against commands.def. The
 * flags of every command (--color, --quiet, --help) take effect here.
 */
#ifndef COMMAND_ARGUMENTS_H
#define COMMAND_ARGUMENTS_H

#include "tool/command/commands.h"
#include "tool/terminal/terminal.h"

struct arguments_flag {
    const struct command_flag *flag;
    const char *value; /* NULL where the flag takes none */
};

struct session;

struct arguments {
    const struct command *command;
    struct arguments_flag *flags;
    size_t flags_count;
    char **operands; /* ends in NULL */
    size_t operands_count;
    struct session *session; /* that is asked (tool/session.h); NULL: the operands name it */
    bool help;               /* --help was there: explain the command instead of running it */
};

/* `words` ends in NULL and is reordered. Pair with arguments_free, also after an error. */
bool arguments_parse(struct arguments *arguments, const struct command *command, char **words,
                     struct error *error);
void arguments_free(struct arguments *arguments);

/* Whether a word is that flag, by its name or its letter, with or without a value. */
bool arguments_names(const char *word, enum flag_id id);

/* The last value of a flag: NULL if it was not there, "" for a flag without argument. */
const char *arguments_value(const struct arguments *arguments, enum flag_id flag);
/* Which of its words the value of a flag is, as commands.def has them; `otherwise` without it. */
unsigned arguments_choice(const struct arguments *arguments, enum flag_id flag, unsigned otherwise);

#endif

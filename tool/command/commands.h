/* SPDX-License-Identifier: MIT */
/*
 * The rows of commands.def, and the functions that they name. A command gets its arguments already
 * checked against the table (tool/command/arguments.h).
 */
#ifndef COMMAND_COMMANDS_H
#define COMMAND_COMMANDS_H

#include <stdbool.h>
#include <stddef.h>

#include "tool/terminal/terminal.h"

struct arguments;

/* What follows the flags of a command. */
enum command_takes {
    TAKES_NOTHING,
    TAKES_PATH,
    TAKES_VERB,
    TAKES_WORD,            /* one of `words` */
    TAKES_PROCESS,         /* then one of `words`, which may take further words */
    TAKES_PROFILES,        /* tool/session.h sorts these, as those of the next two rows */
    TAKES_PROFILES_AND_RE, /* and a function */
    TAKES_TWO_PROFILES,
    TAKES_PROGRAM,      /* and its arguments */
    TAKES_COMMAND_LINE, /* that of another tool, passed on unchecked */
};

struct command {
    const char *verb;
    bool (*run)(const struct arguments *arguments, struct error *error);
    enum command_takes takes;
    const char *words; /* joined by '|'; "" where any will do */
    const char *synopsis;
    const char *brief;
    const char *details;
};

/* What a verb that reads profiles does with a second one. */
enum command_base {
    BASE_NONE,     /* it has no answer about two */
    BASE_COMPARED, /* its answer has both */
    BASE_TAKEN,    /* its answer is about the difference */
};

struct command_answer {
    const char *verb;
    enum command_base base;
    bool table;
};

/* The flags by name: one that several verbs have is one. */
enum flag_id {
#define FLAG(id, ...) FLAG_##id,
#include "tool/command/commands.def"
};

/* What the argument of a flag is. */
enum command_argument {
    ARGUMENT_NONE, /* the flag has none */
    ARGUMENT_PATH,
    ARGUMENT_PROFILE,
    ARGUMENT_RE,
    ARGUMENT_RANGE,
    ARGUMENT_METRIC,
    ARGUMENT_NUMBER,
    ARGUMENT_LIMIT,
    ARGUMENT_NAME,
    ARGUMENT_BYTES,
    ARGUMENT_TIME,
    ARGUMENT_SETTING,
    ARGUMENT_CHOICE, /* one of the words of `argument`, numbered by arguments_choice */
};

struct command_flag {
    enum flag_id id;
    const char *verb;
    const char *name;
    enum command_argument takes;
    const char *argument; /* as help prints it; a choice has its words, joined by '|' */
    const char *brief;
};

struct command_question {
    const char *verb;
    const char *question;
};

struct command_topic {
    const char *name;
    void (*show)(void);
    const char *brief;
};

extern const struct command commands[];
extern const size_t commands_count;
extern const struct command_flag commands_flags[];
extern const size_t commands_flags_count;
extern const struct command_question commands_questions[];
extern const size_t commands_questions_count;
extern const struct command_topic commands_topics[];
extern const size_t commands_topics_count;

/* NULL if there is none. */
const struct command *commands_find(const char *verb);
/* The verb that was probably meant; NULL if none is near. */
const char *commands_nearest(const char *verb);
/* False, for `return commands_unknown(...)`: there is no such `what`, and what may be meant. */
bool commands_unknown(const char *word, const char *what, struct error *error);
/* "--output" */
const char *commands_flag_name(enum flag_id id);
/* Whether the flag belongs to the verb; those of many commands only if `shared`. */
bool commands_flag_of(const struct command_flag *flag, const char *verb, bool shared);

/* What is known of its answer; without a row, that it is no table and about one profile. */
const struct command_answer *commands_answer(const char *verb);
/* Whether its operands are profiles (tool/session.h). */
bool commands_reads(const struct command *command);

#define COMMAND(verb, function, ...) \
    bool function(const struct arguments *arguments, struct error *error);
#define TOPIC(name, function, brief) void function(void);
#include "tool/command/commands.def"

#endif

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
    TAKES_PROCESS,         /* further words are the command's own */
    TAKES_PROFILES,        /* tool/session.h sorts these, as those of the next two rows */
    TAKES_PROFILES_AND_RE, /* and a function */
    TAKES_TWO_PROFILES,
    TAKES_PROGRAM,      /* and its arguments */
    TAKES_COMMAND_LINE, /* that of another tool, passed on unchecked */
};

/* The commands by name, in the order of `commands`; and, for flags, more than one. */
enum command_id {
#define COMMAND(id, ...) COMMAND_##id,
#include "tool/command/commands.def"
    COMMAND_READERS, /* each that reads profiles */
    COMMAND_EACH,
};

struct command {
    enum command_id id;
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
    enum command_id command;
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
    enum command_id command;
    const char *name;
    enum command_argument takes;
    const char *argument; /* as help prints it; a choice has its words, joined by '|' */
    const char *brief;
};

/* The words behind `memoir ctl PID`, in the order of `commands_ctl`. */
enum ctl_id {
#define CTL(id, ...) CTL_##id,
#include "tool/command/commands.def"
    CTL_OTHER, /* that only the process may know */
};

enum ctl_follows {
    CTL_NOTHING, /* or a word that can't be completed */
    CTL_FILE,
    CTL_KEY,
    CTL_SETTINGS, /* KEY=VALUE... */
};

struct command_ctl {
    const char *word;
    enum ctl_follows follows;
    const char *words; /* joined by '|' */
};

struct command_question {
    enum command_id command;
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
extern const struct command_ctl commands_ctl[];
extern const size_t commands_ctl_count;
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
/* Whether the flag belongs to the command, by itself or as one of many. */
bool commands_flag_of(const struct command_flag *flag, const struct command *command);
/* Which of commands_ctl the word is. */
enum ctl_id commands_ctl_find(const char *word);

/* What is known of its answer; without a row, that it is no table and about one profile. */
const struct command_answer *commands_answer(enum command_id command);
/* Whether its operands are profiles (tool/session.h). */
bool commands_reads(const struct command *command);

#define COMMAND(id, verb, function, ...) \
    bool function(const struct arguments *arguments, struct error *error);
#define TOPIC(name, function, brief) void function(void);
#include "tool/command/commands.def"

#endif

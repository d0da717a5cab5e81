/* SPDX-License-Identifier: MIT */
/*
 * The command table as data. commands.def is included several times, each time for other columns:
 * ids of flags, the rows that help, man pages and completion print, and the functions of verbs. A
 * verb or flag that is missing in one place, or a kind of operand or argument that does not exist,
 * is a compile error, not a wrong answer.
 *
 * Unknown words are answered with the nearest name; what other tools call a verb (`flamegraph`,
 * `summary`) is in a table here.
 */
#include "tool/command/commands.h"

#include <string.h>

#include "base/compiler.h"
#include "base/nearest.h"
#include "tool/profile/write/write.h"
#include "tool/report/report.h"

/* What the column of operands says, as two members of the struct. */
#define ROW_OPERANDS_NOTHING         TAKES_NOTHING, ""
#define ROW_OPERANDS_PATH            TAKES_PATH, ""
#define ROW_OPERANDS_VERB            TAKES_VERB, ""
#define ROW_OPERANDS_WORD(words)     TAKES_WORD, words
#define ROW_OPERANDS_PROCESS         TAKES_PROCESS, ""
#define ROW_OPERANDS_PROFILES        TAKES_PROFILES, ""
#define ROW_OPERANDS_PROFILES_AND_RE TAKES_PROFILES_AND_RE, ""
#define ROW_OPERANDS_TWO_PROFILES    TAKES_TWO_PROFILES, ""
#define ROW_OPERANDS_PROGRAM         TAKES_PROGRAM, ""
#define ROW_OPERANDS_COMMAND_LINE    TAKES_COMMAND_LINE, ""

/* The same for the column of a flag's argument. */
#define ROW_ARGUMENT_NONE          ARGUMENT_NONE, ""
#define ROW_ARGUMENT_PATH          ARGUMENT_PATH, "PATH"
#define ROW_ARGUMENT_PROFILE       ARGUMENT_PROFILE, "PROFILE"
#define ROW_ARGUMENT_RE            ARGUMENT_RE, "RE"
#define ROW_ARGUMENT_RANGE         ARGUMENT_RANGE, "RANGE"
#define ROW_ARGUMENT_METRIC        ARGUMENT_METRIC, "METRIC"
#define ROW_ARGUMENT_NUMBER        ARGUMENT_NUMBER, "NUMBER"
#define ROW_ARGUMENT_LIMIT         ARGUMENT_LIMIT, "LIMIT"
#define ROW_ARGUMENT_NAME          ARGUMENT_NAME, "NAME"
#define ROW_ARGUMENT_BYTES         ARGUMENT_BYTES, "BYTES"
#define ROW_ARGUMENT_TIME          ARGUMENT_TIME, "TIME"
#define ROW_ARGUMENT_SETTING       ARGUMENT_SETTING, "KEY=VALUE"
#define ROW_ARGUMENT_CHOICE(words) ARGUMENT_CHOICE, words

const struct command commands[] = {
#define COMMAND(id, verb, function, operands, synopsis, brief, details) \
    {COMMAND_##id, verb, function, ROW_OPERANDS_##operands, synopsis, brief, details},
#include "tool/command/commands.def"
};
const size_t commands_count = sizeof commands / sizeof *commands;

static const struct command_answer answers[] = {
#define ANSWER(command, base, table) {COMMAND_##command, base, table},
#include "tool/command/commands.def"
};

const struct command_flag commands_flags[] = {
#define FLAG(id, command, name, argument, brief) \
    {FLAG_##id, COMMAND_##command, name, ROW_ARGUMENT_##argument, brief},
#define ALSO(id, command, name, argument, brief) \
    {FLAG_##id, COMMAND_##command, name, ROW_ARGUMENT_##argument, brief},
#include "tool/command/commands.def"
};
const size_t commands_flags_count = sizeof commands_flags / sizeof *commands_flags;

const struct command_ctl commands_ctl[] = {
#define CTL(id, word, follows, words) {word, CTL_##follows, words},
#include "tool/command/commands.def"
};
const size_t commands_ctl_count = sizeof commands_ctl / sizeof *commands_ctl;

const struct command_question commands_questions[] = {
#define QUESTION(command, question) {COMMAND_##command, question},
#include "tool/command/commands.def"
};
const size_t commands_questions_count = sizeof commands_questions / sizeof *commands_questions;

const struct command_topic commands_topics[] = {
#define TOPIC(name, function, brief) {name, function, brief},
#include "tool/command/commands.def"
};
const size_t commands_topics_count = sizeof commands_topics / sizeof *commands_topics;

const char *commands_flag_name(enum flag_id id)
{
    for (size_t i = 0; i < commands_flags_count; i++)
        if (commands_flags[i].id == id)
            return commands_flags[i].name;
    return "";
}

const struct command *commands_find(const char *verb)
{
    for (size_t i = 0; i < commands_count; i++) {
        if (strcmp(commands[i].verb, verb) == 0)
            return &commands[i];
    }
    return NULL;
}

const struct command_answer *commands_answer(enum command_id command)
{
    static const struct command_answer none;
    for (size_t i = 0; i < COUNT_OF(answers); i++)
        if (answers[i].command == command)
            return &answers[i];
    return &none;
}

const char *commands_nearest(const char *verb)
{
    const char *best = NULL;
    size_t best_distance = nearest_max(strlen(verb)) + 1;
    for (size_t i = 0; i < commands_count; i++) {
        const char *known = commands[i].verb;
        size_t distance = nearest_distance(verb, strlen(verb), known, strlen(known));
        if (distance < best_distance) {
            best_distance = distance;
            best = known;
        }
    }
    return best;
}

/* Names of commands in other tools, and other words for ours. */
static const char *other_name(const char *word)
{
    static const char *const names[][2] = {
        {"record", "memoir run -- ./program"},
        {"exec", "memoir run -- ./program"},
        {"summary", "memoir report"},
        {"view", "memoir report -o report.html"},
        {"web", "memoir report -o report.html"},
        {"gui", "memoir report -o report.html"},
        {"show", "memoir report"},
        {"print", "memoir report"},
        {"text", "memoir top"},
        {"table", "memoir top"},
        {"flat", "memoir top"},
        {"hot", "memoir top"},
        {"callers", "memoir peek FUNCTION"},
        {"callees", "memoir peek FUNCTION"},
        {"source", "memoir list FUNCTION"},
        {"weblist", "memoir list FUNCTION"},
        {"stacks", "memoir traces"},
        {"raw", "memoir traces"},
        {"flame", "memoir export -o flame.svg"},
        {"flamegraph", "memoir export -o flame.svg"},
        {"svg", "memoir export -o flame.svg"},
        {"graph", "memoir export -o graph.svg --picture graph"},
        {"convert", "memoir export -o profile.pb.gz"},
        {"compare", "memoir diff BEFORE AFTER"},
        {"growth", "memoir diff BEFORE AFTER"},
        {"leak", "memoir leaks"},
        {"timeline", "memoir time"},
        {"histogram", "memoir sizes"},
        {"temporary", "memoir churn"},
        {"attach", "memoir ctl PID start"},
        {"snapshot", "memoir ctl PID dump"},
        {"snap", "memoir ctl PID dump"},
        {"dump", "memoir ctl PID dump"},
        {"add", "memoir merge A B -o sum.pb.gz"},
        {"sum", "memoir merge A B -o sum.pb.gz"},
        {"interactive", "memoir shell"},
    };
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strcmp(names[i][0], word) == 0)
            return names[i][1];
    return NULL;
}

bool commands_unknown(const char *word, const char *what, struct error *error)
{
    const char *other = other_name(word), *nearest = commands_nearest(word);
    error_set(error, ERROR_USAGE, "no %s '%s'", what, word);
    if (other)
        return error_hint(error, "%s", other);
    for (size_t i = 0; i < commands_topics_count && !nearest; i++) {
        const char *topic = commands_topics[i].name;
        if (nearest_distance(word, strlen(word), topic, strlen(topic)) <= nearest_max(strlen(word)))
            nearest = topic;
    }
    if (!nearest)
        return error_hint(error, "memoir help -a");
    if (strcmp(word, nearest) == 0) /* a topic */
        return error_hint(error, "memoir help %s", nearest);
    error_set(error, ERROR_USAGE, "no %s '%s', the nearest is '%s'", what, word, nearest);
    return error_hint(error, "memoir help %s", nearest);
}

bool commands_flag_of(const struct command_flag *flag, const struct command *command)
{
    return flag->command == command->id || flag->command == COMMAND_EACH ||
           (flag->command == COMMAND_READERS && commands_reads(command));
}

enum ctl_id commands_ctl_find(const char *word)
{
    for (size_t i = 0; i < commands_ctl_count; i++)
        if (strcmp(commands_ctl[i].word, word) == 0)
            return (enum ctl_id)i;
    return CTL_OTHER;
}

bool commands_reads(const struct command *command)
{
    return command->takes == TAKES_PROFILES || command->takes == TAKES_PROFILES_AND_RE ||
           command->takes == TAKES_TWO_PROFILES;
}

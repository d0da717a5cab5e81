/* SPDX-License-Identifier: MIT */
/*
 * Sorting the words behind a verb. `--name value` and `--name=value` are the same, `--` ends the
 * flags, -h, -q, -o and -v are --help, --quiet, --output and --verbose. Behind the name of a
 * program to run nothing is a flag of ours any more; elsewhere flags and operands come in any
 * order. Behind a profile, a word like -Test that is no flag is a pattern to leave out.
 */
#include "tool/command/arguments.h"

#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "tool/terminal/terminal.h"

static bool flag_take(struct arguments *arguments, char ***words, struct error *error);
static const struct command_flag *flag_find(const struct command *command, const char *name,
                                            size_t length);
static bool flag_apply(struct arguments *arguments, const struct command_flag *flag,
                       const char *value, struct error *error);
static bool flag_unknown(const struct command *command, const char *word, size_t length,
                         struct error *error);
static bool is_pattern(const struct arguments *arguments, const char *word);
static bool operands_check(const struct arguments *arguments, struct error *error);
static bool flags_agree(const struct arguments *arguments, struct error *error);

static const char *flag_long(const struct command *command, const char *word);
static const char *short_name(char letter);
static bool words_have(const char *words, const char *word, unsigned *index);
static bool is_number(const char *text);

bool arguments_parse(struct arguments *arguments, const struct command *command, char **words,
                     struct error *error)
{
    bool program = command->takes == TAKES_PROGRAM;
    char **keep = words;
    size_t count = 0;

    while (words[count])
        count++;
    memset(arguments, 0, sizeof *arguments);
    arguments->command = command;
    arguments->operands = words;
    if (command->takes == TAKES_COMMAND_LINE) {
        arguments->operands_count = count;
        return true;
    }
    arguments->flags = calloc(count + 1, sizeof *arguments->flags);
    if (!arguments->flags)
        return error_memory(error);
    while (*words) {
        if (strcmp(*words, "--") == 0) {
            words++;
            break;
        }
        arguments->operands_count = (size_t)(keep - arguments->operands);
        if ((*words)[0] == '-' && (*words)[1] != '\0' && !is_pattern(arguments, *words)) {
            if (!flag_take(arguments, &words, error))
                return false;
        } else if (program) {
            break;
        } else {
            *keep++ = *words++;
        }
    }
    while (*words)
        *keep++ = *words++;
    *keep = NULL;
    arguments->operands_count = (size_t)(keep - arguments->operands);
    return arguments->help || (operands_check(arguments, error) && flags_agree(arguments, error));
}

/* Flags win. */
static bool is_pattern(const struct arguments *arguments, const char *word)
{
    return commands_reads(arguments->command) && arguments->operands_count > 0 && word[1] != '-' &&
           flag_long(arguments->command, word) == word;
}

/* The long name of a short flag that the command has, or the word itself. */
static const char *flag_long(const struct command *command, const char *word)
{
    const char *name = word[0] == '-' && word[1] && !word[2] ? short_name(word[1]) : NULL;
    return name && flag_find(command, name, strlen(name)) ? name : word;
}

/* The name of the flag that a letter stands for, or NULL. */
static const char *short_name(char letter)
{
    static const struct {
        char letter;
        enum flag_id id;
    } letters[] = {{'h', FLAG_HELP}, {'q', FLAG_QUIET}, {'o', FLAG_OUTPUT},  {'v', FLAG_VERBOSE},
                   {'a', FLAG_ALL},  {'n', FLAG_ROWS},  {'d', FLAG_DURATION}};
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
        if (letter == letters[i].letter)
            return commands_flag_name(letters[i].id);
    return NULL;
}

static const struct command_flag *flag_find(const struct command *command, const char *name,
                                            size_t length)
{
    for (size_t i = 0; i < commands_flags_count; i++) {
        const struct command_flag *flag = &commands_flags[i];
        if (commands_flag_of(flag, command) && strlen(flag->name) == length &&
            memcmp(flag->name, name, length) == 0)
            return flag;
    }
    return NULL;
}

/* Takes the flag at *words, with its value, and moves *words behind it. */
static bool flag_take(struct arguments *arguments, char ***words, struct error *error)
{
    const char *word = flag_long(arguments->command, *(*words)++);
    size_t length = strcspn(word, "=");
    const char *value = word[length] == '=' ? word + length + 1 : NULL;
    const struct command_flag *flag = flag_find(arguments->command, word, length);
    if (!flag)
        return flag_unknown(arguments->command, word, length, error);
    if (flag->takes == ARGUMENT_NONE && value)
        return error_set(error, ERROR_USAGE, "%s takes no value", flag->name);
    if (flag->takes != ARGUMENT_NONE && !value) {
        value = **words;
        if (!value) {
            error_set(error, ERROR_USAGE, "%s needs a value: %s", flag->name, flag->argument);
            return error_hint(error, "memoir help %s", arguments->command->verb);
        }
        ++*words;
    }
    return flag_apply(arguments, flag, value, error);
}

static bool flag_unknown(const struct command *command, const char *word, size_t length,
                         struct error *error)
{
    size_t dashes = strspn(word, "-");
    const char *best = NULL, *name = word + dashes;
    const struct command *other = NULL;
    size_t name_length = length > dashes ? length - dashes : 0;
    size_t best_distance = nearest_max(name_length) + 1;
    for (size_t i = 0; i < commands_flags_count; i++) {
        const struct command_flag *flag = &commands_flags[i];
        const char *known = flag->name + 2;
        size_t distance = nearest_distance(name, name_length, known, strlen(known));
        if (name_length > 2 && strncmp(name, known, name_length) == 0)
            distance = 0; /* only its beginning was typed */
        if (commands_flag_of(flag, command) && distance < best_distance) {
            best_distance = distance;
            best = flag->name;
        } else if (distance == 0 && strlen(known) == name_length) {
            other = &commands[flag->command == COMMAND_READERS ? COMMAND_TOP : flag->command];
        }
    }
    error_set(error, ERROR_USAGE, "%s has no flag '%.*s'%s%s%s", command->verb, (int)length, word,
              best ? ", the nearest is '" : "", best ? best : "", best ? "'" : "");
    return !best && other ? error_hint(error, "it belongs to: memoir help %s", other->verb)
                          : error_hint(error, "memoir help %s", command->verb);
}

static bool flag_apply(struct arguments *arguments, const struct command_flag *flag,
                       const char *value, struct error *error)
{
    unsigned word = 0;
    if (flag->takes == ARGUMENT_CHOICE && !words_have(flag->argument, value, &word)) {
        error_set(error, ERROR_USAGE, "%s can't be '%s', accepted: %s", flag->name, value,
                  flag->argument);
        return error_hint(error, "memoir help %s", arguments->command->verb);
    }
    if (flag->takes == ARGUMENT_NUMBER && !is_number(value)) {
        error_set(error, ERROR_USAGE, "%s can't be '%s': it takes an integer", flag->name, value);
        return error_hint(error, "memoir help %s", arguments->command->verb);
    }
    if (flag->id == FLAG_COLOR)
        terminal_color((enum terminal_when)word);
    else if (flag->id == FLAG_QUIET)
        terminal_quiet();
    else if (flag->id == FLAG_HELP)
        arguments->help = true;
    else
        arguments->flags[arguments->flags_count++] = (struct arguments_flag){flag, value};
    return true;
}

/* Whether `words`, joined by '|', has the word; the index tells which. */
static bool words_have(const char *words, const char *word, unsigned *index)
{
    for (*index = 0; *words; ++*index) {
        size_t length = strcspn(words, "|");
        if (strlen(word) == length && memcmp(words, word, length) == 0)
            return true;
        words += length + (words[length] == '|');
    }
    return false;
}

static bool is_number(const char *text)
{
    enum { DIGITS_MAX = 9 };
    size_t digits = strspn(text, "0123456789");
    return digits > 0 && digits <= DIGITS_MAX && text[digits] == '\0';
}

static bool operands_check(const struct arguments *arguments, struct error *error)
{
    const struct command *command = arguments->command;
    unsigned word;

    if (command->takes == TAKES_PROGRAM) {
        if (arguments->operands_count > 0)
            return true;
        error_set(error, ERROR_USAGE, "%s needs a program to run", command->verb);
        return error_hint(error, "memoir %s -- ./program", command->verb);
    }
    if (command->takes == TAKES_PROCESS) {
        if (arguments->operands_count > 0 || command->synopsis[0] == '[')
            return true;
        error_set(error, ERROR_USAGE, "%s needs the id of a process", command->verb);
        return error_hint(error, "memoir ps");
    }
    if (commands_reads(command))
        return true;
    size_t allowed = command->takes != TAKES_NOTHING;
    if (arguments->operands_count > allowed) {
        error_set(error, ERROR_USAGE, "%s does not take '%s'", command->verb,
                  arguments->operands[allowed]);
        return error_hint(error, "memoir help %s", command->verb);
    }
    if (command->takes != TAKES_WORD)
        return true;
    if (arguments->operands_count == 0)
        return error_set(error, ERROR_USAGE, "%s needs one of: %s", command->verb, command->words);
    if (!words_have(command->words, arguments->operands[0], &word))
        return error_set(error, ERROR_USAGE, "%s does not know '%s', it needs one of: %s",
                         command->verb, arguments->operands[0], command->words);
    return true;
}

/* Flags of which the one says what the other denies. */
static bool flags_agree(const struct arguments *arguments, struct error *error)
{
    static const struct {
        enum flag_id one, other;
        const char *hint;
    } pairs[] = {
        {FLAG_JSON, FLAG_CSV, "one format at a time"},
        {FLAG_EXACT, FLAG_RATE, "--exact is --rate 0"},
        {FLAG_JSON, FLAG_GITHUB, "one format at a time"},
        {FLAG_CSV, FLAG_GITHUB, "one format at a time"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (arguments_value(arguments, pairs[i].one) &&
            arguments_value(arguments, pairs[i].other)) {
            error_set(error, ERROR_USAGE, "%s and %s exclude each other",
                      commands_flag_name(pairs[i].one), commands_flag_name(pairs[i].other));
            return error_hint(error, "%s", pairs[i].hint);
        }
    return true;
}

bool arguments_names(const char *word, enum flag_id id)
{
    const char *name = commands_flag_name(id);
    bool letter = word[0] == '-' && word[1] && !word[2];
    if (letter && !(word = short_name(word[1])))
        return false;
    return strcspn(word, "=") == strlen(name) && memcmp(word, name, strlen(name)) == 0;
}

void arguments_free(struct arguments *arguments)
{
    free(arguments->flags);
    arguments->flags = NULL;
}

const char *arguments_value(const struct arguments *arguments, enum flag_id flag)
{
    for (size_t i = arguments->flags_count; i > 0; i--) {
        const struct arguments_flag *found = &arguments->flags[i - 1];
        if (found->flag && found->flag->id == flag)
            return found->value ? found->value : "";
    }
    return NULL;
}

unsigned arguments_choice(const struct arguments *arguments, enum flag_id flag, unsigned otherwise)
{
    unsigned index = otherwise;
    for (size_t i = arguments->flags_count; i > 0; i--) {
        const struct arguments_flag *found = &arguments->flags[i - 1];
        if (found->flag && found->flag->id == flag)
            return words_have(found->flag->argument, found->value, &index) ? index : otherwise;
    }
    return otherwise;
}

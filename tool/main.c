/* SPDX-License-Identifier: MIT */
/*
 * The command `memoir`: finds the row of commands.def for its verb, has the words sorted, runs it,
 * and turns an error into a message and an exit status. 0 is success, 1 a finding (leaks, a limit
 * that was passed, a difference), 2 wrong usage, 3 something that can't be read or written, 4 a
 * process that is gone or refuses; `run` ends as the program does.
 */
#include <string.h>
#include <unistd.h>

#include "tool/command/command.h"
#include "tool/process/process.h"
#include "tool/terminal/terminal.h"

static char *verb_of_name(char *name);
static void verb_first(char **words);
static bool is_profile(const char *word);
static const struct command *verb_find(char *verb, struct error *error);

int main(int argc, char **argv)
{
    struct error error = {.status = ERROR_USAGE};
    struct arguments arguments = {0};
    char *nothing[] = {"help", NULL};
    char **words = argc > 1 ? argv + 1 : nothing;
    char *verb = argc > 0 ? verb_of_name(argv[0]) : NULL;
    bool ok = false;

    terminal_start();
    if (verb) {
        argv[0] = verb;
        words = argv;
    } else {
        verb_first(words);
    }
    bool is_file = !commands_find(words[0]) && is_profile(words[0]);
    const struct command *command =
        is_file ? &commands[COMMAND_REPORT] : verb_find(words[0], &error);
    if (!command || !arguments_parse(&arguments, command, words + !is_file, &error))
        goto done;
    if (arguments.help)
        help_command(command);
    else if (!command->run(&arguments, &error) && error.status != ERROR_FOUND)
        goto done;
    ok = output_whole(&error) && terminal_end(&error);
done:
    arguments_free(&arguments);
    if (!ok && error.status == ERROR_USAGE && error.hint[0] == '\0' && command)
        error_hint(&error, "memoir help %s", command->verb);
    if (!ok)
        terminal_error(&error);
    return ok && error.status != ERROR_FOUND ? 0 : (int)error.status;
}

/* By the names of the old commands, of which there may be links, it is those. */
static char *verb_of_name(char *name)
{
    char *verb = (char *)name_base(name);
    const struct command *command = commands_find(verb);
    return command && command->takes == TAKES_COMMAND_LINE ? verb : NULL;
}

/* Flags of every command may stand before the verb: moves the verb in front of them. */
static void verb_first(char **words)
{
    size_t at = 0;
    while (words[at] &&
           (arguments_names(words[at], FLAG_COLOR) || arguments_names(words[at], FLAG_QUIET))) {
        bool apart = arguments_names(words[at], FLAG_COLOR) && !strchr(words[at], '=');
        at += apart && words[at + 1] ? 2 : 1;
    }
    char *verb = words[at];
    if (!verb)
        return;
    memmove(words + 1, words, at * sizeof *words);
    words[0] = verb;
}

/* Something to report on: `memoir FILE` is `memoir report FILE`. */
static bool is_profile(const char *word)
{
    enum input_kind kind = word[0] == '-' ? INPUT_NOTHING : input_kind_of(word);
    return kind == INPUT_FILE || kind == INPUT_PROCESS || kind == INPUT_URL;
}

static const struct command *verb_find(char *verb, struct error *error)
{
    const struct command *command = commands_find(verb);
    if (arguments_names(verb, FLAG_HELP))
        command = &commands[COMMAND_HELP];
    else if (strcmp(verb, "--version") == 0)
        command = &commands[COMMAND_VERSION];
    if (command)
        return command;
    if (input_kind_of(verb) == INPUT_PROGRAM ||
        (strchr(verb, '/') && input_kind_of(verb) == INPUT_FILE && access(verb, X_OK) == 0)) {
        error_set(error, ERROR_USAGE, "'%s' is a program, not a memoir command", verb);
        error_hint(error, "memoir run -- %s%s", strchr(verb, '/') ? "" : "./", verb);
        return NULL;
    }
    if (verb[0] == '-') {
        error_set(error, ERROR_USAGE, "no flag '%s' without a command", verb);
        error_hint(error, "memoir help");
    } else if (strpbrk(verb, "/.") || access(verb, F_OK) == 0) { /* meant as a file */
        input_missing(verb, error);
    } else {
        commands_unknown(verb, "command", error);
    }
    return NULL;
}

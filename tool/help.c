/* SPDX-License-Identifier: MIT */
/* `memoir help` and `memoir version`: the command table for people. */
#include "tool/help.h"

#include "tool/arguments.h"
#include "tool/profile/profile.h"
#include "tool/report/report.h"
#include "tool/terminal.h"

#include <stdio.h>
#include <string.h>

#ifndef MEMOIR_VERSION
#define MEMOIR_VERSION "unknown"
#endif

enum {
    NAME_WIDTH = 14,
    FLAG_WIDTH = 28,
};

static void flags_print(const char *verb);
static bool topic_show(const char *word);

bool help_show(const struct arguments *arguments, struct error *error)
{
    if (arguments->operands_count > 0) {
        const struct command *command = commands_find(arguments->operands[0]);
        if (!command && topic_show(arguments->operands[0]))
            return true;
        if (!command) {
            error_set(error, ERROR_USAGE, "no command '%s', the nearest is '%s'",
                      arguments->operands[0], commands_nearest(arguments->operands[0]));
            return error_hint(error, "memoir help");
        }
        help_command(command);
        return true;
    }
    printf("memoir: an allocator that remembers where your memory went\n\n");
    terminal_put(stdout, TERMINAL_BOLD, "usage:", 0);
    printf(" memoir COMMAND [ARGUMENT]...\n\n");
    for (size_t i = 0; i < commands_count; i++) {
        printf("  ");
        terminal_put(stdout, TERMINAL_BOLD, commands[i].verb, NAME_WIDTH);
        printf("%s\n", commands[i].brief);
    }
    printf("\n");
    flags_print("");
    terminal_next("memoir run -- ./program        memoir help run");
    return true;
}

/* Lists that are no commands. */
static bool topic_show(const char *word)
{
    if (strcmp(word, "blame") == 0) {
        terminal_fold(
            stdout,
            "Memory belongs to the first frame, outward from malloc, that is none of "
            "these. A module is the "
            "beginning of a file's name, a source part of a path, a header a source without "
            "its folder; a function's * stands "
            "for any ending; rust is a function of Rust's library.\n",
            0);
        printf("\n");
        for (size_t i = 0; i < blame_patterns_count; i++)
            printf("  %s\n", blame_patterns[i]);
        return true;
    }
    if (strcmp(word, "formats") != 0)
        return false;
    printf("read, found by looking at them, also inside of gzip and zstd:\n");
#define X(word) printf("  %s\n", reader_##word.name);
    READERS(X)
#undef X
    printf("written, by the ending of the file:\n");
    for (size_t i = 0; i < writers_count; i++)
        printf("  %-20s %s\n", writers[i]->ending, writers[i]->brief);
    return true;
}

bool help_version(const struct arguments *arguments, struct error *error)
{
    (void)error;
    if (arguments_value(arguments, "--json"))
        printf("{\"schema\":\"memoir.version/1\",\"version\":\"%s\"}\n", MEMOIR_VERSION);
    else
        printf("memoir %s\n", MEMOIR_VERSION);
    return true;
}

void help_command(const struct command *command)
{
    terminal_put(stdout, TERMINAL_BOLD, "usage:", 0);
    printf(" memoir %s%s%s\n\n", command->verb, command->synopsis[0] ? " " : "", command->synopsis);
    terminal_fold(stdout, command->brief, 0);
    if (command->details[0]) {
        printf("\n");
        terminal_fold(stdout, command->details, 0);
    }
    printf("\n");
    flags_print(command->verb);
    if (commands_reads(command))
        flags_print("@");
    flags_print("");
}

static void flags_print(const char *verb)
{
    for (size_t i = 0; i < commands_flags_count; i++) {
        const struct command_flag *flag = &commands_flags[i];
        char text[128];
        if (strcmp(flag->verb, verb) != 0)
            continue;
        snprintf(text, sizeof text, "%s%s%s", flag->name, flag->argument[0] ? " " : "",
                 flag->argument);
        printf("  ");
        terminal_put(stdout, TERMINAL_BOLD, text, FLAG_WIDTH);
        printf("  %s\n", flag->brief);
    }
}

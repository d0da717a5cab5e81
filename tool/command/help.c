/* SPDX-License-Identifier: MIT */
/* `memoir help` and `memoir version`: the command table for people. */
#include "tool/command/help.h"

#include <stdio.h>
#include <string.h>

#include "tool/command/arguments.h"
#include "tool/terminal/terminal.h"

#ifndef MEMOIR_VERSION
#define MEMOIR_VERSION "unknown"
#endif

enum {
    NAME_WIDTH = 16,
    FLAG_COLUMN = 32,
    EXAMPLE_WIDTH = 26,
};

static void show_everyday(void);
static void show_all(void);
static void flags_print(enum command_id command);

bool help_show(const struct arguments *arguments, struct error *error)
{
    const char *word = arguments->operands[0];
    if (!word) {
        if (arguments_value(arguments, FLAG_ALL))
            show_all();
        else
            show_everyday();
        return true;
    }
    if (strcmp(word, "all") == 0) {
        show_all();
        return true;
    }
    const struct command *command = commands_find(word);
    if (command) {
        help_command(command);
        return true;
    }
    for (size_t i = 0; i < commands_topics_count; i++)
        if (strcmp(commands_topics[i].name, word) == 0) {
            terminal_page();
            commands_topics[i].show();
            return true;
        }
    return commands_unknown(word, "command or topic", error);
}

static void title_print(void)
{
    terminal_fold(stdout, "memoir: an allocator, a heap and CPU profiler and a leak checker\n", 0);
    printf("\n");
    terminal_put(stdout, TERMINAL_BOLD, "usage:", 0);
    printf(" memoir COMMAND [ARGUMENT]...\n\n");
}

/* The commands that answer what most people ask. */
static void show_everyday(void)
{
    char topics[256] = "";
    size_t used = 0;
    title_print();
    for (size_t i = 0; i < commands_questions_count; i++)
        terminal_row(stdout, commands[commands_questions[i].command].verb,
                     commands_questions[i].question, NAME_WIDTH - 4);
    for (size_t i = 0; i < commands_topics_count && used < sizeof topics; i++)
        used += (size_t)snprintf(topics + used, sizeof topics - used, "%s%s", i > 0 ? ", " : "",
                                 commands_topics[i].name);
    printf("\n");
    terminal_row(stdout, "memoir help -a", "all commands", EXAMPLE_WIDTH);
    terminal_row(stdout, "memoir help COMMAND", "explain a command and its flags", EXAMPLE_WIDTH);
    terminal_row(stdout, "memoir help TOPIC", topics, EXAMPLE_WIDTH);
    terminal_next("memoir run -- ./program");
}

static void show_all(void)
{
    terminal_page();
    title_print();
    for (size_t i = 0; i < commands_count; i++)
        terminal_row(stdout, commands[i].verb, commands[i].brief, NAME_WIDTH);
    printf("\ntopics of memoir help:\n");
    for (size_t i = 0; i < commands_topics_count; i++)
        terminal_row(stdout, commands_topics[i].name, commands_topics[i].brief, NAME_WIDTH);
    printf("\nflags of every command:\n");
    flags_print(COMMAND_EACH);
}

bool help_version(const struct arguments *arguments, struct error *error)
{
    (void)error;
    if (arguments_value(arguments, FLAG_JSON)) {
        struct json json;
        json_start(&json, stdout, false);
        json_object(&json, NULL);
        json_text(&json, "schema", "memoir.version/1");
        json_text(&json, "version", MEMOIR_VERSION);
        json_end(&json);
        putchar('\n');
        return true;
    }
    printf("memoir %s\n", MEMOIR_VERSION);
    return true;
}

void help_command(const struct command *command)
{
    char usage[600];
    terminal_page();
    snprintf(usage, sizeof usage, "memoir %s%s%s", command->verb, command->synopsis[0] ? " " : "",
             command->synopsis);
    terminal_put(stdout, TERMINAL_BOLD, "usage:", 0);
    printf(" ");
    terminal_rest(stdout, usage, 7);
    printf("\n");
    terminal_fold(stdout, command->brief, 0);
    if (command->details[0]) {
        printf("\n");
        terminal_fold(stdout, command->details, 0);
    }
    printf("\n");
    flags_print(command->id);
    if (commands_reads(command))
        flags_print(COMMAND_READERS);
    flags_print(COMMAND_EACH);
}

static void flags_print(enum command_id command)
{
    for (size_t i = 0; i < commands_flags_count; i++)
        if (commands_flags[i].command == command)
            help_flag(&commands_flags[i]);
}

void help_flag(const struct command_flag *flag)
{
    char text[160];
    snprintf(text, sizeof text, "%s%s%s", flag->name, flag->argument[0] ? " " : "", flag->argument);
    terminal_row(stdout, text, flag->brief, FLAG_COLUMN);
}

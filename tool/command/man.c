/* SPDX-License-Identifier: MIT */
/*
 * The manual pages in roff: memoir(1) from commands.def, memoir.conf(5) from config.def; and the
 * former as docs/COMMANDS.md. They carry no date and no version, so that the pages in docs change
 * only when the tables do.
 */
#include "tool/command/man.h"

#include <stdio.h>
#include <string.h>

#include "tool/command/arguments.h"
#include "tool/command/commands.h"
#include "tool/command/options.h"
#include "tool/terminal/terminal.h"

static void show_markdown(void);
static void markdown_flags(enum command_id command);
static void roff_text(const char *text);
static void roff_paragraphs(const char *text);
static void roff_flags(enum command_id command);

bool man_show(const struct arguments *arguments, struct error *error)
{
    (void)error;
    if (arguments_value(arguments, FLAG_MARKDOWN)) {
        show_markdown();
        return true;
    }
    printf(".TH MEMOIR 1 \"\" memoir \"User commands\"\n"
           ".SH NAME\nmemoir \\- an allocator, a heap and CPU profiler and a leak checker\n"
           ".SH SYNOPSIS\n");
    for (size_t i = 0; i < commands_count; i++) {
        printf("%s.B memoir %s\n", i > 0 ? ".br\n" : "", commands[i].verb);
        if (commands[i].synopsis[0])
            roff_paragraphs(commands[i].synopsis);
    }
    printf(
        ".SH DESCRIPTION\n"
        "libmemoir.so replaces malloc in any program and records where memory is allocated. This "
        "command runs programs with it, controls running ones, and shows their profiles.\n"
        ".SS Questions\n");
    for (size_t i = 0; i < commands_questions_count; i++)
        printf(".TP\n.B memoir %s\n%s\n", commands[commands_questions[i].command].verb,
               commands_questions[i].question);
    printf(".SH COMMANDS\n");
    for (size_t i = 0; i < commands_count; i++) {
        printf(".SS %s\n", commands[i].verb);
        roff_paragraphs(commands[i].brief);
        if (commands[i].details[0]) {
            printf(".PP\n");
            roff_paragraphs(commands[i].details);
        }
        roff_flags(commands[i].id);
    }
    printf(".SH TOPICS\n");
    for (size_t i = 0; i < commands_topics_count; i++)
        printf(".TP\n.B memoir help %s\n%s\n", commands_topics[i].name, commands_topics[i].brief);
    printf(".SH FLAGS OF COMMANDS THAT READ PROFILES\n");
    roff_flags(COMMAND_READERS);
    printf(".SH FLAGS OF EVERY COMMAND\n");
    roff_flags(COMMAND_EACH);
    printf(
        ".SH EXIT STATUS\n"
        ".TP\n.B 0\nsuccess\n"
        ".TP\n.B 1\nfound: leaks, a limit that was exceeded, a difference\n"
        ".TP\n.B 2\na wrong command, flag or option\n"
        ".TP\n.B 3\nsomething can't be read or written\n"
        ".TP\n.B 4\na process is gone or refuses\n"
        ".PP\n.B memoir run\nends as its program does, or with 126 or 127 if it can't be started.\n"
        ".SH ENVIRONMENT\n"
        ".TP\n.B MEMOIR\noptions of the library, see\n.BR memoir.conf (5)\n"
        ".TP\n.B NO_COLOR, CLICOLOR_FORCE\nnever or always use colours\n"
        ".TP\n.B MEMOIR_PAGER, PAGER\npager for long output on a terminal: the first that is set, "
        "else less; empty or cat: none\n"
        ".SH SEE ALSO\n.BR memoir (3),\n.BR memoir.conf (5)\n");
    terminal_next("memoir man | man -l -");
    return true;
}

/* docs/COMMANDS.md. */
static void show_markdown(void)
{
    printf("# Commands\n\n"
           "This page is the output of `memoir man --markdown`; its source is "
           "tool/command/commands.def.\n\n"
           "| question | |\n|---|---|\n");
    for (size_t i = 0; i < commands_questions_count; i++) {
        const char *verb = commands[commands_questions[i].command].verb;
        printf("| %s | [memoir %s](#%s) |\n", commands_questions[i].question, verb, verb);
    }
    printf("\nAll commands:\n\n| command | |\n|---|---|\n");
    for (size_t i = 0; i < commands_count; i++) {
        printf("| [%s](#", commands[i].verb);
        for (const char *at = commands[i].verb; *at; at++) /* headings' anchors have no dots */
            if (*at != '.')
                putchar(*at);
        printf(") | %s |\n", commands[i].brief);
    }
    for (size_t i = 0; i < commands_count; i++) {
        const struct command *command = &commands[i];
        printf("\n## %s\n\n    memoir %s%s%s\n\n%s\n", command->verb, command->verb,
               command->synopsis[0] ? " " : "", command->synopsis, command->brief);
        man_markdown(command->details);
        markdown_flags(command->id);
        if (commands_reads(command))
            printf("\nAlso the [flags of commands that read profiles]"
                   "(#flags-of-commands-that-read-profiles).\n");
    }
    printf("\n## Topics\n\n| topic | |\n|---|---|\n");
    for (size_t i = 0; i < commands_topics_count; i++)
        printf("| `memoir help %s` | %s |\n", commands_topics[i].name, commands_topics[i].brief);
    printf("\n## Flags of commands that read profiles\n");
    markdown_flags(COMMAND_READERS);
    printf("\n## Flags of every command\n");
    markdown_flags(COMMAND_EACH);
    printf("\n## Exit status\n\n"
           "0 success; 1 found leaks, a limit that was exceeded or a "
           "difference; 2 a wrong command, flag or option; 3 something can't be read or written; "
           "4 a process or server is gone or refuses. `memoir run` ends as its program does.\n");
}

/* Lines are folded, so that a change of one sentence is a change of few lines in a diff. None may
 * begin like a list, a heading or a table. */
void man_markdown(const char *text)
{
    enum { COLUMNS = 120 };
    while (*text) {
        size_t end = strcspn(text, "\n"), column = 0;
        putchar('\n');
        for (const char *word = text; word < text + end;) {
            size_t spaces = strspn(word, " "), length = strcspn(word + spaces, " \n");
            bool plain = strchr("-+*#>|=0123456789", word[spaces]) == NULL;
            if (column > 0 && column + spaces + length > COLUMNS && plain) {
                putchar('\n');
                word += spaces;
                spaces = column = 0;
            }
            printf("%.*s", (int)(spaces + length), word);
            column += spaces + length;
            word += spaces + length;
        }
        putchar('\n');
        text += end + (text[end] == '\n');
    }
}

static void markdown_flags(enum command_id command)
{
    bool any = false;
    for (size_t i = 0; i < commands_flags_count; i++) {
        const struct command_flag *flag = &commands_flags[i];
        if (flag->command != command)
            continue;
        if (!any)
            printf("\n| flag | |\n|---|---|\n");
        any = true;
        printf("| `%s%s", flag->name, flag->argument[0] ? " " : "");
        for (const char *text = flag->argument; *text; text++)
            printf("%s%c", *text == '|' ? "\\" : "", *text);
        printf("` | ");
        for (const char *text = flag->brief; *text; text++)
            printf("%s%c", *text == '|' ? "\\" : "", *text);
        printf(" |\n");
    }
}

void man_options(void)
{
    char accepted[200];
    printf(".TH MEMOIR.CONF 5 \"\" memoir \"File formats\"\n"
           ".SH NAME\nmemoir.conf \\- options of libmemoir.so\n"
           ".SH DESCRIPTION\n");
    for (size_t i = 0; i < options_intro_count; i++) {
        bool example = options_intro[i][0] == ' ';
        if (i > 0)
            printf(".PP\n");
        if (example)
            printf(".RS 4\n.nf\n");
        roff_paragraphs(options_intro[i] + example);
        if (example)
            printf(".fi\n.RE\n");
    }
    printf(".SH OPTIONS\n");
    for (size_t i = 0; i < CONFIG_COUNT; i++) {
        printf(".TP\n.B ");
        roff_text(config_options[i].key);
        printf("\n");
        roff_paragraphs(options_docs[i].brief);
        printf(".br\n");
        printf("Default: %s. Accepted: ", options_initial(i));
        roff_text(options_accepted(i, accepted, sizeof accepted));
        printf(".\n");
        if (options_docs[i].details[0]) {
            printf(".IP\n");
            roff_paragraphs(options_docs[i].details);
        }
    }
    printf(".SH FILES\n.TP\n.I /etc/memoir.conf\noptions of every program, may be absent\n"
           ".SH SEE ALSO\n.BR memoir (1),\n.BR memoir (3)\n");
}

/* Every '-' is one that can be copied, every backslash is a backslash. */
static void roff_text(const char *text)
{
    for (; *text; text++) {
        if (*text == '\\')
            printf("\\e");
        else if (*text == '-')
            printf("\\-");
        else
            putchar(*text);
    }
}

/* Paragraphs that end in '\n', the last may lack it. A line must not begin like a request. */
static void roff_paragraphs(const char *text)
{
    for (bool first = true; *text; first = false) {
        char line[2048];
        size_t length = strcspn(text, "\n");
        snprintf(line, sizeof line, "%.*s", (int)length, text);
        if (!first)
            printf(".PP\n");
        if (*line == '.' || *line == '\'')
            printf("\\&");
        roff_text(line);
        printf("\n");
        text += length + (text[length] == '\n');
    }
}

static void roff_flags(enum command_id command)
{
    for (size_t i = 0; i < commands_flags_count; i++) {
        const struct command_flag *flag = &commands_flags[i];
        if (flag->command != command)
            continue;
        printf(".TP\n.B ");
        roff_text(flag->name);
        if (flag->argument[0]) {
            printf(" ");
            roff_text(flag->argument);
        }
        printf("\n");
        roff_paragraphs(flag->brief);
    }
}

/* SPDX-License-Identifier: MIT */
/*
 * `memoir options`: config.def for people, as text, Markdown, JSON and (man.c) roff.
 * docs/OPTIONS.md and the man page are this output, and tests/golden/options.sh fails when they
 * differ, so that the documentation of an option is its row and nothing else.
 */
#include "tool/command/options.h"

#include <stdio.h>
#include <string.h>

#include "base/config_value.h"
#include "tool/command/arguments.h"
#include "tool/command/commands.h"
#include "tool/command/man.h"
#include "tool/terminal/terminal.h"

const struct options_doc options_docs[CONFIG_COUNT] = {
#define OPTION(key, field, kind, initial, low, high, choices, brief, details) {brief, details},
#include "base/config.def"
#undef OPTION
};

const char *const options_intro[] = {
    "The library needs no options. Options are pairs key:value or "
    "key=value, separated by commas or line ends; blanks around them are "
    "ignored, and # begins a comment.",
    "Sources, later ones take precedence: the file /etc/memoir.conf; the "
    "file named by the option conf; the string memoir_conf in the program; "
    "the variable MEMOIR.",
    " MEMOIR=\"heap.rate:64K,return.delay:1s\" LD_PRELOAD=libmemoir.so ./program",
    " memoir run --set heap.rate=64K --set return.delay=1s -- ./program",
    " const char *memoir_conf = \"heap.rate:64K,return.delay:1s\";",
    "A preloaded library sees memoir_conf only if the program exports it: "
    "link it with -rdynamic. Programs linked with memoir need no flag.",
    "An unknown key or a wrong value causes one line on standard error "
    "with the accepted values; it never ends the program. Programs that "
    "run setuid, setgid or with file capabilities ignore all options.",
    "Sizes are bytes with an optional K, M, G or T (powers of 1024). Durations are milliseconds, "
    "or have the suffix ms, s, m or h. Flags are on or off (also yes and no, true and false, 1 "
    "and 0).",
};
const size_t options_intro_count = sizeof options_intro / sizeof *options_intro;

static void show_text(void);
static void show_markdown(void);
static void markdown_cell(const char *text);
static void show_json(void);

bool options_show(const struct arguments *arguments, struct error *error)
{
    if (arguments->flags_count > 1)
        return error_set(error, ERROR_USAGE, "options takes one of --markdown, --man and --json");
    if (arguments_value(arguments, FLAG_MARKDOWN)) {
        show_markdown();
    } else if (arguments_value(arguments, FLAG_MAN)) {
        man_options();
    } else if (arguments_value(arguments, FLAG_JSON)) {
        show_json();
    } else {
        terminal_page();
        show_text();
    }
    return true;
}

const char *options_initial(size_t index)
{
    const char *initial = config_options[index].initial;
    return *initial ? initial : "none";
}

const char *options_accepted(size_t index, char *buffer, size_t size)
{
    struct print print;
    print_start(&print, buffer, size);
    config_value_accepted(&config_options[index], &print);
    return print_string(&print);
}

static void show_text(void)
{
    terminal_page();
    char accepted[200];
    for (size_t i = 0; i < options_intro_count; i++) {
        bool example = options_intro[i][0] == ' ';
        bool next_example = i + 1 < options_intro_count && options_intro[i + 1][0] == ' ';
        if (example)
            printf("   %s\n", options_intro[i]);
        else
            terminal_fold(stdout, options_intro[i], 0);
        if (!example || !next_example)
            printf("\n");
    }
    for (size_t i = 0; i < CONFIG_COUNT; i++) {
        terminal_put(stdout, TERMINAL_BOLD, config_options[i].key, 0);
        options_accepted(i, accepted, sizeof accepted);
        size_t length = strlen(config_options[i].key) + strlen(options_initial(i)) + 6;
        printf(" = %s%s", options_initial(i),
               length + strlen(accepted) > terminal_width() ? "\n      " : "   ");
        terminal_put(stdout, TERMINAL_DIM, accepted, 0);
        printf("\n");
        terminal_fold(stdout, options_docs[i].brief, 4);
        terminal_fold(stdout, options_docs[i].details, 4);
        if (i + 1 < CONFIG_COUNT)
            printf("\n");
    }
}

static void show_markdown(void)
{
    char accepted[200];
    printf("# Options\n\n"
           "This page is the output of `memoir options --markdown`; its source is "
           "base/config.def.\n\n");
    for (size_t i = 0; i < options_intro_count; i++) {
        bool example = options_intro[i][0] == ' ';
        bool next_example = i + 1 < options_intro_count && options_intro[i + 1][0] == ' ';
        printf("%s%s\n%s", example ? "   " : "", options_intro[i],
               example && next_example ? "" : "\n");
    }
    printf("| option | default | accepted | |\n|---|---|---|---|\n");
    for (size_t i = 0; i < CONFIG_COUNT; i++) {
        printf("| `%s` | %s | ", config_options[i].key, options_initial(i));
        markdown_cell(options_accepted(i, accepted, sizeof accepted));
        printf(" | ");
        markdown_cell(options_docs[i].brief);
        printf(" |\n");
    }
    for (size_t i = 0; i < CONFIG_COUNT; i++) {
        if (options_docs[i].details[0]) {
            printf("\n## %s\n", config_options[i].key);
            man_markdown(options_docs[i].details);
        }
    }
}

/* A '|' would end the cell. */
static void markdown_cell(const char *text)
{
    for (; *text; text++)
        printf("%s%c", *text == '|' ? "\\" : "", *text);
}

static void show_json(void)
{
    static const char *const kinds[] = {
        [CONFIG_FLAG] = "flag",         [CONFIG_SIZE] = "size",     [CONFIG_DURATION] = "duration",
        [CONFIG_CHOICE] = "choice",     [CONFIG_NUMBER] = "number", [CONFIG_PATH] = "path",
        [CONFIG_PATTERNS] = "patterns",
    };
    char accepted[200];
    struct json json;
    json_start(&json, stdout, true);
    json_object(&json, NULL);
    json_text(&json, "schema", "memoir.options/1");
    json_array(&json, "options");
    for (size_t i = 0; i < CONFIG_COUNT; i++) {
        json_object(&json, NULL);
        json_text(&json, "key", config_options[i].key);
        json_text(&json, "kind", kinds[config_options[i].kind]);
        json_text(&json, "default", config_options[i].initial);
        json_text(&json, "accepted", options_accepted(i, accepted, sizeof accepted));
        json_text(&json, "brief", options_docs[i].brief);
        json_text(&json, "details", options_docs[i].details);
        json_end(&json);
    }
    json_end(&json);
    json_end(&json);
    putchar('\n');
}

/* SPDX-License-Identifier: MIT */
/*
 * See tool/shell_line.h. libedit is opened when a shell starts and is never linked: a command
 * without a shell must not need it. Completion knows verbs, the flags of the verb in the line, and
 * names of functions of the loaded profile.
 */
#include "tool/shell_line.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool/command/command.h"

enum { HISTORY_MAX = 1000 };

/* What is used of libedit, by the names of GNU readline that it has. */
static struct {
    char *(*readline)(const char *prompt);
    int (*add_history)(const char *line);
    int (*read_history)(const char *path);
    int (*write_history)(const char *path);
    void (*stifle_history)(int lines);
    char **(*matches)(const char *text, char *(*next)(const char *text, int state));
    char **(**attempted)(const char *text, int start, int end);
    int *attempted_over;
} edit;

static const struct profile *completed;
static char *last_line, history_path[4096];
static volatile sig_atomic_t dropped;

static bool symbol(void *library, const char *name, void *place);
static char **complete(const char *text, int start, int end);
static char *next_verb(const char *text, int state);
static char *next_flag(const char *text, int state);
static char *next_function(const char *text, int state);
static void history_find(void);
static char *line_plain(const char *prompt);

void shell_line_start(const struct profile *profile)
{
    completed = profile;
    if (!isatty(0) || !isatty(1))
        return;
    void *library = dlopen("libedit.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!library || !symbol(library, "add_history", &edit.add_history) ||
        !symbol(library, "read_history", &edit.read_history) ||
        !symbol(library, "write_history", &edit.write_history) ||
        !symbol(library, "stifle_history", &edit.stifle_history) ||
        !symbol(library, "rl_completion_matches", &edit.matches) ||
        !symbol(library, "rl_attempted_completion_function", &edit.attempted) ||
        !symbol(library, "rl_attempted_completion_over", &edit.attempted_over) ||
        !symbol(library, "readline", &edit.readline)) {
        edit.readline = NULL;
        return;
    }
    *edit.attempted = complete;
    edit.stifle_history(HISTORY_MAX);
    history_find();
    if (history_path[0] != '\0')
        edit.read_history(history_path);
}

static bool symbol(void *library, const char *name, void *place)
{
    void **function = place;
    *function = dlsym(library, name);
    return *function != NULL;
}

static char **complete(const char *text, int start, int end)
{
    (void)end;
    *edit.attempted_over = 1; /* no names of files */
    if (start == 0)
        return edit.matches(text, next_verb);
    return edit.matches(text, text[0] == '-' ? next_flag : next_function);
}

static char *next_verb(const char *text, int state)
{
    static size_t at;
    if (state == 0)
        at = 0;
    for (; at < commands_count; at++)
        if (strncmp(commands[at].verb, text, strlen(text)) == 0)
            return strdup(commands[at++].verb);
    return NULL;
}

static char *next_flag(const char *text, int state)
{
    static size_t at;
    if (state == 0)
        at = 0;
    for (; at < commands_flags_count; at++)
        if (commands_flags[at].command == COMMAND_READERS &&
            strncmp(commands_flags[at].name, text, strlen(text)) == 0)
            return strdup(commands_flags[at++].name);
    return NULL;
}

static char *next_function(const char *text, int state)
{
    static size_t at;
    const struct profile_function *functions = completed->functions.items;
    if (state == 0)
        at = 1;
    for (; at < completed->functions.count; at++) {
        const char *name = profile_text(completed, functions[at].name);
        if (strncmp(name, text, strlen(text)) == 0)
            return strdup(profile_text(completed, functions[at++].name));
    }
    return NULL;
}

/* Where history is kept: $XDG_STATE_HOME/memoir/history. */
static void history_find(void)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    char folder[4000];
    if (state && state[0] == '/')
        snprintf(folder, sizeof folder, "%s/memoir", state);
    else if (home && home[0] == '/' && access(home, X_OK) == 0) /* it is not ours to make */
        snprintf(folder, sizeof folder, "%s/.local/state/memoir", home);
    else
        return;
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(folder, 0700);
        *slash = '/';
    }
    mkdir(folder, 0700);
    snprintf(history_path, sizeof history_path, "%s/history", folder);
}

char *shell_line_read(const char *prompt)
{
    char *line;
    fflush(stdout);
    for (;;) {
        dropped = 0;
        line = edit.readline ? edit.readline(prompt) : line_plain(prompt);
        if (line || !dropped)
            break;
        putchar('\n');
    }
    if (!line && isatty(0))
        putchar('\n');
    if (line && edit.readline && line[strspn(line, " \t")] != '\0' &&
        !(last_line && strcmp(last_line, line) == 0)) {
        edit.add_history(line);
        free(last_line);
        last_line = strdup(line);
    }
    return line;
}

static char *line_plain(const char *prompt)
{
    char *line = NULL;
    size_t room = 0;
    if (isatty(0)) {
        fputs(prompt, stdout);
        fflush(stdout);
    }
    ssize_t length = getline(&line, &room, stdin);
    if (length < 0) {
        free(line);
        clearerr(stdin);
        return NULL;
    }
    if (length > 0 && line[length - 1] == '\n')
        line[length - 1] = '\0';
    return line;
}

void shell_line_end(void)
{
    if (edit.readline && history_path[0] != '\0') {
        mode_t mask = umask(077);
        edit.write_history(history_path);
        umask(mask);
    }
    free(last_line);
    last_line = NULL;
}

void shell_line_interrupt(void)
{
    dropped = 1;
}

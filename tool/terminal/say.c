/* SPDX-License-Identifier: MIT */
/*
 * See tool/terminal/say.h. The pager is a child whose input is our standard output, as git does it;
 * leaving it early is no error. Hints and next steps are for people: they appear when both streams
 * are a terminal, and always after all output. Words that come from files are cleaned of what a
 * terminal would obey.
 */
#include "tool/terminal/say.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tool/terminal/progress.h"
#include "tool/terminal/screen.h"
#include "tool/terminal/wrap.h"

static struct {
    pid_t process;   /* 0: there is none */
    char next[1024]; /* to be said when it is done */
} pager;

static const char *pager_find(void);
static bool is_runnable(const char *command);
static void said(enum terminal_paint paint, const char *text);
static void line_put(const char *line, size_t length);
static void advise(const char *text);

void terminal_page(void)
{
    const char *command = terminal_fits() && pager.process == 0 ? pager_find() : NULL;
    int ends[2];
    if (!command || pipe(ends) != 0)
        return;
    fflush(stdout);
    pager.process = fork();
    if (pager.process == 0) {
        dup2(ends[0], 0);
        close(ends[0]);
        close(ends[1]);
        setenv("LESS", "FRX", 0);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    if (pager.process > 0) {
        dup2(ends[1], 1);
        signal(SIGPIPE, SIG_IGN); /* it may be left early, which must not end us */
    }
    close(ends[0]);
    close(ends[1]);
}

/* The pager to use, or NULL: MEMOIR_PAGER, PAGER, less, as git does it. */
static const char *pager_find(void)
{
    const char *own = getenv("MEMOIR_PAGER"), *all = getenv("PAGER"), *term = getenv("TERM");
    const char *found = own ? own : all ? all : "less";
    if (*found == '\0' || strcmp(found, "cat") == 0)
        return NULL;
    if (is_runnable(found))
        return !own && !all && term && strcmp(term, "dumb") == 0 ? NULL : found;
    if (own || all)
        terminal_warn("%s is '%s', which can't be executed: printing without a pager",
                      own ? "MEMOIR_PAGER" : "PAGER", found);
    return NULL;
}

/* Whether the first word of a command is a program that can be run. */
static bool is_runnable(const char *command)
{
    const char *places = getenv("PATH");
    char path[PATH_MAX];
    size_t length = strcspn(command, " \t");
    if (strcspn(command, "\"'\\$`;&|<>(){}=") < length) /* the shell knows */
        return true;
    if (memchr(command, '/', length)) {
        snprintf(path, sizeof path, "%.*s", (int)length, command);
        return access(path, X_OK) == 0;
    }
    while (places && *places) {
        size_t folder = strcspn(places, ":");
        snprintf(path, sizeof path, "%.*s/%.*s", (int)folder, places, (int)length, command);
        if (access(path, X_OK) == 0)
            return true;
        places += folder + (places[folder] == ':');
    }
    return false;
}

bool terminal_end(struct error *error)
{
    bool written = fflush(stdout) == 0 && !ferror(stdout);
    int reason = errno;
    if (pager.process > 0) {
        int status;
        close(1);
        while (waitpid(pager.process, &status, 0) < 0 && errno == EINTR)
            continue;
        pager.process = 0;
        if (pager.next[0])
            terminal_next(pager.next);
        return true; /* leaving the pager early is no error */
    }
    if (!written && reason == EPIPE) /* the reader closed it */
        return true;
    return written ||
           error_set(error, ERROR_INPUT, "can't write standard output: %s", strerror(reason));
}

void terminal_warn(const char *format, ...)
{
    va_list list;
    char text[1024];
    if (terminal_is_quiet())
        return;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    terminal_clean(text, strlen(text)); /* names of files may be in it */
    said(TERMINAL_YELLOW, text);
}

/* "memoir: ..." in its colour. */
static void said(enum terminal_paint paint, const char *text)
{
    char line[1100];
    progress_end(); /* whose line would be in the way */
    int length = snprintf(line, sizeof line, "%smemoir:%s %s", terminal_error_code(paint),
                          terminal_error_colors() ? "\033[0m" : "", text);
    line_put(line, length < (int)sizeof line ? (size_t)length : sizeof line - 1);
}

static void line_put(const char *line, size_t length)
{
    unsigned width = terminal_error_width();
    wrap_line(stderr, line, length, width > 0 ? width : UINT_MAX);
}

void terminal_error(const struct error *error)
{
    struct error clean = *error; /* words of files may be in it */
    terminal_clean(clean.text, strlen(clean.text));
    terminal_clean(clean.hint, strlen(clean.hint));
    said(TERMINAL_RED, clean.text);
    if (clean.hint[0])
        advise(clean.hint);
}

static void advise(const char *text)
{
    char line[1100];
    progress_end();
    int length = snprintf(line, sizeof line, "%s %s", terminal_utf8() ? "→" : "->", text);
    line_put(line, length < (int)sizeof line ? (size_t)length : sizeof line - 1);
}

void terminal_next(const char *command)
{
    if (pager.process > 0) {
        snprintf(pager.next, sizeof pager.next, "%s", command);
        return;
    }
    if (!terminal_is_quiet() && terminal_has_reader())
        advise(command);
}

/* SPDX-License-Identifier: MIT */
/*
 * Colour, width, pager and the lines on standard error, decided once at start: when the pager takes
 * over, standard output is a pipe, but a terminal is still what is behind it.
 */
#include "tool/terminal.h"

#include "tool/fit.h"
#include "tool/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <limits.h>
#include <locale.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    WIDTH_PIPED = 100,
    WIDTH_MIN = 40,
};

static struct {
    bool colors[3]; /* by descriptor: 1 and 2 */
    bool quiet;
    bool utf8;
    bool output_tty;
    bool error_tty;
    unsigned width, error_width; /* the latter UINT_MAX where it is no terminal */
    pid_t pager;
    char next[1024]; /* for when the pager is done */
} terminal;

/* A file of ours must not become standard output or error because those are closed. What they
 * become here can't be used in their direction either, and is not passed on. */
static void descriptors_start(void)
{
    static const int modes[] = {O_WRONLY, O_RDONLY, O_WRONLY};
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            open("/dev/null", modes[fd] | O_CLOEXEC);
}

void terminal_start(void)
{
    struct winsize size;
    descriptors_start();
    setlocale(LC_CTYPE, "");
    terminal.utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    terminal.output_tty = isatty(1);
    terminal.error_tty = isatty(2);
    terminal.width = WIDTH_PIPED;
    if (terminal.output_tty && ioctl(1, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        terminal.width = size.ws_col < WIDTH_MIN ? WIDTH_MIN : size.ws_col;
    terminal.error_width = UINT_MAX;
    if (terminal.error_tty && ioctl(2, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        terminal.error_width = size.ws_col < WIDTH_MIN ? WIDTH_MIN : size.ws_col;
    terminal_color(TERMINAL_AUTO);
}

void terminal_color(enum terminal_when when)
{
    const char *none = getenv("NO_COLOR");
    const char *force = getenv("CLICOLOR_FORCE");
    const char *term = getenv("TERM");
    bool able = term && strcmp(term, "dumb") != 0;

    if (when == TERMINAL_AUTO && none && *none)
        when = TERMINAL_NEVER;
    if (when == TERMINAL_AUTO && force && *force && strcmp(force, "0") != 0)
        when = TERMINAL_ALWAYS;
    terminal.colors[1] =
        when == TERMINAL_ALWAYS || (when == TERMINAL_AUTO && able && terminal.output_tty);
    terminal.colors[2] =
        when == TERMINAL_ALWAYS || (when == TERMINAL_AUTO && able && terminal.error_tty);
}

void terminal_quiet(void)
{
    terminal.quiet = true;
}

bool terminal_utf8(void)
{
    return terminal.utf8;
}

bool terminal_colors(void)
{
    return terminal.colors[1];
}

bool terminal_links(void)
{
    const char *term = getenv("TERM");
    return terminal.colors[1] && terminal.output_tty && term && strcmp(term, "linux") != 0 &&
           strncmp(term, "vt", 2) != 0;
}

bool terminal_error_colors(void)
{
    return terminal.colors[2];
}

bool terminal_is_quiet(void)
{
    return terminal.quiet;
}

unsigned terminal_width(void)
{
    return terminal.width;
}

unsigned terminal_error_width(void)
{
    return terminal.error_width == UINT_MAX ? 0 : terminal.error_width;
}

bool terminal_fits(void)
{
    return terminal.output_tty;
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

/* The pager to use, or NULL: MEMOIR_PAGER, PAGER, less, as git does it. */
static const char *pager_find(void)
{
    const char *own = getenv("MEMOIR_PAGER"), *all = getenv("PAGER"), *term = getenv("TERM");
    const char *pager = own ? own : all ? all : "less";
    if (*pager == '\0' || strcmp(pager, "cat") == 0)
        return NULL;
    if (is_runnable(pager))
        return !own && !all && term && strcmp(term, "dumb") == 0 ? NULL : pager;
    if (own || all)
        terminal_warn("%s is '%s', which can't be run: there is no pager",
                      own ? "MEMOIR_PAGER" : "PAGER", pager);
    return NULL;
}

void terminal_page(void)
{
    const char *pager = terminal.output_tty && terminal.pager == 0 ? pager_find() : NULL;
    int ends[2];
    if (!pager || pipe(ends) != 0)
        return;
    fflush(stdout);
    terminal.pager = fork();
    if (terminal.pager == 0) {
        dup2(ends[0], 0);
        close(ends[0]);
        close(ends[1]);
        setenv("LESS", "FRX", 0);
        execl("/bin/sh", "sh", "-c", pager, (char *)NULL);
        _exit(127);
    }
    if (terminal.pager > 0) {
        dup2(ends[1], 1);
        signal(SIGPIPE, SIG_IGN); /* it may be left early, which must not end us */
    }
    close(ends[0]);
    close(ends[1]);
}

bool terminal_end(struct error *error)
{
    bool written = fflush(stdout) == 0 && !ferror(stdout);
    int reason = errno;
    if (terminal.pager > 0) {
        int status;
        close(1);
        while (waitpid(terminal.pager, &status, 0) < 0 && errno == EINTR)
            continue;
        terminal.pager = 0;
        if (terminal.next[0])
            terminal_next(terminal.next);
        return true; /* leaving the pager early is no error */
    }
    if (!written && reason == EPIPE) /* who closed it has seen enough */
        return true;
    return written ||
           error_set(error, ERROR_INPUT, "standard output can't be written: %s", strerror(reason));
}

static const char *const terminal_codes[] = {
    [TERMINAL_BOLD] = "\033[1m",
    [TERMINAL_DIM] = "\033[2m",
    [TERMINAL_RED] = "\033[1;31m",
    [TERMINAL_YELLOW] = "\033[33m",
};

void terminal_put(FILE *file, enum terminal_paint paint, const char *text, unsigned width)
{
    bool colored = terminal.colors[file == stderr ? 2 : 1];
    int missing = (int)width - (int)strlen(text);
    fprintf(file, "%s%s%s%*s", colored ? terminal_codes[paint] : "", text, colored ? "\033[0m" : "",
            missing > 0 ? missing : 0, "");
}

/* `column`: where the line already is. */
static void fold(FILE *file, const char *text, unsigned indent, unsigned column)
{
    while (*text) {
        while (*text && *text != '\n') {
            size_t word = strcspn(text, " \n");
            if (column > indent && column + 1 + word > terminal.width) {
                fputc('\n', file);
                column = 0;
            }
            if (column == 0)
                column = (unsigned)fprintf(file, "%*s", (int)indent, "");
            else if (column > indent)
                column += (unsigned)fprintf(file, " ");
            column += (unsigned)fwrite(text, 1, word, file);
            text += word;
            text += strspn(text, " ");
        }
        fputc('\n', file);
        if (*text == '\n')
            text++;
        column = 0;
    }
}

void terminal_fold(FILE *file, const char *text, unsigned indent)
{
    fold(file, text, indent, 0);
}

void terminal_rest(FILE *file, const char *text, unsigned indent)
{
    fold(file, text, indent, indent);
}

enum { ROW_MARGIN = 2, ROW_BELOW = 6, ROW_TEXT_LEAST = 30 };

/* Names have lists of words joined by '|', which go on below if they are long. The column that it
 * ends at. */
static unsigned row_name(FILE *file, const char *name)
{
    unsigned column = (unsigned)fprintf(file, "%*s", ROW_MARGIN, "");
    while (*name) {
        char part[128];
        size_t length = strlen(name), word = strcspn(name, "|");
        if (column + length > terminal.width && length > word)
            length = word + 1;
        if (column + length > terminal.width && column > ROW_BELOW)
            column = (unsigned)fprintf(file, "\n%*s", ROW_BELOW, "") - 1;
        snprintf(part, sizeof part, "%.*s", (int)length, name);
        terminal_put(file, TERMINAL_BOLD, part, 0);
        column += (unsigned)length;
        name += length;
    }
    return column;
}

void terminal_row(FILE *file, const char *name, const char *text, unsigned indent)
{
    bool beside = terminal.width >= indent + ROW_TEXT_LEAST;
    unsigned column = row_name(file, name);
    indent = beside ? indent : ROW_BELOW;
    if (!beside || column + 1 >= indent || ROW_MARGIN + strlen(name) > terminal.width) {
        fputc('\n', file);
        fold(file, text, indent, 0);
        return;
    }
    fprintf(file, "%*s", (int)(indent - column), "");
    fold(file, text, indent, indent);
}

void terminal_clean(char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        unsigned char next = i + 1 < length ? (unsigned char)text[i + 1] : 0;
        if ((c < ' ' && c != '\n' && c != '\t') || c == 127)
            text[i] = '?';
        else if (c == 0xc2 && next >= 0x80 && next < 0xa0) /* the other controls, in UTF-8 */
            text[i] = text[i + 1] = '?';
    }
}

/* "memoir: ..." in its colour. */
static void said(enum terminal_paint paint, const char *text)
{
    char line[1100];
    bool colored = terminal.colors[2];
    progress_end(); /* whose line would be in the way */
    int length = snprintf(line, sizeof line, "%smemoir:%s %s", colored ? terminal_codes[paint] : "",
                          colored ? "\033[0m" : "", text);
    fit_line(stderr, line, length < (int)sizeof line ? (size_t)length : sizeof line - 1,
             terminal.error_width);
}

static void advise(const char *text)
{
    char line[1100];
    progress_end();
    int length = snprintf(line, sizeof line, "%s %s", terminal.utf8 ? "→" : "->", text);
    fit_line(stderr, line, length < (int)sizeof line ? (size_t)length : sizeof line - 1,
             terminal.error_width);
}

void terminal_warn(const char *format, ...)
{
    va_list list;
    char text[1024];
    if (terminal.quiet)
        return;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    said(TERMINAL_YELLOW, text);
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

void terminal_next(const char *command)
{
    if (terminal.pager > 0) {
        snprintf(terminal.next, sizeof terminal.next, "%s", command);
        return;
    }
    if (!terminal.quiet && terminal.output_tty && terminal.error_tty)
        advise(command);
}

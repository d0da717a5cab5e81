/* SPDX-License-Identifier: MIT */
/*
 * Colour and width, decided once at start: when the pager takes over, standard output is a pipe,
 * but a terminal is still what is behind it.
 */
#include "tool/terminal/screen.h"

#include <fcntl.h>
#include <langinfo.h>
#include <limits.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
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
} terminal;

static volatile sig_atomic_t stopped;

static const char *const terminal_codes[] = {
    [TERMINAL_BOLD] = "\033[1m",
    [TERMINAL_DIM] = "\033[2m",
    [TERMINAL_RED] = "\033[1;31m",
    [TERMINAL_YELLOW] = "\033[33m",
};

enum { ROW_MARGIN = 2, ROW_BELOW = 6, ROW_TEXT_MIN = 30 };

static void descriptors_start(void);
static void fold(FILE *file, const char *text, unsigned indent, unsigned column);
static unsigned row_name(FILE *file, const char *name);

void terminal_start(void)
{
    struct winsize size;
    descriptors_start();
    setlocale(LC_CTYPE, "");
    terminal.quiet = false;
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

/* A file of ours must not become standard output or error because those are closed. What they
 * become here can't be used in their direction either, and is not passed on. */
static void descriptors_start(void)
{
    static const int modes[] = {O_WRONLY, O_RDONLY, O_WRONLY};
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            open("/dev/null", modes[fd] | O_CLOEXEC);
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

void terminal_stop(void)
{
    stopped = true;
}

bool terminal_is_stopped(void)
{
    return stopped;
}

void terminal_resume(void)
{
    stopped = false;
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

bool terminal_has_reader(void)
{
    return terminal.output_tty && terminal.error_tty;
}

const char *terminal_error_code(enum terminal_paint paint)
{
    return terminal.colors[2] ? terminal_codes[paint] : "";
}

void terminal_put(FILE *file, enum terminal_paint paint, const char *text, unsigned width)
{
    bool colored = terminal.colors[file == stderr ? 2 : 1];
    int missing = (int)width - (int)strlen(text);
    fprintf(file, "%s%s%s%*s", colored ? terminal_codes[paint] : "", text, colored ? "\033[0m" : "",
            missing > 0 ? missing : 0, "");
}

void terminal_fold(FILE *file, const char *text, unsigned indent)
{
    fold(file, text, indent, 0);
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

void terminal_rest(FILE *file, const char *text, unsigned indent)
{
    fold(file, text, indent, indent);
}

void terminal_row(FILE *file, const char *name, const char *text, unsigned indent)
{
    bool beside = terminal.width >= indent + ROW_TEXT_MIN;
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

/* SPDX-License-Identifier: MIT */
/* How the command looks: colour, width, and text laid out for both. */
#ifndef TERMINAL_SCREEN_H
#define TERMINAL_SCREEN_H

#include <stdbool.h>
#include <stdio.h>

enum terminal_when {
    TERMINAL_AUTO,
    TERMINAL_ALWAYS,
    TERMINAL_NEVER,
};

enum terminal_paint {
    TERMINAL_BOLD,
    TERMINAL_DIM,
    TERMINAL_RED,
    TERMINAL_YELLOW,
};

/* Looks at the locale, the terminal and the environment. First thing in main. */
void terminal_start(void);
/* --color: overrides NO_COLOR, CLICOLOR_FORCE and whether there is a terminal. */
void terminal_color(enum terminal_when when);
/* Ctrl-C in a shell of ours: the command that runs is to end soon. From a signal handler. */
void terminal_stop(void);
bool terminal_is_stopped(void);
/* The next command is another. */
void terminal_resume(void);
/* --quiet: warnings and next steps do not appear. */
void terminal_quiet(void);

/* Whether the locale can show more than ASCII. */
bool terminal_utf8(void);
/* Whether standard output and standard error have colours. */
bool terminal_colors(void);
bool terminal_error_colors(void);
/* Whether the terminal may be told what a text leads to (OSC 8). */
bool terminal_links(void);
/* Whether --quiet was given. */
bool terminal_is_quiet(void);
/* Columns of the terminal behind standard output, 100 if there is none. */
unsigned terminal_width(void);
/* The same of the one behind standard error, 0 if there is none. */
unsigned terminal_error_width(void);
/* Whether standard output is a terminal, where lines have to fit. */
bool terminal_fits(void);
/* Whether both standard output and standard error are terminals: a person reads along. */
bool terminal_has_reader(void);

/* The text in colour if the stream has colours, padded to `width` columns. */
void terminal_put(FILE *file, enum terminal_paint paint, const char *text, unsigned width);
/* What starts the colour on standard error; "" if it has none. */
const char *terminal_error_code(enum terminal_paint paint);
/* Paragraphs (each ends in '\n') folded into the width, behind `indent` spaces. */
void terminal_fold(FILE *file, const char *text, unsigned indent);

/* The same behind what the line has already, which ends at column `indent`. */
void terminal_rest(FILE *file, const char *text, unsigned indent);
/* A name in bold, and the text behind it from column `indent` on, folded; below the name if that is
 * too long, or the terminal too narrow for both. */
void terminal_row(FILE *file, const char *name, const char *text, unsigned indent);

/* Makes text of unknown origin harmless: what a terminal would obey becomes '?', but for ends of
 * lines. */
void terminal_clean(char *text, size_t length);

#endif

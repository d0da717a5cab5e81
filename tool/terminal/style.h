/* SPDX-License-Identifier: MIT */
/* How reports look, and what every one of them needs: numbers for people, colours, columns. */
#ifndef TERMINAL_STYLE_H
#define TERMINAL_STYLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "tool/terminal/value_unit.h"

enum style_format { STYLE_TEXT, STYLE_JSON, STYLE_CSV };

struct style {
    FILE *out;
    enum style_format format;
    unsigned width; /* columns */
    unsigned rows;  /* of a table; 0: as many as the report thinks right */
    bool color, utf8, links, verbose;
    bool fits;             /* on a terminal: nothing may be wider, names are cut */
    bool by_total;         /* sort by total */
    const char *name;      /* of the input, for the first line */
    const char *base_name; /* of what it is compared with; NULL: nothing */
};

/* An input as a word of a command: its name if a shell takes it as it is, else "FILE". */
const char *style_file(const char *name);
/* "1.31 GiB", "412 M", "3.20 s": three digits and a unit, by the unit of the profile. */
const char *style_value(char text[32], double value, enum value_unit unit);
/* "62 %" */
const char *style_share(char text[16], double part, double whole);
/* "1m02s", "3d04h" */
const char *style_time(char text[32], int64_t ns);
/* Eight levels of the values; ASCII where the locale has no more. Answers `text`. */
const char *style_trend(const struct style *style, char *text, size_t size, const float *values,
                        unsigned count);
/* A number in the colour that its share deserves (UX: heat on the number). */
void style_heat(const struct style *style, double share, const char *text, unsigned width);
/* In a colour: the numbers of its escape sequence, "1;31". */
void style_paint(const struct style *style, const char *code, const char *text);
void style_dim(const struct style *style, const char *text);
/* Columns of a text in UTF-8; of the one character at `at`, whose bytes are *length. */
unsigned style_columns(const char *text);
unsigned style_character(const char *at, const char *end, size_t *length);
/* What a terminal would obey becomes '?'. */
void style_clean(char *text);
/* The same in a copy, which may be cut. */
const char *style_copy(char *text, size_t size, const char *from);
/* A name in at most `width` columns: inside of template arguments first, then its namespaces or
 * folders go, then its middle. */
const char *style_name(char *text, size_t size, const char *name, unsigned width);
/* The same for tables, which cut nothing but arguments where there is no terminal. */
const char *style_cell(const struct style *style, char *text, size_t size, const char *name,
                       unsigned width);
/* Text that is no name: what does not fit into `width` columns goes, at its end. */
void style_cut(char *text, size_t size, unsigned width);
/* file:line, as a link where the terminal knows them. */
void style_place(const struct style *style, const char *file, uint32_t line);
/* The same for as much of it as there is room for. */
void style_place_as(const struct style *style, const char *file, const char *shown);

#endif

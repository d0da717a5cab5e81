/* SPDX-License-Identifier: MIT */
/*
 * Names of functions, as demanglers and other tools write them: where brackets begin and end, what
 * the parts of a name are, and how a long one becomes shorter without losing what it is.
 *
 * Brackets of C++ and Rust can't be counted: < is less-than, shift and operator, > ends an arrow,
 * (anonymous namespace) and operator() have brackets that hold nothing.
 */
#ifndef TERMINAL_NAME_H
#define TERMINAL_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* The last part of a path: what is behind its last slash; all of it if nothing is. */
const char *name_base(const char *path);

/* Whether it ends in `ending` and is more than that. */
bool name_ends_in(const char *text, const char *ending);
/* The place behind `at` in `name`, past a pair of brackets with its contents, an operator's name,
 * or one byte. The end of the name, if a bracket at `at` is never closed. */
const char *name_skip(const char *name, const char *at);
/* Whether a bracket begins at `at`. */
bool name_opens(const char *name, const char *at);
/* The first :: or / outside of brackets, and what is behind it; NULL: none. */
const char *name_scope(const char *name);

/* Shortens `text`, which is UTF-8, to at most `width` columns, as `columns` counts them, if it can:
 * without the trait of Rust, anonymous namespaces, arguments from the innermost brackets outward,
 * and parameters. The function and its class or namespace stay. */
void name_shorten(char *text, unsigned width, unsigned (*columns)(const char *text),
                  const char *dots);
/* Then removes as many namespaces or folders from the start of `text` as needed. */
void name_behead(char *text, unsigned width, unsigned (*columns)(const char *text),
                 const char *dots);

#endif

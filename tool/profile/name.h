/* SPDX-License-Identifier: MIT */
/*
 * Names of functions, as demanglers and other tools write them: where brackets begin and end, what
 * the parts of a name are, and how a long one becomes shorter without losing what it is.
 *
 * Brackets of C++ and Rust can't be counted: < is less-than, shift and operator, > ends an arrow,
 * (anonymous namespace) and operator() have brackets that hold nothing.
 */
#ifndef PROFILE_NAME_H
#define PROFILE_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* Behind what is at `at`, a place in `name`: a pair of brackets with all in it, an operator's name,
 * or one byte. Behind the rest of the name, if a bracket there has no end. */
const char *name_skip(const char *name, const char *at);
/* Whether a bracket begins at `at`. */
bool name_opens(const char *name, const char *at);
/* The bracket that ends the one at `open`; NULL: none, or it is no bracket. */
const char *name_closing(const char *name, const char *open);
/* The first :: or / outside of brackets, and what is behind it; NULL: none. */
const char *name_scope(const char *name);

/* Makes `text`, which is UTF-8, shorter until it has at most `width` columns, by `columns`, or
 * nothing is left to leave out: the trait of Rust, anonymous namespaces, arguments from the
 * innermost brackets outward, parameters. The function and what it belongs
 * to stay. */
void name_shorten(char *text, unsigned width, unsigned (*columns)(const char *text),
                  const char *dots);
/* Then namespaces or folders from its beginning, as many as must. */
void name_behead(char *text, unsigned width, unsigned (*columns)(const char *text),
                 const char *dots);

#endif

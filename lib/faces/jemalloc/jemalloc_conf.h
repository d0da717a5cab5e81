/* SPDX-License-Identifier: MIT */
/*
 * jemalloc's options: read from jemalloc's places in jemalloc's order, with jemalloc's complaints.
 * jemalloc_options.def is the table; what an option does here is said in jemalloc.c.
 */
#ifndef JEMALLOC_JEMALLOC_CONF_H
#define JEMALLOC_JEMALLOC_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum jemalloc_kind {
    JEMALLOC_BOOL,
    JEMALLOC_SIZE,
    JEMALLOC_SSIZE,
    JEMALLOC_UNSIGNED,
    JEMALLOC_U64,
    JEMALLOC_I64,
    JEMALLOC_ENUM,
    JEMALLOC_PREFIXED,
    JEMALLOC_TEXT,
    JEMALLOC_FLAGS,
    JEMALLOC_RANGES,
    JEMALLOC_RATIO,
};

/* Of the texts in a row, with the zero: as large as the longest needs. */
enum {
    JEMALLOC_NAME_SIZE = 44,
    JEMALLOC_INITIAL_SIZE = 12,
    JEMALLOC_WORDS_SIZE = 28,
};

#define OPTION(name, ...) JEMALLOC_##name,
enum jemalloc_name {
#include "lib/faces/jemalloc/jemalloc_options.def"
    JEMALLOC_OPTIONS
};
#undef OPTION

/* The texts lie in the row: pointers to them would be relocated, and every program would have the
 * table in memory of its own. */
struct jemalloc_option {
    int64_t high;
    int32_t low;
    enum jemalloc_kind kind : 8;
    bool clip, shown;
    char name[JEMALLOC_NAME_SIZE];
    char initial[JEMALLOC_INITIAL_SIZE];
    char words[JEMALLOC_WORDS_SIZE];
};

struct jemalloc_value {
    uint64_t number;  /* of the kinds that have one; a RATIO times 2^16 */
    const char *text; /* of the others */
    bool given;       /* by some source */
};

extern const struct jemalloc_option jemalloc_options[JEMALLOC_OPTIONS];
extern struct jemalloc_value jemalloc_values[JEMALLOC_OPTIONS];

/* The texts that were read, for mallctl("opt.malloc_conf..."); NULL where there was none. */
enum {
    JEMALLOC_BUILTIN,
    JEMALLOC_GLOBAL,
    JEMALLOC_LINK,
    JEMALLOC_VARIABLE,
    JEMALLOC_HARDER,
    JEMALLOC_SOURCES
};
extern const char *jemalloc_texts[JEMALLOC_SOURCES];

/* Reads all sources. May end the program if abort_conf says so. */
void jemalloc_conf_load(void);

/* Sets one option from the text. NULL, or the error. */
const char *jemalloc_value_parse(enum jemalloc_name name, const char *value, size_t length);
/* Whether some source gave it another value than the initial one. Before main only. */
bool jemalloc_value_differs(enum jemalloc_name name);
/* Whether a text has the form "8-16:4|32-64:8", and the next number of one that has. */
bool ranges_are_fine(const char *text, size_t length);
size_t ranges_number(const char **at);
/* All options as they are without any source. */
void jemalloc_value_defaults(void);

/* Text for the user, to malloc_message if the program set one, else to standard error. */
void jemalloc_write(const char *text);
/* The same for text that the program asked for by a call: to standard error whatever that is. */
void jemalloc_answer(void *opaque, const char *text);
void jemalloc_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

static inline bool jemalloc_on(enum jemalloc_name name)
{
    return jemalloc_values[name].number != 0;
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The old commands: jeprof of jemalloc 5.3.0, google-pprof of gperftools 2.10 (both Perl) and Go's
 * pprof. Their command lines, their tables to the byte, their shells; memoir reads the profile and
 * finds the names.
 *
 * How they end is theirs, too: messages without our name before them, and exit status 1.
 */
#ifndef COMPAT_COMPAT_H
#define COMPAT_COMPAT_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tool/memory/memory.h"
#include "tool/profile/profile.h"

enum compat_command { COMPAT_JEPROF, COMPAT_GOOGLE, COMPAT_GO };

enum compat_option {
#define OPTION(id, name, kind, commands) COMPAT_##id,
#include "tool/compat/compat_options.def"
#undef OPTION
    COMPAT_OPTIONS
};

struct compat_value {
    bool on; /* switches: the state; others: it was given */
    const char *text;
    double number;
};

struct compat_words {
    enum compat_command command;
    const char *name; /* that people call it by */
    struct compat_value value[COMPAT_OPTIONS];
    const char **bases; /* of --base and -diff_base */
    size_t bases_count;
    const char **operands;
    size_t operands_count;
};

/* Ends the command, all output written. */
void compat_end(int status) __attribute__((noreturn));
/* With status 1; in a shell only the line that was typed ends, and the shell goes on at `where`. */
void compat_stop(void) __attribute__((noreturn));
void compat_resume(jmp_buf *where);
/* The message, as it is, and compat_stop. */
void compat_fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
void compat_out_of_memory(void) __attribute__((noreturn));
/* realloc that never returns NULL. */
void *compat_room(void *old, size_t count, size_t size);
/* list_reserve, and map_find_as, that never fail. */
void compat_reserve(void *items, size_t *room, size_t want, size_t item_size);
uint32_t compat_find(struct map *map, const void *context, const struct map_kind *kind,
                     uint64_t hash, const void *key);

/* compat_options.c: `words` ends in NULL. Wrong words end the command as theirs does. */
void compat_parse(struct compat_words *words, enum compat_command command, char **arguments);
/* Whether a word is an option that only Go's pprof has. */
bool compat_is_go(char **arguments);
void compat_usage(const struct compat_words *words, const char *message) __attribute__((noreturn));
void compat_help(const struct compat_words *words, FILE *file);
const char *compat_text(const struct compat_words *words, enum compat_option option);

/* Profiles of servers (compat_fetch.c): the file that it was written to, to be freed. */
bool compat_is_url(const char *word);
char *compat_fetch(const struct compat_words *words, const char *url);
void compat_fetch_names(const struct compat_words *words, struct profile *profile);
/* compat_file.c. What the first line of a file says of its numbers. */
struct compat_head {
    int version;   /* of the sampling: 0 none, 1 or 2 */
    double period; /* bytes */
    bool threaded; /* jemalloc's */
};
struct compat_head compat_head(const char *path);
/* Addresses outside of all mappings may be the program's own, or those of another file; "": none.
 */
void compat_own(struct profile *profile, const char *program, const char *library);
/* Regular expressions (compat_pattern.c). One that is wrong ends the command; "" fits all. To be
 * freed; NULL may be, too. */
struct compat_pattern *compat_pattern(const char *text);
bool compat_pattern_fits(const struct compat_pattern *pattern, const char *text);
/* What the first parentheses took; NULL: it does not fit. To be freed. */
char *compat_pattern_take(const struct compat_pattern *pattern, const char *text);
void compat_pattern_free(struct compat_pattern *pattern);

/* The name without parameters, template arguments and result, as Perl's cut it. To be freed
 * (compat_name.c). */
char *compat_short_name(const char *name, bool keep_templates);
/* compat_line.c. A line of input, without its end; NULL at the end. To be freed. The prompt goes
 * to `out`. */
char *compat_line(const char *prompt, FILE *out);

/* compat_file.c. A file that a profile names, to be read; NULL with errno. A profile may name any:
 * a pipe or a device is not opened. */
FILE *compat_named_file(const char *path);

/* A line of a shell may end in "> file" or "| command": cut off, and standard output goes there.
 * False: it can't; what is wrong is said. `tell`: where it goes, too. Pair with compat_divert_end.
 */
struct compat_divert {
    FILE *file;
    int kept;
    bool command;
};
bool compat_divert(struct compat_divert *divert, char *line, bool tell);
void compat_divert_end(struct compat_divert *divert);

/* compat_show.c. Draws a graph in the language of graphviz. */
void compat_show(const struct compat_words *words, const char *dot, enum compat_option how);
/* NULL: in a browser. */
void compat_open(const struct compat_words *words, const char *viewer, const char *path);

#endif

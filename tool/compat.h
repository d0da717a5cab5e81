/* SPDX-License-Identifier: MIT */
/*
 * The old commands: jeprof of jemalloc 5.3.0, google-pprof of gperftools 2.10 (both Perl) and Go's
 * pprof. Their command lines, their tables to the byte, their shells; memoir reads the profile and
 * finds the names.
 *
 * `pprof` was the name of two of them. Words that only Go's knows make it Go's, and so does a
 * profile in its own format; everything else is the older one.
 *
 * How they end is theirs, too: messages without our name before them, and exit status 1.
 */
#ifndef TOOL_COMPAT_H
#define TOOL_COMPAT_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tool/profile/profile.h"
#include "tool/symbol/symbol.h"

enum compat_command { COMPAT_JEPROF, COMPAT_GOOGLE, COMPAT_GO };

enum compat_option {
#define OPTION(id, name, kind, commands) COMPAT_##id,
#include "tool/compat_options.def"
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
/* Memory or nothing. */
void *compat_room(void *old, size_t count, size_t size);

/* compat_options.c: `words` ends in NULL. Wrong words end the command as theirs does. */
void compat_parse(struct compat_words *words, enum compat_command command, char **arguments);
/* Whether a word is an option that only Go's pprof has. */
bool compat_is_go(char **arguments);
void compat_usage(const struct compat_words *words, const char *message) __attribute__((noreturn));
void compat_help(const struct compat_words *words, FILE *file);
const char *compat_text(const struct compat_words *words, enum compat_option option);

/* The profile behind the operands (compat_load.c). */
struct compat_profile {
    struct profile profile;
    const char *program; /* "" if there is none */
    bool symbolized;     /* a file of --raw, with the names of functions and no lines */
    unsigned type;       /* the column that is asked for */
    enum profile_kind kind;
    unsigned digits; /* of an address: 16 or 8 */
    double *values;  /* of each sample */
    struct symbol_options symbols;
};
void compat_load(struct compat_profile *loaded, const struct compat_words *words,
                 const char *thread);
/* Profiles of servers (compat_fetch.c): the file that it was written to, to be freed. */
bool compat_is_url(const char *word);
char *compat_fetch(const struct compat_words *words, const char *url);
void compat_fetch_names(const struct compat_words *words, struct profile *profile);
/* What the first line of a file says of its numbers. */
struct compat_head {
    int version;   /* of the sampling: 0 none, 1 or 2 */
    double period; /* bytes */
    bool threaded; /* jemalloc's */
};
struct compat_head compat_head(const char *path);
/* One number of a sample. */
double compat_sample(const struct compat_profile *loaded, unsigned type, size_t sample);
/* Addresses outside of all mappings may be the program's own, or those of another file; "": none.
 */
void compat_own(struct profile *profile, const char *program, const char *library);
/* The threads of a file of jemalloc's, in order; NULL: it has none. */
uint64_t *compat_threads(const char *path, size_t *count);

/* Regular expressions (compat_pattern.c). One that is wrong ends the command; "" fits all. To be
 * freed; NULL may be, too. */
struct compat_pattern *compat_pattern(const char *text);
bool compat_pattern_fits(const struct compat_pattern *pattern, const char *text);
/* What the first parentheses took; NULL: it does not fit. To be freed. */
char *compat_pattern_take(const struct compat_pattern *pattern, const char *text);
void compat_pattern_free(struct compat_pattern *pattern);

/* Perl's view of a profile (compat_stacks.c): addresses with names, stacks of addresses. */
struct compat_name {
    char *name;  /* shortened */
    char *place; /* "file:line", "??:0" */
    char *full;
};
struct compat_stack {
    uint32_t first, count; /* in `path`, leaf first */
    double value;
    bool cut; /* the first is not the one that was recorded first, but its caller */
};
struct compat_stacks {
    const struct compat_profile *from;
    const struct compat_words *words;
    uint32_t *first_name; /* by location: where in `names`; innermost first; one more at the end */
    struct compat_name *names;
    size_t names_count;
    uint32_t *path; /* locations */
    struct compat_stack *stacks;
    size_t count;
    double total; /* of all, before anything was filtered */
};
void compat_stacks_make(struct compat_stacks *stacks, const struct compat_profile *from,
                        const struct compat_words *words);
void compat_stacks_free(struct compat_stacks *stacks);
/* The names of all locations (compat_names.c). */
void compat_names_make(struct compat_stacks *stacks);
/* Stacks with (or without) a frame that fits. A pattern that is none ends the command. */
void compat_stacks_filter(struct compat_stacks *stacks, const char *pattern, bool keep);
/* `from` with stacks of its own, to be filtered; shares all else. To be freed: `stacks`. */
struct compat_stacks compat_stacks_copy(const struct compat_stacks *from);
double compat_stacks_sum(const struct compat_stacks *stacks);
/* The name without parameters, template arguments and result, as Perl's cut it. To be freed. */
char *compat_short_name(const char *name, bool keep_templates);
/* The address that they show of a frame: one before where a call returns to. */
uint64_t compat_code(const struct compat_profile *from, uint32_t location, bool leaf,
                     enum compat_command command);
void compat_address(const struct compat_profile *from, uint32_t location, bool leaf,
                    enum compat_command command, char text[20]);

/* Stacks in the terms that were asked for; each of a stack's nodes once, leaf first. */
struct compat_node {
    char *name;
    double flat, total;
    bool inlined;
};
struct compat_nodes {
    struct compat_node *nodes;
    size_t count, room;
    uint32_t *table;  /* by hash: node + 1 */
    uint32_t *path;   /* all frames of all stacks as nodes, with repetitions */
    uint32_t *starts; /* by stack; one more at the end */
    double total;
};
enum compat_by { COMPAT_BY_FUNCTION, COMPAT_BY_LINE, COMPAT_BY_FILE, COMPAT_BY_ADDRESS };
void compat_nodes_make(struct compat_nodes *nodes, const struct compat_stacks *stacks,
                       enum compat_by by);
void compat_nodes_free(struct compat_nodes *nodes);
enum compat_by compat_by(const struct compat_words *words);

/* Numbers as Perl's print them: megabytes, bytes, objects, seconds, samples. */
const char *compat_number(const struct compat_stacks *stacks, double value, char text[40]);
const char *compat_percent(double part, double whole, char text[40]);
const char *compat_units(const struct compat_stacks *stacks);

/* Outputs of the Perl commands. */
void compat_print_text(const struct compat_stacks *stacks, bool by_total, enum compat_by by,
                       int rows);
void compat_print_collapsed(const struct compat_stacks *stacks);
void compat_print_stacks(const struct compat_stacks *stacks);
void compat_print_raw(const struct compat_stacks *stacks);
void compat_print_callgrind(const struct compat_stacks *stacks, FILE *file);
void compat_print_symbols(const struct compat_words *words);
bool compat_print_dot(const struct compat_stacks *stacks, FILE *file);

/* The shell of the Perl commands (compat_shell.c). */
void compat_shell(const struct compat_stacks *stacks);
/* A line of input, without its end; NULL at the end. To be freed. The prompt goes to `out`. */
char *compat_line(const char *prompt, FILE *out);

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

/* Pictures, and viewers for them (compat_picture.c); sources and machine code (compat_source.c). */
void compat_picture(const struct compat_stacks *stacks, enum compat_option how);
void compat_source(const struct compat_stacks *stacks, enum compat_option how, const char *pattern);
/* Draws a graph in the language of graphviz. */
void compat_show(const struct compat_words *words, const char *dot, enum compat_option how);
/* NULL: in a browser. */
void compat_open(const struct compat_words *words, const char *viewer, const char *path);

/* compat_go.c */
void compat_go(char **arguments) __attribute__((noreturn));

#endif

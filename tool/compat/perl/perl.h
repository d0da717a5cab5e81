/* SPDX-License-Identifier: MIT */
/* The Perl commands: their view of a profile, and what they print of it. */
#ifndef COMPAT_PERL_PERL_H
#define COMPAT_PERL_PERL_H

#include "tool/compat/compat.h"
#include "tool/memory/memory.h"
#include "tool/symbol/symbol.h"

/* The profile behind the operands (perl_load.c). */
struct perl_profile {
    struct profile profile;
    const char *program; /* "" if there is none */
    bool symbolized;     /* a file of --raw, with the names of functions and no lines */
    unsigned type;       /* the column that is asked for */
    enum profile_kind kind;
    unsigned digits; /* of an address: 16 or 8 */
    double *values;  /* of each sample */
    struct symbol_options symbols;
};
void perl_load(struct perl_profile *loaded, const struct compat_words *words, const char *thread);
/* One number of a sample. */
double perl_sample(const struct perl_profile *loaded, unsigned type, size_t sample);
/* The threads of a file of jemalloc's, in order; NULL: it has none. */
uint64_t *perl_threads(const char *path, size_t *count);

/* Perl's view of a profile (perl_stacks.c): addresses with names, stacks of addresses. */
struct perl_name {
    char *name;  /* shortened */
    char *place; /* "file:line", "??:0" */
    char *full;
};
struct perl_stack {
    uint32_t first, count; /* in `path`, leaf first */
    double value;
    bool cut; /* the first is not the one that was recorded first, but its caller */
};
struct perl_stacks {
    const struct perl_profile *from;
    const struct compat_words *words;
    uint32_t *first_name; /* by location: where in `names`; innermost first; one more at the end */
    struct perl_name *names;
    size_t names_count;
    uint32_t *path; /* locations */
    struct perl_stack *stacks;
    size_t count;
    double total; /* of all, before anything was filtered */
};
void perl_stacks_make(struct perl_stacks *stacks, const struct perl_profile *from,
                      const struct compat_words *words);
void perl_stacks_free(struct perl_stacks *stacks);
/* The names of all locations (perl_names.c). */
void perl_names_make(struct perl_stacks *stacks);
/* Stacks with (or without) a frame that fits. A pattern that is none ends the command. */
void perl_stacks_filter(struct perl_stacks *stacks, const char *pattern, bool keep);
/* `from` with stacks of its own, to be filtered; shares all else. To be freed: `stacks`. */
struct perl_stacks perl_stacks_copy(const struct perl_stacks *from);
double perl_stacks_sum(const struct perl_stacks *stacks);
/* The address that they show of a frame: one before where a call returns to. */
uint64_t perl_code(const struct perl_profile *from, uint32_t location, bool leaf,
                   enum compat_command command);
void perl_address(const struct perl_profile *from, uint32_t location, bool leaf,
                  enum compat_command command, char text[20]);

/* Stacks in the terms that were asked for; each of a stack's nodes once, leaf first. */
struct perl_node {
    char *name;
    double flat, total;
    bool inlined;
};
struct perl_nodes {
    struct perl_node *nodes;
    size_t count, room;
    struct map names;
    uint32_t *path;   /* all frames of all stacks as nodes, with repetitions */
    uint32_t *starts; /* by stack; one more at the end */
    double total;
};
enum perl_by { PERL_BY_FUNCTION, PERL_BY_LINE, PERL_BY_FILE, PERL_BY_ADDRESS };
void perl_nodes_make(struct perl_nodes *nodes, const struct perl_stacks *stacks, enum perl_by by);
void perl_nodes_free(struct perl_nodes *nodes);
enum perl_by perl_by(const struct compat_words *words);

/* Numbers as Perl's print them: megabytes, bytes, objects, seconds, samples. */
const char *perl_number(const struct perl_stacks *stacks, double value, char text[40]);
const char *perl_number_or_dot(const struct perl_stacks *stacks, double value, char text[40]);
const char *perl_percent(double part, double whole, char text[40]);
const char *perl_units(const struct perl_stacks *stacks);

/* Outputs of the Perl commands. */
void perl_print_text(const struct perl_stacks *stacks, bool by_total, enum perl_by by, int rows);
void perl_print_collapsed(const struct perl_stacks *stacks);
void perl_print_stacks(const struct perl_stacks *stacks);
void perl_print_raw(const struct perl_stacks *stacks);
void perl_print_callgrind(const struct perl_stacks *stacks, FILE *file);
void perl_print_symbols(const struct compat_words *words);
bool perl_print_dot(const struct perl_stacks *stacks, FILE *file);

/* The shell of the Perl commands (perl_shell.c). */
void perl_shell(const struct perl_stacks *stacks);
/* Pictures, and viewers for them (perl_picture.c); sources and machine code (perl_source.c). */
void perl_picture(const struct perl_stacks *stacks, enum compat_option how);
void perl_source(const struct perl_stacks *stacks, enum compat_option how, const char *pattern);

/* Runs the command; `arguments` ends in NULL. */
void perl_run(enum compat_command command, char **arguments);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Go's pprof: the profile is copied into samples and places that its filters may cut, then made
 * into a graph of nodes, which its reports print.
 */
#ifndef COMPAT_GO_GO_H
#define COMPAT_GO_GO_H

#include "tool/compat/compat.h"
#include "tool/memory/memory.h"

struct go_line {
    const char *name, *system_name, *file;
    uint32_t line, column, start_line;
    bool none; /* there is no name for it */
};

/* A location: what of its lines is left, innermost first. */
struct go_place {
    uint64_t address;
    uint32_t mapping;      /* of the profile; 0: none */
    uint32_t first, count; /* in `lines` */
};

struct go_sample {
    uint32_t first, count; /* in `path`, leaf first */
    uint32_t row;          /* of the profile's samples; for its labels */
    int64_t value, divisor;
    int64_t bytes; /* of one object, where the file gives no label; 0: not known */
    bool base;     /* of -diff_base */
};

struct go_profile {
    const struct compat_words *words;
    const struct profile *from;
    const char *program;
    unsigned type;
    bool mean;
    bool objects; /* nodes of different files are different, whatever their names */
    char sample_type[80];
    const char *sample_unit;
    char unit[24]; /* of the output */
    struct go_place *places;
    size_t places_count; /* those of the profile, then frames made of labels */
    struct go_line *lines;
    size_t lines_count;
    uint32_t *path;
    struct go_sample *samples;
    size_t count;
    int64_t total;
    struct compat_pattern *tag_show, *tag_hide; /* keys of labels; NULL: all, none */
    char **kept;                                /* texts that live as long */
    size_t kept_count, kept_room;
};

struct go_node {
    char *name; /* as it is printed */
    const char *function, *file, *object;
    uint32_t line, column, start_line; /* start_line: where files count, or there is no name */
    uint64_t address;
    uint32_t kind, above; /* of a tree: which of its kinds, and the node that calls it, from 1 */
    int64_t flat, flat_divisor, cum, cum_divisor;
    size_t seen;
    bool kept;
};

struct go_edge {
    uint32_t from, to;
    int64_t weight, divisor;
    size_t seen;
    bool residual, inlined, gone;
};

struct go_graph {
    struct go_node *nodes;
    size_t nodes_count, nodes_room;
    struct go_node
        *kinds; /* what nodes there may be; of a tree many are of one kind, else the same */
    size_t kinds_count;
    uint32_t *kind_of_line; /* by line; behind them, by place without lines */
    bool is_tree;
    struct map below; /* of a tree: its nodes by caller and kind */
    uint32_t *order;  /* of those that are left */
    size_t count;
    struct go_edge *edges;
    size_t edges_count, edges_room;
    struct map calls;           /* edges by their ends */
    struct go_edge **sorted[2]; /* those that are left, by source, by target */
    uint32_t *starts[2];        /* in it, by node; one more at the end */
    size_t before, dropped_nodes, dropped_edges;
    int64_t node_cutoff, edge_cutoff; /* what is smaller is left out */
};

/* What a report is made with; the shell changes it from command to command. */
struct go_settings {
    enum compat_option report;
    const char *pattern; /* of peek, list, ... */
};

/* go_fetch.c: reads and merges what the words name, and finds the names. */
void go_fetch(struct profile *profile, const struct compat_words *words, const char **program);
/* Whether -symbolize says that names stay as they are. */
bool go_symbolize_none(const char *mode);

/* go_binaries.c: mappings lead to files in the folders of PPROF_BINARY_PATH. */
void go_find_binaries(struct profile *profile);

/* go_profile.c */
void go_profile_make(struct go_profile *go, const struct compat_words *words,
                     const struct profile *from, const char *program,
                     const struct go_settings *settings);
void go_profile_free(struct go_profile *go);
/* The column of a name or number; false: there is none, and that is said. */
bool go_type_find(const struct profile *from, const char *wanted, unsigned *found);
/* A text that lives as long as the profile. */
const char *go_keep(struct go_profile *go, char *text);

/* go_tags.c: the labels of a sample that are shown; the unit of a number. */
size_t go_labels(const struct go_profile *go, const struct go_sample *sample,
                 struct profile_label labels[PROFILE_LABELS_MAX]);
const char *go_tag_unit(const struct go_profile *go, const struct profile_label *label);
void go_choose_tags(struct go_profile *go);
void go_tag_frames(struct go_profile *go);
/* Says so when an expression fits nothing. */
void go_warn(bool matched, const char *name);

/* go_filter.c */
void go_focus(struct go_profile *go);
/* The allocator's own frames. */
void go_drop_frames(struct go_profile *go);

/* go_graph.c; `tree`: a node for each way that leads to it (-call_tree). */
void go_graph_make(struct go_graph *graph, const struct go_profile *go, bool tree, bool cum,
                   double nodes_max, double node_share, double edge_share);
/* The same for a picture: the nodes that tell most, and no edges that say nothing. */
void go_graph_draw(struct go_graph *graph, const struct go_profile *go, bool tree, double nodes_max,
                   double node_share, double edge_share);
/* The node of a frame (its line, or behind all lines its place), called by that of `above`; -1: it
 * is outermost. */
uint32_t go_graph_node(const struct go_graph *graph, int64_t above, size_t slot);
/* Sums and edges anew, of the nodes that are kept; the first `count` are, by order. */
void go_graph_keep(struct go_graph *graph, const struct go_profile *go, size_t count);
void go_graph_free(struct go_graph *graph);
int64_t go_flat(const struct go_node *node);
int64_t go_cum(const struct go_node *node);
/* The edges that end (or begin) at a node, the heaviest first; count of them. */
/* The heavier first, then by name. */
int go_compare_edges(const struct go_node *nodes, const struct go_edge *left,
                     const struct go_edge *right);
struct go_edge **go_edges(struct go_graph *graph, uint32_t node, bool into, size_t *count);

/* go_tree.c */
void go_tree_make(struct go_graph *graph, const struct go_profile *go);
uint32_t go_tree_node(const struct go_graph *graph, int64_t above, uint32_t kind);

/* go_unit.c */
double go_scale(int64_t value, const char *from, const char *to, const char **unit);
const char *go_label(int64_t value, const char *from, const char *to, char text[64]);
/* Units of one kind can be turned into each other; -1: it is of no kind. */
int go_unit_kind(const char *unit);
const char *go_percentage(int64_t value, int64_t total, char text[32]);

/* go_text.c */
const char *go_format(const struct go_profile *go, int64_t value, char text[64]);
/* The unit that suits the smallest number of the report; `whole`: there are no fractions. */
void go_choose_unit(struct go_profile *go, const struct go_graph *graph, bool whole);
void go_print_head(const struct go_profile *go, FILE *out);
/* The lines above a report; `whole`: of a picture, with all that was left out. */
void go_print_labels(const struct go_profile *go, const struct go_graph *graph, double node_share,
                     double edge_share, bool whole, FILE *out);
bool go_report(struct go_profile *go, const struct go_settings *settings);

/* go_list.c: the name of a source as it is shown; false: nothing fits. */
const char *go_trim(const struct go_profile *go, const char *name);
bool go_print_list(struct go_profile *go, const struct go_graph *graph, const char *pattern);

/* go_disasm.c: false: nothing fits. */
bool go_print_disasm(struct go_profile *go, const struct go_graph *graph, const char *pattern);

/* Labels of the samples of a node: all texts, or a number with them (go_labels.c). */
struct go_tag {
    uint32_t node;
    bool numeric;
    const char *labels, *name; /* name: the labels again, or the number as text */
    const char *unit;
    int64_t value, flat, flat_divisor, cum, cum_divisor;
};
struct go_tags {
    struct go_tag *items; /* by node */
    size_t count, room;
    uint32_t *starts; /* by node; one more at the end */
    struct map known;
    void *texts;
};
/* Those that stand for at least so much. */
void go_tags_make(struct go_tags *tags, const struct go_profile *go, const struct go_graph *graph,
                  int64_t min);
void go_tags_free(struct go_tags *tags);
/* The largest first; `flat`: by the node's own. */
void go_tags_sort(struct go_tag *tags, size_t count, bool flat);

/* go_trim.c: see go_graph_draw. */
void go_graph_trim(struct go_graph *graph, const struct go_profile *go, double nodes_max);

/* go_dot.c */
void go_print_dot(struct go_profile *go, struct go_graph *graph, double node_share,
                  double edge_share, FILE *out);

/* go_picture.c */
void go_picture(struct go_profile *go, struct go_graph *graph, double node_share, double edge_share,
                enum compat_option how);

/* go_write.c: -proto, -topproto, -callgrind. */
bool go_write(struct go_profile *go, struct go_graph *graph, enum compat_option how);

/* go_traces.c */
/* A label as a line of text, to be sorted. */
struct go_text {
    char *text;
    int64_t value;
};
int go_compare_texts(const void *a, const void *b);
/* The text without what a terminal would obey. */
void go_print_clean(const char *before, const char *text, const char *after);
void go_print_traces(struct go_profile *go, const struct go_graph *graph);
void go_print_tags(const struct go_profile *go);
void go_print_comments(const struct go_profile *go);

/* go_raw.c */
void go_print_raw(const struct go_profile *go);

/* go.c */
/* Runs the command; `arguments` ends in NULL. */
void go_start(char **arguments) __attribute__((noreturn));
bool go_run(const struct compat_words *words, const struct profile *profile, const char *program,
            const struct go_settings *settings);

/* go_shell.c */
void go_shell(struct compat_words *words, const struct profile *profile, const char *program);

#endif

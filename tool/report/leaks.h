/* SPDX-License-Identifier: MIT */
/*
 * What a program did not free, from what was recorded. Which of it is called a leak is a rule, and
 * the answer names it:
 *
 *      lost     the program was scanned: blocks that nothing points to any more
 *      exit     every block was recorded and the program exited normally: whatever was live then
 *      growth   sampled, or still running: sites that grew in the second half of the run, by more
 *               than the noise; of two profiles, those that grew from one to the other
 *      none     sampled, at one moment: there is nothing to tell a leak by
 */
#ifndef REPORT_LEAKS_H
#define REPORT_LEAKS_H

#include "tool/report/looks.h"
#include "tool/report/view.h"

/* In the order of the words of --rule. */
enum leaks_rule { LEAKS_AUTO, LEAKS_LOST, LEAKS_EXIT, LEAKS_GROWTH, LEAKS_NONE };

enum leaks_shape {
    LEAKS_UNKNOWN, /* one moment only */
    LEAKS_ONCE,    /* came early and stayed */
    LEAKS_BOUNDED, /* came and went, and is no larger than it was */
    LEAKS_LINEAR,  /* grew in both halves, about evenly */
    LEAKS_GROWING, /* grew in the second half, otherwise */
};

struct leaks_options {
    enum leaks_rule rule;
    const struct suppressions *suppressions; /* NULL: the built-in ones only */
    bool list;                               /* print lines for a file of suppressions instead */
};

struct leaks_row {
    uint32_t frame;
    struct view_value value;
    enum leaks_shape shape;
    bool leak;
    int64_t first_ns, last_ns; /* when it was first there and when it last grew; -1: not known */
    double growth;             /* bytes a second in the second half; between two profiles: bytes */
    uint32_t stack;            /* the heaviest one, in view->stacks */
    uint64_t stacks;
};

struct leaks {
    enum leaks_rule rule;
    struct leaks_row *rows; /* leaks first, then the rest, each by size */
    size_t count, found, suppressed;
    int64_t found_bytes, suppressed_bytes;
    bool *left_out; /* suppressed samples, as of `view_sum_without` */
    /* With the rule `lost`, by site: indirectly lost blocks, and reachable ones that are forgotten.
     */
    struct looks_row *indirect, *forgotten;
    size_t indirect_count, forgotten_count;
    int64_t forgotten_bytes;
};

/* `view` is of live bytes, or of lost ones. False when memory is out. */
bool leaks_make(struct leaks *leaks, const struct view *view, const struct leaks_options *options);
void leaks_free(struct leaks *leaks);
/* Whether a site grew in the second half of the run: the one rule of all reports and pages. */
bool leaks_grows(const struct leaks_row *row);
const char *leaks_shape_word(enum leaks_shape shape);

/* Lines `leak:PATTERN`, as LeakSanitizer has them: a part of a function, file or module; * is any
 * text, ^ and $ its ends. # begins a comment. And valgrind's blocks in { }. */
struct suppressions *suppressions_new(void);
void suppressions_free(struct suppressions *suppressions);
/* All lines of a text. False: one makes no sense, the error has its number. */
bool suppressions_add(struct suppressions *suppressions, const char *name, const char *text,
                      struct view_error *error);
/* What is known of a frame; "" and 0: not known. */
struct suppressions_frame {
    const char *function, *system_name, *file, *module;
    uint32_t line;
    /* Without a name: where in the module the code is, and its function begins, 0: not known. */
    uint64_t offset, start;
};
/* Whether a stack, leaf first, fits one of them, or one of those that are built in. */
bool suppressions_fit(const struct suppressions *suppressions,
                      const struct suppressions_frame *frames, size_t count);
/* Whether the C or C++ library keeps what a stack has allocated (keepers.c). */
bool keepers_fit(const struct suppressions_frame *frames, size_t count);
/* A pattern in such a line: the rules of `leak:` lines. */
bool suppressions_match(const char *pattern, const char *text);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A view: the stacks of a profile after filters, with one value each, in terms of what the user
 * wants to see (sites, functions, lines, ...). Every report and picture is made from one.
 *
 * There may be millions of stacks. A view only knows which samples each is made of; its frames and
 * its numbers are made anew whenever they are asked for. Cost: 8 to 12 bytes a sample.
 *
 * A profile to compare with is in the same view: its stacks and rows have `base` values.
 */
#ifndef REPORT_VIEW_H
#define REPORT_VIEW_H

#include "tool/profile/profile.h"
#include "tool/report/spread.h"

/* What a row is (--by): its word, and what tells two frames apart. A new one is a row here; one
 * that makes a single frame of each stack also has a case in frames_of_sample. */
#define VIEW_BYS(FIRST, NEXT)                            \
    FIRST(SITE, "site", BY_NAMES)                        \
    NEXT(FUNCTION, "function", BY_NAMES | BY_ANY_LINE)   \
    NEXT(LINE, "line", BY_NAMES | BY_ANY_NAME | BY_CODE) \
    NEXT(FILE, "file", BY_FILES)                         \
    NEXT(MODULE, "module", BY_MODULES)                   \
    NEXT(ADDRESS, "address", BY_ADDRESSES | BY_CODE)     \
    NEXT(THREAD, "thread", BY_SAMPLES)                   \
    NEXT(SIZE, "size", BY_SAMPLES)

enum {
    BY_NAMES = 1,    /* the name of a function is in the row */
    BY_ANY_LINE = 2, /* all lines of a function are one */
    BY_ANY_NAME = 4, /* file and line alone count */
    BY_CODE = 8,     /* each address of a function without a name is told apart */
    BY_ADDRESSES = 16,
    BY_FILES = 32,    /* the file takes the place of the function, */
    BY_MODULES = 64,  /* or the module */
    BY_SAMPLES = 128, /* each stack is one frame, made from the sample */
};

/* Which leaf frames belong to their caller (--frames): those of allocators and libraries; only the
 * allocator's own, as in pprof; none. */
#define VIEW_FRAMES(FIRST, NEXT) \
    FIRST(BLAME, "blame", 0)     \
    NEXT(LEAF, "leaf", 0)        \
    NEXT(ALL, "all", 0)

#define VIEW_ID(id, word, what)        VIEW_##id,
#define VIEW_WORD(id, word, what)      word
#define VIEW_NEXT_WORD(id, word, what) "|" word
#define VIEW_BY_WORDS                  VIEW_BYS(VIEW_WORD, VIEW_NEXT_WORD)
#define VIEW_FRAMES_WORDS              VIEW_FRAMES(VIEW_WORD, VIEW_NEXT_WORD)
enum view_by { VIEW_BYS(VIEW_ID, VIEW_ID) };
enum view_frames { VIEW_FRAMES(VIEW_ID, VIEW_ID) };

/* Of a row of VIEW_BYS: its word; whether it has one of these BY_... */
const char *view_by_word(enum view_by by);
bool view_by_has(enum view_by by, unsigned what);

/* Regular expressions (PCRE2) match unanchored anything a frame has: function, file, module. They
 * ignore case unless they have a capital. NULL: no such filter. */
struct view_options {
    unsigned type; /* the profile's column */
    enum view_by by;
    enum view_frames frames;
    const char *const *focus; /* keep stacks with a frame that fits; each must; ends in NULL */
    const char *const *ignore;
    const char *show, *hide, *from, *prune;
    const char *thread, *module;
    uint64_t size_min, size_max;        /* of blocks; both 0: any */
    uint64_t age_min_us, age_max_us;    /* at which they ended: counts those objects; both 0: any */
    const char *tag_focus, *tag_ignore; /* labels, as in pprof */
    bool no_inlines;
    /* `frames` counts for time, too. Without it, time is that of the leaf; inside of memoir's
     * library, that of the function which the program called: malloc. */
    bool fold_time;
    bool once;      /* a function that calls itself is one frame */
    bool past;      /* rows of what is gone, too, if it was there at a moment of `history` */
    bool rows_only; /* no stacks: view_rows is all to ask for */
    /* Stacks with different folded library frames stay apart. Needed to use view_stack.folded:
     * without it, those are the frames of the first sample alone. */
    bool apart;
    const struct profile *base; /* compare with it */
    double base_factor;         /* its values times this; 0: 1 */
    int64_t since_ns, until_ns; /* of `time`: this part of the run; 0: from the start, to the end */
};

enum { FRAME_INLINED = 1, FRAME_GUESS = 2, FRAME_UNNAMED = 4 };

/* What a row or a box of a picture stands for. Texts live as long as the profiles. */
struct view_frame {
    const char *name;   /* function, file, module, thread, size, or "libz.so.1+0x1f0" */
    const char *file;   /* "" if not known */
    const char *module; /* the file's path; "" if not known */
    uint32_t line;      /* 0: not known, or of no interest */
    uint64_t address;
    uint8_t flags;
};

struct view_value {
    int64_t value, objects; /* objects: of the column that counts; 0 if there is none */
    int64_t base, base_objects;
    /* Of the estimates, kept up to date by view_add, which is how values are added up. */
    double variance, base_variance;
    struct spread spread, base_spread;
};

struct view_stack {
    const uint32_t *frames; /* leaf first */
    uint32_t count;
    uint32_t folded; /* leaf frames that went to their caller are in front: frames[-1], ... */
};

struct view_row {
    uint32_t frame;
    struct view_value self, total;
    float history[PROFILE_MOMENTS_MAX]; /* of self */
    uint64_t stacks;                    /* with a value that it is the leaf of; not rows_only */
};

struct view {
    const struct profile *profile, *base;
    struct view_options options;
    enum value_unit unit;
    const char *unit_name; /* as the profile has it */
    bool timed;            /* its values are samples of a clock */
    bool waited;           /* its values are waits for locks, each of them counted */
    bool folds;            /* leaf frames went to their caller */
    struct view_frame *frames;
    size_t frames_count;
    size_t stacks_count;   /* numbered in the order in which samples have them */
    struct view_row *rows; /* with rows_only: by frame */
    size_t rows_count;
    /* By sample of `profile`, then of `base`: the stack it is part of; UINT32_MAX: the filters took
     * it out. With rows_only there are none. */
    uint32_t *sample_stacks;
    size_t kept;             /* samples that the filters left, also those without a value */
    struct view_value total; /* of what is left after the filters */
    struct view_value whole; /* of the profile */
    double unnamed;          /* share of the profile's addresses without a name, 0 to 1 */
    struct maker *maker;     /* what stacks and numbers are made with (parts.h) */
};

struct view_edge {
    uint32_t caller, callee; /* frames; UINT32_MAX as caller: roots */
    struct view_value sum;   /* each stack once */
};

struct view_error {
    char text[400];
    bool no_function; /* the word is a pattern, which fits none */
};

/* False: a pattern is wrong, or memory is out. */
bool view_make(struct view *view, const struct profile *profile, const struct view_options *options,
               struct view_error *error);
void view_free(struct view *view);
/* The frames of a stack. They stay until the call after the next one. */
struct view_stack view_stack(const struct view *view, size_t stack);
struct view_value view_sum(const struct view *view, size_t stack);
/* The same without samples that are left out: one flag for each of the profile's, not of its
 * base's; NULL: none. A stack of the view may be that of samples with several stacks. */
struct view_value view_sum_without(const struct view *view, size_t stack, const bool *left_out);
/* The sum of its samples' history, but for those that are left out (as above); false if the profile
 * has none: then it is not touched. */
bool view_history(const struct view *view, size_t stack, const bool *left_out,
                  float history[PROFILE_MOMENTS_MAX]);
/* A row for each frame; recursion counts once. By self (or total), then name. To be freed. */
struct view_row *view_rows(const struct view *view, bool by_total, size_t *count);
/* Those from or to a frame that is wanted; NULL: all. The heaviest first. To be freed. */
struct view_edge *view_edges(const struct view *view, const bool *wanted, size_t *count);

/* Adds up two parts of one view. Numbers of hostile files may be too large for a sum, which is then
 * wrong, but no worse. */
void view_add(struct view_value *sum, const struct view_value *more);
/* 1.96 standard errors as a share of the value; 0 if exact. */
double view_error_share(int64_t value, double variance);

/* Names of code whose memory belongs to its caller, for `memoir help blame` (blame.def). */
enum blame_kind {
    BLAME_ALLOCATOR,
    BLAME_WRAPPER,
    BLAME_FUNCTION,
    BLAME_RUST,
    BLAME_MODULE,
    BLAME_SOURCE,
    BLAME_HEADER,
};
struct blame_pattern {
    enum blame_kind kind;
    const char *word;
};
extern const struct blame_pattern blame_patterns[];
extern const size_t blame_patterns_count;
const char *blame_kind_name(enum blame_kind kind);
/* Any of them; "" for what is not known. */
bool blame_is_library(const char *function, const char *file, const char *module);
bool blame_is_allocator(const char *function);
bool blame_is_wrapper(const char *function);

/* Which share of the objects that a sample ever had ended at an age that is wanted. */
double filter_age_share(const struct view_options *options, const struct profile *profile,
                        size_t row);
/* A hash of one more word. */

#endif

/* SPDX-License-Identifier: MIT */
/*
 * How a view is made, for this room alone: the filters, and each location of a
 * profile as the frames it stands for, made when it is first met. It stays as long as the view,
 * since the frames of a stack are put together from it again and again.
 *
 *      location --> item, item, ...  (inlined first; what is hidden is not there)
 *                     frame number, bits: library? where a cut is?
 */
#ifndef REPORT_MAKER_H
#define REPORT_MAKER_H

#include "tool/memory/memory.h"
#include "tool/report/pattern.h"

/* Patterns, a bit each of 32; one more bit is the module's. */
enum { FOCUS_MAX = 30 };

enum {
    ITEM_LIBRARY = 1,
    ITEM_ALLOCATOR = 2,
    ITEM_FROM = 4,
    ITEM_PRUNE = 8,
    ITEM_UNNAMED = 16,
    ITEM_WRAPPER = 32,
    ITEM_NAMELESS = 64, /* unnamed, or its name is only the nearest */
    ITEM_START = 128,   /* of the program */
    ITEM_INSIDE = 256,  /* memoir's own library */
};

struct item {
    uint32_t frame;
    uint32_t bits;
    uint32_t location, line; /* which of the location's lines it is */
};

/* Of one location: its items, and which patterns for whole stacks it fits. */
struct expansion {
    uint32_t first, count; /* in maker->items */
    uint32_t focus;        /* bit i: fits focus[i]; bit FOCUS_MAX: fits module */
    bool made, ignore;
};

/* A profile that the view is made from: the main one or the base. */
struct source {
    const struct profile *profile;
    int type, partner; /* columns; -1: it has none */
    bool base;
    bool sampled; /* its values are estimates */
    double factor;
    struct spread_classes classes; /* what is known of the error of its samples */
    struct expansion *expansions;  /* by location */
    struct pattern_memo focus[FOCUS_MAX], ignore[FOCUS_MAX], show, hide, from, prune, module;
    uint8_t *functions;   /* by function: ITEM_LIBRARY, ..., or 0x80 for neither */
    uint8_t *mappings;    /* the same, by mapping */
    uint8_t *sets;        /* by label set: 0 not known, 1 kept, 2 dropped */
    uint32_t *set_frames; /* by label set, for VIEW_THREAD: frame + 1 */
    uint32_t *row_frames; /* by sample, for VIEW_SIZE: frame + 1 */
    bool sized;           /* some samples have the size of their blocks as a label */
};

/* A condition on labels, as pprof writes it: [KEY=]RE,RE... or [KEY=]NUMBER:NUMBER with units. */
enum { TAG_PATTERNS = 8 };
struct tag {
    bool used, range;
    char key[64]; /* "": any */
    double min, max;
    struct pattern patterns[TAG_PATTERNS]; /* each must fit some label */
};

/* The frames of a stack: `count` from `start` on are the view's, and the `folded` before those went
 * to their caller. */
enum { PATH_MAX = 1 << 16 };
struct path {
    uint32_t start, count, folded;
    uint32_t frames[PATH_MAX];
    uint32_t items[PATH_MAX]; /* in maker->items, whose frames they are */
};

struct maker {
    struct view *view;
    struct view_options options;
    struct view_error *error; /* while the view is made */
    struct source sources[2]; /* the profile, the base */
    struct pattern focus[FOCUS_MAX], ignore[FOCUS_MAX], show, hide, from, prune, module, thread;
    struct tag tag_focus, tag_ignore;
    unsigned focus_count, ignore_count;
    bool fold;   /* blame is of use */
    bool enter;  /* time inside of memoir's library is that of the function that was called there */
    bool labels; /* a stack is one frame, which its labels say */
    struct item *items;
    size_t items_count, items_room;
    size_t frames_room;
    /* Samples are numbered through both sources, those of the base behind the profile's. The ones
     * of a stack are a chain, in their order; UINT32_MAX ends it. */
    uint32_t *first;   /* by stack */
    uint32_t *next;    /* by sample; NULL: each stack has one */
    size_t *seen;      /* with rows_only: by frame, sample + 1 that was counted */
    struct map frames; /* of the view */
    struct map stacks; /* while the view is made */
    size_t first_room;
    struct path *paths[2];        /* in turns */
    bool sizes_counted;           /* rows of small classes are the counters' */
    struct exact_row *counted[2]; /* by stack: values and objects of threads; NULL: estimates */
    size_t path_of[2];            /* whose they are: stack + 1; 0 while the view is made */
    unsigned turn;
    struct arena texts; /* that no profile has */
    bool failed;        /* memory is out */
};

/* What filters leave of a stack of the profile. False: nothing, or memory is out. */
bool path_filter(struct maker *maker, struct source *source, uint32_t stack, struct path *path);
/* The same, without the frames that belong to their caller. */
bool path_make(struct maker *maker, struct source *source, uint32_t stack, struct path *path);
/* The one frame of a sample: its thread or its size. */
bool path_of_sample(struct maker *maker, struct source *source, size_t row, struct path *path);

/* The number of the stack of the view with this path; `sample` is the first of one that is new.
 * UINT32_MAX when memory is out. */
uint32_t stacks_intern(struct maker *maker, const struct path *path, uint32_t sample);
/* When all samples have their stack. False when memory is out. */
bool stacks_link(struct maker *maker);
/* The source of a sample, whose row there is in *row. */
struct source *stacks_source(struct maker *maker, uint32_t sample, size_t *row);

/* The frames of a location. NULL when memory is out. */
const struct expansion *frames_expand(struct maker *maker, struct source *source,
                                      uint32_t location);
/* How many frames at the leaf belong to their caller: those of libraries, and without a name. If
 * all do, the first that is not the allocator itself is as good as any. Of time, only those that
 * memoir's library calls itself. */
uint32_t frames_fold(const struct maker *maker, const struct source *source,
                     const struct path *path);
/* The frame of a sample: its thread or its size. UINT32_MAX when memory is out. */
uint32_t frames_of_sample(struct maker *maker, struct source *source, size_t row);

/* Whether a sample is wanted, by its labels and its size. */
bool filter_sample(struct maker *maker, struct source *source, size_t row);
/* Makes the patterns of the options. */
bool filter_start(struct maker *maker);
bool filter_source(struct maker *maker, struct source *source);
void filter_source_free(struct source *source);
void filter_free(struct maker *maker);

/* Counts a stack in the rows of its frames: of each once, whatever calls itself. */
void rows_add(struct view_row *rows, size_t *seen, size_t number, const uint32_t *path,
              uint32_t count, const struct view_value *value, const float *history);
/* Frees what it has, without the view. */
void maker_clear(struct maker *maker);
/* Room for one more item. False when memory is out. */
bool maker_room(struct maker *maker, void *items, size_t item_size, size_t count, size_t *room);

#endif

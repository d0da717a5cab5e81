/* SPDX-License-Identifier: MIT */
/*
 * How a view is made, for view.c and frames.c: the filters, and each location of a profile as the
 * frames it stands for, made when it is first met.
 *
 *      location --> item, item, ...  (inlined first; what is hidden is not there)
 *                     frame number, bits: library? where a cut is?
 */
#ifndef REPORT_PARTS_H
#define REPORT_PARTS_H

#include "tool/report/pattern.h"

enum { FOCUS_MOST = 30 };

enum {
    ITEM_LIBRARY = 1,
    ITEM_ALLOCATOR = 2,
    ITEM_FROM = 4,
    ITEM_PRUNE = 8,
    ITEM_UNNAMED = 16,
    ITEM_WRAPPER = 32,
    ITEM_NAMELESS = 64, /* unnamed, or its name is only the nearest */
};

struct item {
    uint32_t frame;
    uint32_t bits;
    uint32_t location, line; /* which of the location's lines it is */
};

/* Of one location: its items, and which patterns for whole stacks it fits. */
struct expansion {
    uint32_t first, count; /* in maker->items */
    uint32_t focus;        /* bit i: fits focus[i]; bit FOCUS_MOST: fits module */
    bool made, ignore;
};

enum { PATH_MOST = 1 << 16 };

/* The frames of a stack while a path is made of them. */
struct path {
    uint32_t count;
    uint64_t used;         /* of view->path */
    uint64_t all, unnamed; /* frames seen */
    struct item items[PATH_MOST];
    uint32_t frames[PATH_MOST]; /* the same, without bits */
};

/* A profile that the view is made from: the main one or the base. */
struct source {
    const struct profile *profile;
    int type, partner; /* columns; -1: it has none */
    bool base;
    double factor;
    struct expansion *expansions; /* by location */
    struct pattern_memo focus[FOCUS_MOST], ignore[FOCUS_MOST], show, hide, from, prune, module;
    uint8_t *functions;   /* by function: ITEM_LIBRARY, ..., or 0x80 for neither */
    uint8_t *mappings;    /* the same, by mapping */
    uint8_t *sets;        /* by label set: 0 not known, 1 kept, 2 dropped */
    uint32_t *set_frames; /* by label set, for VIEW_THREAD and VIEW_SIZE: frame + 1 */
};

/* Texts that no profile has. */
struct texts {
    struct texts *next;
    size_t used;
    char bytes[];
};

/* A condition on labels, as pprof writes it: [KEY=]RE,RE... or [KEY=]NUMBER:NUMBER with units. */
enum { TAG_PATTERNS = 8 };
struct tag {
    bool used, range;
    char key[64]; /* "": any */
    double least, most;
    struct pattern patterns[TAG_PATTERNS]; /* each must fit some label */
};

struct maker {
    struct view *view;
    struct view_options options;
    struct view_error *error;
    struct pattern focus[FOCUS_MOST], ignore[FOCUS_MOST], show, hide, from, prune, module, thread;
    struct tag tag_focus, tag_ignore;
    unsigned focus_count, ignore_count;
    bool fold; /* blame is of use */
    struct item *items;
    size_t items_count, items_room;
    size_t frames_room, path_room, stacks_room;
    size_t *seen;          /* with rows_only: by frame, sample + 1 that was counted */
    uint32_t *frame_slots; /* hash tables: number + 1, or 0 */
    uint32_t *stack_slots;
    size_t frame_slots_count, stack_slots_count;
    struct texts *texts;
    bool failed; /* memory is out */
};

/* The frames of a location. NULL when memory is out. */
const struct expansion *frames_expand(struct maker *maker, struct source *source,
                                      uint32_t location);
/* How many frames at the leaf belong to their caller. If all do, the first that is not the
 * allocator itself is as good as any. */
uint32_t frames_fold(const struct maker *maker, const struct item *items, uint32_t count);
/* The frame of a label set: its thread or its size. UINT32_MAX when memory is out. */
uint32_t frames_of_set(struct maker *maker, struct source *source, uint32_t set);
/* A text that lives as long as the view. */
const char *frames_text(struct maker *maker, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* What filters leave of a stack, leaf first. False: nothing. */
bool path_filter(struct maker *maker, struct source *source, uint32_t stack, struct path *path);
/* Which share of the objects of a sample ended at an age that is wanted. */
double filter_age_share(const struct maker *maker, const struct source *source, size_t row);
/* Whether samples with these labels are wanted. */
bool filter_set(struct maker *maker, struct source *source, uint32_t set);
/* Makes the patterns of the options. */
bool filter_start(struct maker *maker);
bool filter_source(struct maker *maker, struct source *source);
void filter_source_free(struct source *source);
void filter_free(struct maker *maker);

/* Numbers of hostile files may be too large for a sum, which is then wrong, but no worse. */
void view_add(struct view_value *sum, const struct view_value *more);
/* Counts a stack in the rows of its frames: of each once, whatever calls itself. */
void rows_add(struct view_row *rows, size_t *seen, size_t number, const uint32_t *path,
              uint32_t count, const struct view_value *value, const float *history);
/* Room for one more item. False when memory is out. */
bool maker_room(struct maker *maker, void *items, size_t item_size, size_t count, size_t *room);
uint64_t maker_hash(uint64_t hash, uint64_t word);

#endif

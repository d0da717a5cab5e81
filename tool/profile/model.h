/* SPDX-License-Identifier: MIT */
/*
 * The one model in the middle: every reader fills a `struct profile`, every report and writer reads
 * one. Adding a format is one new file and one row of the table in read.c.
 *
 *      sample --> stack --> location, location, ...  (leaf first)
 *        |                     |
 *        values, labels        +--> lines: function + line, innermost (inlined) first
 *                              +--> mapping: file and build id
 *
 * Everything is known by a small number; 0 is "none" for strings (the empty one), mappings,
 * functions and label sets. Things are only ever added, and lie in arrays that may move when
 * something is added: keep numbers, not pointers.
 *
 * Out of memory: the adding functions set `profile->failed` and answer 0; the caller of a reader
 * looks once.
 */
#ifndef PROFILE_MODEL_H
#define PROFILE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/file/capture_format.h"
#include "tool/memory/memory.h"
#include "tool/terminal/terminal.h"

enum type_blocks { BLOCKS_OTHER, BLOCKS_ALLOCATED, BLOCKS_LIVE, BLOCKS_AT_PEAK };

/* Columns: room for each TYPE_ of this header at once. */
enum { PROFILE_TYPES_MAX = 32, PROFILE_MOMENTS_MAX = 16, PROFILE_LABELS_MAX = 64 };

#define LABEL_BLOCK_BYTES \
    "bytes" /* key of the label that says how large the blocks of a sample are */

/* The one frame, and the thread, of samples for all that no recorded block stands for
 * (reconcile.h). */
#define PROFILE_NOT_SAMPLED   "[not sampled]"
#define PROFILE_OTHER_THREADS "other threads"
/* A comment in formats that have comments: the profile is `counted`. */
#define PROFILE_COUNTED "totals are counted, sites are estimates that add up to them"

/* What is special about a format. */
enum {
    TRAIT_CAPTURE = 1, /* memoir's own */
    TRAIT_MOMENTS = 2, /* a file may have several moments */
    TRAIT_DUMP = 4,    /* all that is live, and not whose it is: two of one run count it twice */
    TRAIT_THREAD = 8,  /* the reader picks the thread of read_options */
    TRAIT_PPROF = 16,  /* pprof's own, which has all that pprof knows */
    TRAIT_GPERFTOOLS = 32, /* gperftools' text about the heap, which Go's pprof scales */
    TRAIT_GUARD = 64,      /* reports about guarded blocks */
};

enum profile_kind { PROFILE_OTHER, PROFILE_HEAP, PROFILE_GROWTH, PROFILE_CPU, PROFILE_CONTENTION };

/* The names of columns. Those of pprof, */
#define TYPE_ALLOC_OBJECTS "alloc_objects"
#define TYPE_ALLOC_SPACE   "alloc_space"
#define TYPE_INUSE_OBJECTS "inuse_objects"
#define TYPE_INUSE_SPACE   "inuse_space"
#define TYPE_OBJECTS       "objects"
#define TYPE_SPACE         "space"
#define TYPE_SAMPLES       "samples"
#define TYPE_CPU           "cpu"
#define TYPE_WALL          "wall"
#define TYPE_CONTENTIONS   "contentions"
#define TYPE_DELAY         "delay"
/* Waits for condition variables: threads without work are among them. */
#define TYPE_CONDITION_WAITS "condition_waits"
#define TYPE_CONDITION_DELAY "condition_delay"
/* and ours beside them. */
#define TYPE_PEAK_OBJECTS    "peak_objects"
#define TYPE_PEAK_SPACE      "peak_space"
#define TYPE_ALLOC_REQUESTED "alloc_requested"
#define TYPE_INUSE_REQUESTED "inuse_requested"
#define TYPE_PEAK_REQUESTED  "peak_requested"
#define TYPE_TEMP_OBJECTS    "temp_objects" /* of heaptrack: freed by the next call */
/* What a scan found (lib/leak/scan.h): lost blocks that no lost block points to; those that one
 * does; those that only pointers into them lead to. */
#define TYPE_LOST_OBJECTS     "lost_objects"
#define TYPE_LOST_SPACE       "lost_space"
#define TYPE_INDIRECT_OBJECTS "indirect_objects"
#define TYPE_INDIRECT_SPACE   "indirect_space"
#define TYPE_POSSIBLE_OBJECTS "possible_objects"
#define TYPE_POSSIBLE_SPACE   "possible_space"
/* And reachable ones that are forgotten: of sites that grow, old, not written to as far as that was
 * watched (read_capture_forgotten.h). */
#define TYPE_FORGOTTEN_OBJECTS "forgotten_objects"
#define TYPE_FORGOTTEN_SPACE   "forgotten_space"

/* What keeps spans in use (lib/heap/pins.h): live blocks in them, their bytes; the share of the
 * spans' memory that belongs to them; the part of it in spans that are up to a quarter full, and in
 * spans of no other stack. */
#define TYPE_PINNED_OBJECTS "pinned_objects"
#define TYPE_PINNED_HELD    "pinned_held"
#define TYPE_PINNED_SPACE   "pinned_space"
#define TYPE_PINNED_SPARSE  "pinned_sparse"
#define TYPE_PINNED_ALONE   "pinned_alone"

/* A column of values. Units: count, bytes, nanoseconds, ... */
struct profile_type {
    uint32_t name, unit; /* strings */
};

struct profile_mapping {
    uint64_t start, limit, offset;
    uint32_t path;     /* string */
    uint32_t build_id; /* string: lower-case hex; 0: not known */
    bool has_functions, has_files, has_lines, has_inlines;
};

struct profile_function {
    uint32_t name;        /* string, as people read it */
    uint32_t system_name; /* string, as the linker knows it */
    uint32_t file;        /* string */
    uint32_t start_line;  /* 0: not known */
};

struct profile_line {
    uint32_t function, line, column; /* line 0: not known */
};

enum {
    LOCATION_GUESS = 1,  /* the name is only the nearest exported one */
    LOCATION_LOOKED = 2, /* names were looked for, with or without success */
    LOCATION_FOLDED = 4,
    LOCATION_EXACT = 8, /* the address is that of an instruction, not a return address */
};

enum { PROFILE_LINES_MAX = (1 << 24) - 1 };
struct profile_location {
    uint64_t address; /* in the process; 0: the format has names only */
    uint32_t mapping;
    uint32_t first_line; /* in profile->lines */
    uint32_t lines : 24; /* how many */
    uint32_t flags : 8;
    /* How far its code is behind the start of its function, where that has no name; or 0. */
    uint32_t behind;
};

/* There may be millions. */
enum { PROFILE_DEPTH_MAX = (1 << 24) - 1 };
struct profile_stack {
    uint64_t first : 40;  /* in profile->frames */
    uint64_t frames : 24; /* how many */
};

struct profile_label {
    uint32_t key, text, unit; /* strings; text 0: `number` counts */
    int64_t number;
};

struct profile_label_set {
    uint32_t first, count; /* in profile->labels */
};

/* How many objects one recorded stands for among those in use and at the peak; `weights` has it for
 * the allocated ones. */
struct profile_scale {
    float live, peak;
    float repeats; /* how often a recorded block is counted as allocated: realloc in place; or 0 */
    float size;    /* mean bytes of a recorded block, where those differ; 0: as the values tell */
};

/* A sample has a row in each column. */
struct profile_samples {
    size_t count, room;
    uint32_t *stacks;
    uint32_t *label_sets;
    int64_t *values[PROFILE_TYPES_MAX]; /* by type: estimates, where the profile is sampled */
    float *weights; /* how many objects one recorded stands for; NULL: all were recorded */
    struct profile_scale *scales; /* where that differs from column to column; NULL: it does not */
    /* How many recorded objects ended at which age (docs/FORMATS.md, record 7); NULL: not known. */
    uint32_t (*lives)[FORMAT_LIVES];
    /* inuse_space at each moment of profile->moments; NULL: there is one moment. */
    float (*history)[PROFILE_MOMENTS_MAX];
};

/* The heap over time. */
struct profile_point {
    int64_t time_ns;                                                         /* since the start */
    uint64_t live_bytes, allocated_bytes, allocated_objects, resident_bytes; /* 0: not known */
};

/* A snapshot or a mark in it. */
struct profile_moment {
    int64_t time_ns; /* since the start */
    uint64_t live_bytes;
    uint32_t name; /* string: the reason, the mark's name; may be 0 */
    bool rows;     /* has a column of `history`, which are in the order of moments */
    bool clock;    /* nothing happened: a snapshot was due */
};

struct profile_thread {
    uint64_t id; /* the kernel's tid */
    uint32_t name;
    bool counted; /* what it has allocated is known (exact.h): */
    int64_t alloc_objects, alloc_bytes;
};

/* When a thread ran: the time of its samples in parts of equal width since the clock's start. */
enum { PROFILE_COURSE_MAX = 64 };
struct profile_course {
    uint64_t id; /* the kernel's tid */
    uint32_t width_ms, count;
    uint32_t us[PROFILE_COURSE_MAX];
};

/* The clock whose samples are among the values; a rate of 0: there is none, or it is not known. */
struct profile_clock {
    int64_t rate;               /* samples a second */
    uint32_t source;            /* string: which clock of the kernel */
    int64_t on_ns;              /* how long it was on */
    int64_t lost, uncovered;    /* expirations without a sample; threads without a clock */
    int64_t user_ns, system_ns; /* CPU time of the process meanwhile, as the kernel counts it */
};

/* A scan for lost blocks; the columns lost_space and so on have it by stack. */
struct profile_scan {
    bool known;
    int64_t time_ns; /* since the start */
    int64_t took_us, stood_us;
    bool told; /* the next three lines are known */
    int64_t threads, silent;
    int64_t own_space, copied_space; /* of the scan; of pages that the program copied meanwhile */
    bool in_place;                   /* the threads stood still all the time */
    int64_t reachable_objects, reachable_space;
    int64_t watched_ms; /* how long writes to pages were watched before it; 0: not at all */
    int64_t
        shared_out; /* lost objects without a record, counted to stacks of others of their size */
};

/* What lost blocks of a sample look like. */
enum { PROFILE_LOOK_BYTES = 32, PROFILE_LOOK_NONE = -1 };
struct profile_look {
    size_t sample;
    int64_t oldest_us, youngest_us;     /* ages; 0: not known */
    int64_t cycles;                     /* definitely lost blocks that lead back to themselves */
    int64_t owned_objects, owned_space; /* indirectly lost ones that they lead to */
    uint64_t address;                   /* of one of them */
    uint32_t class;                     /* string: the name of its class, mangled */
    uint32_t first_count;
    uint8_t first[PROFILE_LOOK_BYTES]; /* its first bytes */
    int64_t from_sample; /* with a lost block that points to one of them; PROFILE_LOOK_NONE */
    uint64_t from;       /* that block's address */
};

/* What keeps spans in use, as a whole; the columns pinned_space and so on have it by stack. */
enum { PROFILE_FILLS = 7 }; /* spans up to 1/64, 1/32, ... 1/2 full, and fuller ones */
struct profile_pins {
    bool known;
    int64_t took_us;
    int64_t placed, unplaced;        /* sampled blocks whose place is known, and not */
    int64_t dirty_space;             /* free runs, kept for reuse */
    int64_t spans_space, live_space; /* memory of all spans of blocks, and live blocks in it */
    int64_t by_fill[PROFILE_FILLS];  /* spans_space, by how full they are */
    int64_t unknown_space;           /* the part of it that no recorded block has a share of */
};

/* Where the resident memory of a process was: of captures. */
struct profile_memory {
    uint64_t anonymous, files, shared; /* of the process, by the kernel's counts; 0: not known */
    uint64_t heap;                     /* of it, the allocator's: with its tables */
    uint64_t tables, live, dirty, cached, holes;
    uint64_t recorded, asked; /* live blocks in the profile: their size, and what was requested */
};

struct profile {
    bool failed; /* memory is out */
    enum profile_kind kind;
    const char *format; /* name of the reader's row */
    unsigned traits;    /* of the format: TRAIT_... */
    unsigned types;
    struct profile_type type[PROFILE_TYPES_MAX];
    unsigned default_type;
    bool default_named; /* by the file, which else leaves it open */
    struct profile_samples samples;

    struct list mappings;   /* struct profile_mapping; [0] is no mapping */
    struct list functions;  /* struct profile_function; [0] is none */
    struct list lines;      /* struct profile_line */
    struct list locations;  /* struct profile_location; from 0 */
    struct list stacks;     /* struct profile_stack; from 0; [0] is the empty stack */
    struct list frames;     /* bytes: locations, leaf first, packed (model.c) */
    struct list labels;     /* struct profile_label */
    struct list label_sets; /* struct profile_label_set; [0] is none */
    struct list points;     /* struct profile_point */
    struct list moments;    /* struct profile_moment */
    struct list threads;    /* struct profile_thread */
    struct profile_thread other_threads;
    struct list courses;  /* struct profile_course */
    struct list comments; /* uint32_t: strings */

    /* What is known of the whole; strings where the name does not say otherwise. */
    uint32_t program, command, host, drop_frames, keep_frames, doc_url;
    int64_t pid;
    int64_t time_ns, duration_ns; /* since 1970; 0: not known */
    int64_t period;               /* between samples, in units of period_type; 0: exact */
    struct profile_type period_type;
    struct profile_clock clock;
    struct profile_scan scan;
    struct list looks; /* struct profile_look */
    struct profile_pins pins;
    int64_t peak_time_ns;     /* since the start; 0: not known */
    unsigned history_moments; /* used of PROFILE_MOMENTS_MAX */
    bool estimated;           /* the file had a mark that says so (estimate.h) */
    bool torn;                /* the file ends early: what was read is what there was */
    bool at_peak;             /* what is in use is what was at the peak: it was asked for */
    bool ended;               /* the program exited normally, and this is its end */
    uint64_t refused, lost;   /* stacks and blocks that the recorder had no memory for */
    bool counted; /* samples are scaled to exact counters: sums over all of them have no error */
    int64_t off_time_ns; /* when sampling was switched off, since the start; 0: it is on */
    /* Counted, not sampled; -1: not known. */
    int64_t exact_allocs, exact_frees, exact_alloc_bytes, exact_live_bytes;
    uint64_t resident_bytes;      /* of the process at the last moment; 0: not known */
    uint64_t resident_peak_bytes; /* of the process, by the kernel's own count; 0: not known */
    struct profile_memory memory; /* at the moment that the profile is about */
    uint64_t heap_resident_bytes; /* the most the allocator had in memory at a snapshot; or 0 */
    struct list warnings;         /* uint32_t: strings, for people */

    struct list text;            /* the bytes of all strings */
    struct list strings;         /* offsets in it */
    struct profile_index *index; /* what is where (model.c) */
};

void profile_start(struct profile *profile);
void profile_free(struct profile *profile);
/* `to` is all of `from`, to be changed. False when memory is out; free it in any case. */
bool profile_copy(struct profile *to, const struct profile *from);
/* The columns become copies of what they are. False when memory is out. */
bool profile_samples_copy(struct profile_samples *samples);

/* Each thing is there once: adding it again answers the same number. */
uint32_t profile_string(struct profile *profile, const char *text, size_t length);
uint32_t profile_string_of(struct profile *profile, const char *text);
/* Whether it is there, without adding it. */
bool profile_has_string(struct profile *profile, const char *text, uint32_t *string);
uint32_t profile_function(struct profile *profile, const struct profile_function *function);
uint32_t profile_stack(struct profile *profile, const uint32_t *locations, uint32_t count);
/* Labels in any order; those behind the first PROFILE_LABELS_MAX are left out. */
uint32_t profile_label_set(struct profile *profile, const struct profile_label *labels,
                           uint32_t count);
/* By mapping and address; one that has lines already is left as it is. */
uint32_t profile_address(struct profile *profile, uint64_t address, uint8_t flags);
/* A location that is nothing but a name, perhaps with a place in the source. */
uint32_t profile_named(struct profile *profile, uint32_t function, uint32_t line, uint32_t mapping);
/* Not looked for: the caller knows that they are new. */
uint32_t profile_mapping(struct profile *profile, const struct profile_mapping *mapping);
uint32_t profile_location(struct profile *profile, const struct profile_location *location,
                          const struct profile_line *lines, uint32_t count);
unsigned profile_type(struct profile *profile, const char *name, enum value_unit unit);
/* The same with a unit as a file writes it. */
unsigned profile_type_written(struct profile *profile, const char *name, const char *unit);
/* The same as a value, no column: for `period_type`. */
struct profile_type profile_type_make(struct profile *profile, const char *name,
                                      enum value_unit unit);
enum value_unit profile_unit(const struct profile *profile, struct profile_type type);
/* Room for `samples` rows, if their number is known; otherwise half as much again is reserved. */
void profile_reserve(struct profile *profile, size_t samples);
/* The row; the caller fills `values` in. Columns for all types there are by then. */
size_t profile_sample(struct profile *profile, uint32_t stack, uint32_t label_set);
/* Each object of the sample stands for `weight` objects, in all columns. */
void profile_sample_weigh(struct profile *profile, size_t sample, float weight);
/* After samples were added: the optional columns, zeroed. False when memory is out. */
bool profile_want_weights(struct profile *profile);
bool profile_want_scales(struct profile *profile);
bool profile_want_lives(struct profile *profile);
bool profile_want_history(struct profile *profile);
/* Whether the sum of any rows of a column or of a moment of the history, and the difference of two
 * such sums, fits: a reader and profile_merge see to it, for all others. */
bool profile_sums_fit(const struct profile *profile);
void *profile_list_add(struct profile *profile, struct list *list, size_t item_size);
void profile_warn(struct profile *profile, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Gives a location its names. Replaces what it had. */
void profile_set_lines(struct profile *profile, uint32_t location, const struct profile_line *lines,
                       uint32_t count, uint8_t flags);
/* The mapping of an address, or 0. Cost: a binary search after the first call. */
uint32_t profile_find_mapping(struct profile *profile, uint64_t address);

/* Looking. Text lives until the next string is added. */
const char *profile_text(const struct profile *profile, uint32_t string);
const struct profile_mapping *profile_mapping_at(const struct profile *profile, uint32_t mapping);
const struct profile_function *profile_function_at(const struct profile *profile,
                                                   uint32_t function);
const struct profile_location *profile_location_at(const struct profile *profile,
                                                   uint32_t location);
const struct profile_line *profile_lines_of(const struct profile *profile, uint32_t location);
/* Leaf first. They stay until the call after the next one. */
const uint32_t *profile_frames_of(const struct profile *profile, uint32_t stack, uint32_t *count);
/* Only how many there are. */
uint32_t profile_depth_of(const struct profile *profile, uint32_t stack);
/* -1: there is no such type. */
int profile_type_named(const struct profile *profile, const char *name);
/* The type of the same kind that counts objects where `type` is bytes, and the reverse; or -1. */
int profile_type_partner(const struct profile *profile, unsigned type);
/* Whether a clock's samples fill this column: time, or how many they are. */
bool profile_type_timed(const struct profile *profile, unsigned type);
/* Which blocks a column is about, by its name. */
enum type_blocks profile_type_blocks(const char *name);
/* Whether it counts waits for locks or condition variables, or how long they took. */
bool profile_type_waited(const struct profile *profile, unsigned type);
/* The label of that name, or NULL. */
const struct profile_label *profile_label_of(const struct profile *profile, uint32_t label_set,
                                             const char *key);

/* All stacks are there: gives back what was only of use to find them again. More may follow. */
void profile_settle(struct profile *profile);

/* The program is known to have allocated nothing; and why that may be. */
#define PROFILE_IDLE "it calls no malloc, or contains its own, which memoir can't replace"
INLINE bool profile_is_idle(const struct profile *profile)
{
    return profile->exact_allocs == 0;
}

/* Whether samples with these labels are those of PROFILE_NOT_SAMPLED. */
bool profile_not_sampled(const struct profile *profile, uint32_t label_set);
/* Whether the column has anything of recorded objects: not only what was not sampled. */
bool profile_has_recorded(const struct profile *profile, const char *type);
/* The weight of a sample in this column, at least 1. */
double profile_weight(const struct profile *profile, unsigned type, size_t sample);

/* Adds all of `from`, each value times `factor` (-1: subtracts), to `to`. Types are matched by
 * name; addresses are matched by mapping path or build id and offset, so that two runs of one
 * program fit. False: memory is out, or the sums are too large. */
bool profile_merge(struct profile *to, const struct profile *from, double factor);

#endif

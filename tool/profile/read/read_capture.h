/* SPDX-License-Identifier: MIT */
/*
 * Between the two passes over a capture: the first (read_capture.c) learns which snapshots there
 * are and chooses, the second (read_capture_rows.c) takes the rows of the chosen ones.
 */
#ifndef PROFILE_READ_READ_CAPTURE_H
#define PROFILE_READ_READ_CAPTURE_H

#include "tool/profile/read/read.h"

struct snapshot {
    uint64_t number, time_ms, live_bytes, allocated_bytes, allocated_objects;
    uint64_t moment;     /* of the profile */
    bool whole, counted; /* counted: `live_bytes` is exact */
    uint8_t column;      /* in the samples' history, from 1; 0: none */
};

struct capture_plan {
    const struct snapshot *snapshots; /* in the order of the file */
    size_t target;                    /* the one whose rows become samples */
    bool at_peak;                     /* their values in use are those of the peak */
    uint64_t start_ms;
    size_t whole_size;       /* of the input: up to there its records are whole */
    const struct list *gone; /* struct capture_map: files that were unloaded, by the last list */
};

/* False: a row makes no sense. */
bool capture_take_rows(const struct read_input *input, const struct capture_plan *plan,
                       struct profile *profile, struct read_error *error);
/* Whether a list names it as a file's that was unloaded. */
struct capture_map;
bool capture_is_gone(const struct capture_map *map);
/* Between two moments; 0 when the second is the earlier one. */
int64_t capture_ns_between(uint64_t from_ms, uint64_t to_ms);
struct capture_allocator;
/* Where the resident memory was; `asked` stays. */
void capture_memory(struct profile_memory *memory, const struct capture_allocator *allocator);
/* A number of a capture as a value, bounded so that sums of many cannot overflow. */
int64_t capture_value(uint64_t number);
/* A string of the profile: the thread's own name, or "t" and its number. */
struct capture_text;
uint32_t capture_thread_name(struct profile *profile, const struct capture_text *own, uint32_t id);
/* The next number of a record that its user takes apart; past its end, or if it is too large: 0,
 * and the rest is nothing. */
struct capture_part;
uint64_t capture_next(struct capture_part *part);

#endif

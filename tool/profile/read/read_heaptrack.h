/* SPDX-License-Identifier: MIT */
/*
 * What read_heaptrack.c and read_heaptrack_raw.c share. The heap is played twice: first to find its
 * sums, its peak and how long it ran, then again to know which blocks were live at the peak and at
 * some moments in between.
 */
#ifndef PROFILE_READ_READ_HEAPTRACK_H
#define PROFILE_READ_READ_HEAPTRACK_H

#include "tool/memory/memory.h"
#include "tool/profile/parse/parse.h"
#include "tool/profile/profile.h"
#include "tool/profile/read/read.h"

#define HEAPTRACK_NONE UINT32_MAX

struct heaptrack_trace {
    uint32_t location, caller; /* caller: from 1 */
};

/* Blocks of one size from one stack. */
struct heaptrack_info {
    uint64_t size;
    uint32_t trace; /* from 1; 0: none */
    uint32_t temporary;
    uint64_t allocated, freed, at_peak, now, shown; /* shown: as inuse_* */
};

/* What there is only before heaptrack's interpreter has put names in. */
struct heaptrack_raw {
    bool is;
    uint32_t program;     /* string */
    struct keys modules;  /* path and place */
    struct keys infos;    /* size and trace */
    struct keys pointers; /* addresses of blocks */
    struct list owners;   /* uint32_t by pointer: its info + 1; 0: it is free */
    struct list events;   /* uint32_t: info * 2, + 1 for a free; HEAPTRACK_NONE: time */
};

struct heaptrack {
    struct profile *profile;
    uint64_t version, page_size;
    struct list strings;   /* uint32_t: of the profile */
    struct list modules;   /* uint32_t by string: mapping + 1, 0: not made */
    struct list addresses; /* uint32_t: locations */
    struct list traces;    /* struct heaptrack_trace */
    struct list infos;     /* struct heaptrack_info */
    uint64_t live, allocated, objects, frees, peak, now_ms, peak_ms;
    uint64_t events, peak_event; /* allocations, frees and times so far */
    uint32_t last;               /* the info of the allocation before */
    struct heaptrack_raw raw;
};

/* A text with its length before it, as newer versions write it. */
bool heaptrack_text(const struct heaptrack *track, struct cursor *line, struct cursor *text);

/* Records of a raw file: the program, a module, a stack; the info of what is allocated or freed. */
void heaptrack_raw_program(struct heaptrack *track, struct cursor line);
void heaptrack_raw_module(struct heaptrack *track, struct cursor line);
void heaptrack_raw_trace(struct heaptrack *track, struct cursor line);
uint32_t heaptrack_raw_alloc(struct heaptrack *track, struct cursor line);
uint32_t heaptrack_raw_free(struct heaptrack *track, struct cursor line);
/* Keeps an event for the second time. */
void heaptrack_raw_event(struct heaptrack *track, uint32_t event);
void heaptrack_raw_end(struct heaptrack *track);

#endif

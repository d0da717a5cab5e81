/* SPDX-License-Identifier: MIT */
/* What tool/summary.c has read, for tool/summary_print.c. */
#ifndef TOOL_SUMMARY_PARTS_H
#define TOOL_SUMMARY_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct list {
    void *items;
    size_t count, room;
};

struct map {
    uint64_t start, end, offset;
    char *path;
    char build_id[2 * 64 + 1]; /* hex */
};

struct node {
    uint32_t caller;
    uint64_t pc;
};

struct point {
    uint64_t time_ms, live_bytes;
};

enum { VALUE_PEAK, VALUE_LIVE, VALUE_BRIEF, VALUES };

/* A stack, or later a site: rows of one function come together. */
struct row {
    uint32_t stack;
    double values[VALUES];
    const struct map *map; /* where the blamed address is; NULL: in no file */
    uint64_t place;        /* number of the function, or where in the file */
    const char *name;      /* NULL: unknown */
    bool guess;            /* the name is only the nearest one */
};

struct summary {
    struct list maps, nodes, points, rows;
    bool failed; /* out of memory */
    bool whole;  /* there is a complete snapshot */
    bool ended;  /* the program ended in order */
    int64_t pid, rate;
    char command[1024];
    size_t command_length;
    double peak_variance; /* of the estimate */
    uint64_t start_ms, peak_ms, peak_bytes, live_bytes, end_bytes, alloc_bytes, allocs;
};

void summary_maps_clear(struct summary *summary);

#endif

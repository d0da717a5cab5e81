/* SPDX-License-Identifier: MIT */
/*
 * What keeps memory in use, of a capture while it is read (docs/FORMATS.md, records 24 to 26): rows
 * are kept, scaled to the counters of their sizes, and become samples in columns of their own.
 */
#ifndef PROFILE_READ_READ_CAPTURE_PINS_H
#define PROFILE_READ_READ_CAPTURE_PINS_H

#include "tool/memory/memory.h"
#include "tool/profile/capture/capture.h"
#include "tool/profile/profile.h"

enum { PIN_COLUMNS = 5 };

struct pin_row {
    uint32_t stack, thread; /* UINT32_MAX: ended ones */
    uint64_t size;          /* 0: large blocks */
    unsigned fill;
    double seen;                       /* recorded blocks, */
    double blocks, held, bytes, alone; /* and what they stand for */
};

struct pin_class {
    uint64_t size;
    double bytes, live;     /* of its spans; blocks that live */
    double seen, unseen;    /* blocks of its rows: recorded ones, and the others */
    double known, estimate; /* memory of its rows, by whether all of it was recorded */
};

struct pin_rows {
    struct list rows;    /* struct pin_row */
    struct list classes; /* struct pin_class */
    unsigned columns[PIN_COLUMNS];
};

void pin_rows_part(struct pin_rows *pins, struct profile *profile, const struct capture_part *part);
/* All rows are there: scales them and makes the columns. False: there is nothing. */
bool pin_rows_end(struct pin_rows *pins, struct profile *profile);
void pin_rows_add(const struct pin_rows *pins, struct profile *profile, const struct pin_row *row,
                  uint32_t stack, uint32_t label_set);
void pin_rows_free(struct pin_rows *pins);

#endif

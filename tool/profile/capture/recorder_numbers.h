/* SPDX-License-Identifier: MIT */
/*
 * The numbers of a recorder file, as a snapshot has them: sites as rows, and the allocator's
 * counters by size of block. For recorder*.c.
 */
#ifndef PROFILE_CAPTURE_RECORDER_NUMBERS_H
#define PROFILE_CAPTURE_RECORDER_NUMBERS_H

#include "tool/profile/capture/capture_records.h"
#include "tool/profile/capture/recorder_sheets.h"

struct recorder_numbers {
    struct capture_row *rows; /* of a stack in succession, and there of a thread */
    size_t row_count;
    struct capture_class classes[RECORDER_CLASSES]; /* the last one: large blocks, size 0 */
    struct capture_totals totals;
    uint64_t allocs, frees, alloc_bytes, free_bytes;
};

/* False when memory is out. The rows are to be freed. */
bool recorder_numbers_make(struct recorder_numbers *numbers, const struct recorder_sheets *sheets);

#endif

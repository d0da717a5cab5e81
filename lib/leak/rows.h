/* SPDX-License-Identifier: MIT */
/* The rows of a scan's result: blocks that are not reachable, by site. */
#ifndef LEAK_ROWS_H
#define LEAK_ROWS_H

#include "lib/leak/blocks.h"
#include "lib/leak/result.h"

/* Counts the block among those that are not reachable, and returns its row; `now` in ticks. */
struct scan_row *rows_add(struct scan_result *result, const struct found *block,
                          const struct record *record, uint64_t now);
/* Notes that `from`, a lost block with that record, points to a block of the row. */
void rows_note_from(struct scan_result *result, struct scan_row *row, const struct found *from,
                    const struct record *record);
/* Bytes that were asked for; the usable ones if there is no record. */
size_t rows_requested(const struct record *record, const struct found *block);

#endif

/* SPDX-License-Identifier: MIT */
/* See lib/leak/rows.h. */
#include "lib/leak/rows.h"

#include <string.h>

#include "lib/alloc/alloc.h"
#include "lib/leak/ages.h"
#include "lib/leak/blocks.h"

size_t rows_requested(const struct record *record, const struct found *block)
{
    if (record == NULL || block->other != 0)
        return block->size;
    const struct span *span = span_of((const void *)block->start);
    if (span->state == SPAN_LARGE)
        return ((const struct large_record *)record)->requested;
    return block->size - record->slack;
}

static struct scan_row *row_use(struct scan_result *result, struct scan_row *row)
{
    row->used = true;
    row->number = result->used_count;
    result->used[result->used_count++] = (uint32_t)(row - result->rows);
    return row;
}

static struct scan_row *row_of(struct scan_result *result, const struct found *block,
                               const struct record *record)
{
    uint32_t site = record == NULL ? 0 : record->site;
    uint64_t key = site == 0 ? block->size : (uint64_t)site << 32;
    size_t at = hash_word(key) >> (64 - SCAN_ROWS_SHIFT);
    for (unsigned looked = 0; looked < SCAN_ROWS - 1; looked++, at++) {
        struct scan_row *row = &result->rows[at % (SCAN_ROWS - 1)];
        if (!row->used) {
            *row = (struct scan_row){.site = site, .size = block->size};
            return row_use(result, row);
        }
        if (row->site == site && (site != 0 || row->size == block->size))
            return row;
    }
    struct scan_row *rest = &result->rows[SCAN_ROWS - 1];
    return rest->used ? rest : row_use(result, rest);
}

struct scan_row *rows_add(struct scan_result *result, const struct found *block,
                          const struct record *record, uint64_t now)
{
    struct scan_row *row = row_of(result, block, record);
    size_t requested = rows_requested(record, block);
    if (result->lost_count < SCAN_LOST_MAX)
        result->lost[result->lost_count] =
            (struct scan_lost){block->start, requested, record == NULL ? 0 : record->site};
    result->lost_count++;
    row->requested_bytes += requested;
    if (record != NULL) {
        uint64_t age = ages_ticks(record, now);
        row->youngest = row->oldest == 0 || age < row->youngest ? age : row->youngest;
        row->oldest = age > row->oldest ? age : row->oldest;
    }
    if (row->example == 0 || block->size > row->size) {
        row->example = block->start;
        row->example_word = 0;
        if (block->size >= sizeof row->example_word)
            memcpy(&row->example_word, (const void *)block->start, sizeof row->example_word);
        row->size = block->size;
    }
    return row;
}

void rows_note_from(struct scan_result *result, struct scan_row *row, const struct found *from,
                    const struct record *record)
{
    row->from = from->start;
    row->from_row = row_of(result, from, record)->number + 1;
}

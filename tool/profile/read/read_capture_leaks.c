/* SPDX-License-Identifier: MIT */
/*
 * See tool/profile/read/read_capture_leaks.h. Records come in this order: the scan, its rows, what
 * is told of each row, the ages. One row becomes one sample, in their order, so that a row knows
 * the sample of another one by its number.
 */
#include "tool/profile/read/read_capture_leaks.h"

#include <stdlib.h>
#include <string.h>

#include "base/file/capture_format.h"
#include "tool/profile/read/read_capture.h"

enum { VERDICTS = 3 };

static uint64_t share_verdict(struct leak_rows *leaks, struct leak_row *from, unsigned verdict);
static void take_look(struct leak_rows *leaks, struct profile *profile, struct capture_part *part);
static void take_age(struct leak_rows *leaks, struct profile *profile, struct capture_part *part);
static void look_add(struct profile *profile, const struct leak_row *row, size_t sample,
                     int64_t from_sample);
static struct capture_count *verdict_of(struct leak_row *row, unsigned verdict);
static uint64_t blocks_of(const struct capture_leak *leak);

void leak_rows_start(struct leak_rows *leaks, struct profile *profile,
                     const struct capture_leaks *scan, uint64_t start_ms)
{
    leaks->rows.count = 0;
    profile->scan = (struct profile_scan){
        .known = true,
        .time_ns = capture_ns_between(start_ms, scan->time_ms),
        .took_us = capture_value(scan->took_us),
        .stood_us = capture_value(scan->stood_us),
        .told = scan->told > CAPTURE_IN_PLACE,
        .threads = capture_value(scan->values[CAPTURE_THREADS]),
        .silent = capture_value(scan->values[CAPTURE_SILENT]),
        .own_space = capture_value(scan->values[CAPTURE_OWN_BYTES]),
        .copied_space = capture_value(scan->values[CAPTURE_COPIED_BYTES]),
        .in_place = scan->values[CAPTURE_IN_PLACE] != 0,
        .watched_ms = capture_value(scan->values[CAPTURE_WATCHED_MS]),
        .reachable_objects = capture_value(scan->reachable.blocks),
        .reachable_space = capture_value(scan->reachable.bytes),
    };
}

void leak_rows_row(struct leak_rows *leaks, struct profile *profile, const struct capture_leak *row)
{
    struct leak_row *kept = profile_list_add(profile, &leaks->rows, sizeof *kept);
    if (kept)
        *kept = (struct leak_row){.leak = *row, .recorded = blocks_of(row)};
}

void leak_rows_part(struct leak_rows *leaks, struct profile *profile,
                    const struct capture_part *whole)
{
    struct capture_part part = *whole;
    while (part.at < part.end && !profile->failed)
        if (part.type == RECORD_LEAK_LOOKS)
            take_look(leaks, profile, &part);
        else
            take_age(leaks, profile, &part);
}

/* The next bytes of a record: a length, and as many. They are cut where the record ends. */
static const uint8_t *next_bytes(struct capture_part *part, size_t *length)
{
    uint64_t told = capture_next(part), left = (uint64_t)(part->end - part->at);
    const uint8_t *bytes = part->at;
    *length = (size_t)(told < left ? told : left);
    part->at += *length;
    return bytes;
}

static void take_look(struct leak_rows *leaks, struct profile *profile, struct capture_part *part)
{
    uint64_t number = capture_next(part);
    struct leak_row other, *row = &other;
    if (number < leaks->rows.count)
        row = (struct leak_row *)leaks->rows.items + number;
    row->look.oldest_us = capture_value(capture_next(part));
    row->look.youngest_us = capture_value(capture_next(part));
    row->from_row = capture_next(part);
    row->look.from = capture_next(part);
    size_t length;
    const uint8_t *bytes = next_bytes(part, &length);
    row->look.class = profile_string(profile, (const char *)bytes, length);
    bytes = next_bytes(part, &length);
    row->look.first_count = (uint32_t)(length < PROFILE_LOOK_BYTES ? length : PROFILE_LOOK_BYTES);
    memcpy(row->look.first, bytes, row->look.first_count);
}

static void take_age(struct leak_rows *leaks, struct profile *profile, struct capture_part *part)
{
    struct leak_row row = {.is_age = true};
    uint64_t stack = capture_next(part);
    row.leak.stack = (uint32_t)(stack < part->nodes ? stack : 0);
    row.leak.thread = (uint32_t)capture_next(part) - 1;
    row.leak.size = capture_next(part);
    row.age.weight = (double)capture_next(part) / 1024;
    row.age.oldest_us = capture_value(capture_next(part));
    row.age.untouched = capture_value(capture_next(part));
    for (unsigned i = 0; i < FORGOTTEN_QUARTERS; i++)
        row.age.quarters[i] = capture_value(capture_next(part));
    struct leak_row *kept = profile_list_add(profile, &leaks->rows, sizeof *kept);
    if (kept)
        *kept = row;
}

bool leak_rows_end(struct leak_rows *leaks, struct profile *profile)
{
    static const struct {
        const char *name;
        enum value_unit unit;
    } columns[LEAK_COLUMNS] = {
        {TYPE_LOST_OBJECTS, UNIT_COUNT},      {TYPE_LOST_SPACE, UNIT_BYTES},
        {TYPE_INDIRECT_OBJECTS, UNIT_COUNT},  {TYPE_INDIRECT_SPACE, UNIT_BYTES},
        {TYPE_POSSIBLE_OBJECTS, UNIT_COUNT},  {TYPE_POSSIBLE_SPACE, UNIT_BYTES},
        {TYPE_FORGOTTEN_OBJECTS, UNIT_COUNT}, {TYPE_FORGOTTEN_SPACE, UNIT_BYTES},
    };
    if (!profile->scan.known || profile->failed)
        return false;
    struct leak_row *rows = leaks->rows.items;
    for (size_t i = 0; profile->samples.weights && i < leaks->rows.count; i++)
        for (unsigned k = 0; k < VERDICTS && rows[i].leak.stack == 0 && !rows[i].is_age; k++)
            profile->scan.shared_out += capture_value(share_verdict(leaks, &rows[i], k));
    for (unsigned i = 0; i < LEAK_COLUMNS; i++)
        leaks->columns[i] = profile_type(profile, columns[i].name, columns[i].unit);
    return forgotten_start(&leaks->forgotten, profile);
}

/* Each recorded row of the size gets its share, rounded so that the sum is what there was. How many
 * were shared out; the row that they came from keeps none of them. */
static uint64_t share_verdict(struct leak_rows *leaks, struct leak_row *from, unsigned verdict)
{
    struct leak_row *rows = leaks->rows.items;
    struct capture_count *rest = verdict_of(from, verdict);
    uint64_t recorded = 0, passed = 0, given = 0, blocks = rest->blocks;
    for (size_t i = 0; i < leaks->rows.count; i++)
        if (rows[i].leak.stack != 0 && rows[i].leak.size == from->leak.size)
            recorded += verdict_of(&rows[i], verdict)->blocks;
    if (recorded == 0 || blocks == 0)
        return 0;
    for (size_t i = 0; i < leaks->rows.count; i++) {
        struct capture_count *to = verdict_of(&rows[i], verdict);
        if (rows[i].leak.stack == 0 || rows[i].leak.size != from->leak.size)
            continue;
        passed += to->blocks;
        uint64_t until = (uint64_t)((double)blocks * (double)passed / (double)recorded + 0.5);
        to->blocks += until - given;
        to->bytes += (until - given) * from->leak.size;
        given = until;
    }
    *rest = (struct capture_count){0};
    return blocks;
}

static struct capture_count *verdict_of(struct leak_row *row, unsigned verdict)
{
    struct capture_count *counts[VERDICTS] = {&row->leak.definite, &row->leak.indirect,
                                              &row->leak.possible};
    return counts[verdict];
}

static uint64_t blocks_of(const struct capture_leak *leak)
{
    return leak->definite.blocks + leak->indirect.blocks + leak->possible.blocks;
}

void leak_rows_add(const struct leak_rows *leaks, struct profile *profile,
                   const struct leak_row *row, uint32_t stack, uint32_t label_set)
{
    const struct capture_leak *leak = &row->leak;
    int64_t objects =
        row->is_age ? forgotten_blocks(&leaks->forgotten, profile, &row->age, stack) : 0;
    if (row->is_age && objects == 0)
        return;
    const uint64_t values[LEAK_COLUMNS] = {
        leak->definite.blocks, leak->definite.bytes,           leak->indirect.blocks,
        leak->indirect.bytes,  leak->possible.blocks,          leak->possible.bytes,
        (uint64_t)objects,     (uint64_t)objects * leak->size,
    };
    float weight = row->recorded > 0 ? (float)blocks_of(leak) / (float)row->recorded : 1;
    size_t sample = profile_sample(profile, stack, label_set);
    struct profile_samples *samples = &profile->samples;
    if (profile->failed)
        return;
    for (unsigned i = 0; i < LEAK_COLUMNS; i++)
        samples->values[leaks->columns[i]][sample] = capture_value(values[i]);
    profile_sample_weigh(profile, sample, weight);
    int64_t number = row - (const struct leak_row *)leaks->rows.items;
    bool from = row->from_row > 0 && row->from_row <= leaks->rows.count;
    if (!row->is_age)
        look_add(profile, row, sample,
                 from ? (int64_t)sample + (int64_t)row->from_row - 1 - number : PROFILE_LOOK_NONE);
}

static void look_add(struct profile *profile, const struct leak_row *row, size_t sample,
                     int64_t from_sample)
{
    struct profile_look *look = profile_list_add(profile, &profile->looks, sizeof *look);
    if (!look)
        return;
    *look = row->look;
    look->sample = sample;
    look->from_sample = from_sample;
    look->cycles = capture_value(row->leak.cycles);
    look->owned_objects = capture_value(row->leak.owned.blocks);
    look->owned_space = capture_value(row->leak.owned.bytes);
    look->address = row->leak.address;
}

void leak_rows_free(struct leak_rows *leaks)
{
    forgotten_free(&leaks->forgotten);
    free(leaks->rows.items);
}

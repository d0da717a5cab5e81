/* SPDX-License-Identifier: MIT */
/* See tool/profile/read/read_capture_leaks.h. */
#include "tool/profile/read/read_capture_leaks.h"

#include <stdlib.h>

#include "tool/profile/read/read_capture.h"

void leak_rows_start(struct leak_rows *leaks, struct profile *profile,
                     const struct capture_leaks *scan, uint64_t start_ms)
{
    leaks->rows.count = 0;
    profile->scan = (struct profile_scan){
        .known = true,
        .time_ns = capture_ns_between(start_ms, scan->time_ms),
        .took_us = capture_value(scan->took_us),
        .stood_us = capture_value(scan->stood_us),
        .reachable_objects = capture_value(scan->reachable.blocks),
        .reachable_space = capture_value(scan->reachable.bytes),
    };
}

void leak_rows_row(struct leak_rows *leaks, struct profile *profile, const struct capture_leak *row)
{
    struct capture_leak *kept = profile_list_add(profile, &leaks->rows, sizeof *kept);
    if (kept)
        *kept = *row;
}

bool leak_rows_end(struct leak_rows *leaks, struct profile *profile)
{
    static const struct {
        const char *name, *unit;
    } columns[LEAK_COLUMNS] = {
        {TYPE_LOST_OBJECTS, "count"},     {TYPE_LOST_SPACE, "bytes"},
        {TYPE_INDIRECT_OBJECTS, "count"}, {TYPE_INDIRECT_SPACE, "bytes"},
        {TYPE_POSSIBLE_OBJECTS, "count"}, {TYPE_POSSIBLE_SPACE, "bytes"},
    };
    if (!profile->scan.known || profile->failed)
        return false;
    for (unsigned i = 0; i < LEAK_COLUMNS; i++)
        leaks->columns[i] = profile_type(profile, columns[i].name, columns[i].unit);
    return !profile->failed;
}

void leak_rows_add(const struct leak_rows *leaks, struct profile *profile,
                   const struct capture_leak *row, uint32_t stack, uint32_t label_set)
{
    const uint64_t values[LEAK_COLUMNS] = {
        row->definite.blocks, row->definite.bytes,  row->indirect.blocks,
        row->indirect.bytes,  row->possible.blocks, row->possible.bytes,
    };
    size_t sample = profile_sample(profile, stack, label_set);
    struct profile_samples *samples = &profile->samples;
    if (profile->failed)
        return;
    for (unsigned i = 0; i < LEAK_COLUMNS; i++)
        samples->values[leaks->columns[i]][sample] = capture_value(values[i]);
    if (samples->weights)
        samples->weights[sample] = 1;
    if (samples->scales)
        samples->scales[sample] = (struct profile_scale){1, 1, 0, 0};
}

void leak_rows_free(struct leak_rows *leaks)
{
    free(leaks->rows.items);
}

/* SPDX-License-Identifier: MIT */
/* See tool/profile/read/read_capture_forgotten.h. */
#include "tool/profile/read/read_capture_forgotten.h"

#include <stdlib.h>

enum {
    QUARTER_SHARE = 10, /* a quarter of the time has at least 1/10 of the live blocks */
    OLD_MS = 10000,     /* age of the oldest block, where writes to pages were not watched */
};
static const double KEPT_MIN = 0.9; /* share of its blocks that a site has not freed */

bool forgotten_start(struct forgotten *forgotten, struct profile *profile)
{
    const struct profile_samples *samples = &profile->samples;
    int allocated = profile_type_named(profile, TYPE_ALLOC_OBJECTS);
    int live = profile_type_named(profile, TYPE_INUSE_OBJECTS);
    *forgotten = (struct forgotten){.stacks = profile->stacks.count};
    forgotten->allocated = calloc(forgotten->stacks + 1, sizeof *forgotten->allocated);
    forgotten->live = calloc(forgotten->stacks + 1, sizeof *forgotten->live);
    profile->failed |= !forgotten->allocated || !forgotten->live;
    for (size_t i = 0; allocated >= 0 && live >= 0 && !profile->failed && i < samples->count; i++) {
        uint32_t stack = samples->stacks[i];
        if (stack >= forgotten->stacks)
            continue;
        forgotten->allocated[stack] += samples->values[allocated][i];
        forgotten->live[stack] += samples->values[live][i];
    }
    return !profile->failed;
}

void forgotten_free(struct forgotten *forgotten)
{
    free(forgotten->allocated);
    free(forgotten->live);
}

int64_t forgotten_blocks(const struct forgotten *forgotten, const struct profile *profile,
                         const struct forgotten_age *age, uint32_t stack)
{
    int64_t blocks = 0, old = 0, watched_ms = profile->scan.watched_ms;
    int64_t oldest_min_ms = watched_ms > 0 ? 2 * watched_ms : OLD_MS;
    if (stack >= forgotten->stacks || age->oldest_us / 1000 < oldest_min_ms ||
        (double)forgotten->live[stack] < KEPT_MIN * (double)forgotten->allocated[stack])
        return 0;
    for (unsigned i = 0; i < FORGOTTEN_QUARTERS; i++) {
        blocks += age->quarters[i];
        old += i >= FORGOTTEN_QUARTERS / 2 ? age->quarters[i] : 0;
    }
    for (unsigned i = 0; i < FORGOTTEN_QUARTERS; i++)
        if (age->quarters[i] < blocks / QUARTER_SHARE)
            return 0;
    if (watched_ms > 0 && age->untouched < old)
        old = age->untouched;
    return (int64_t)((double)old * age->weight + 0.5);
}

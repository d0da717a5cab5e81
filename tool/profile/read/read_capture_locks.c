/* SPDX-License-Identifier: MIT */
/* See tool/profile/read/read_capture_locks.h. */
#include "tool/profile/read/read_capture_locks.h"

#include <stdlib.h>

#include "base/compiler.h"
#include "base/file/capture_format.h"
#include "tool/profile/read/read_capture.h"

static void take_about(struct lock_rows *locks, struct profile *profile, struct capture_part *part);
static void take_row(struct lock_rows *locks, struct profile *profile, struct capture_part *part,
                     uint64_t *stack);

void lock_rows_part(struct lock_rows *locks, struct profile *profile,
                    const struct capture_part *whole)
{
    struct capture_part part = *whole;
    uint64_t stack = 0;
    while (part.at < part.end && !profile->failed)
        if (part.type == RECORD_LOCKS)
            take_about(locks, profile, &part);
        else
            take_row(locks, profile, &part, &stack);
}

static void take_row(struct lock_rows *locks, struct profile *profile, struct capture_part *part,
                     uint64_t *stack)
{
    struct lock_row *kept = profile_list_add(profile, &locks->rows, sizeof *kept);
    if (!kept)
        return;
    *stack += (uint64_t)format_unfold(capture_next(part));
    kept->stack = (uint32_t)(*stack < part->nodes ? *stack : 0);
    kept->thread = (uint32_t)capture_next(part) - 1;
    kept->kind = (uint32_t)capture_next(part);
    kept->holder = (uint32_t)capture_next(part) - 1;
    kept->count = capture_next(part);
    kept->ns = capture_next(part);
}

/* Five numbers: whether it runs, its start, time that it was on, lost waits, stackless waits. */
static void take_about(struct lock_rows *locks, struct profile *profile, struct capture_part *part)
{
    locks->known = true;
    capture_next(part);
    capture_next(part);
    capture_next(part);
    uint64_t lost = capture_next(part);
    if (lost > 0)
        profile_warn(profile, "%lu waits for locks are missing: the library ran out of memory",
                     (unsigned long)lost);
    part->at = part->end;
}

static bool has_conditions(const struct lock_rows *locks)
{
    for (size_t i = 0; i < locks->rows.count; i++)
        if (((const struct lock_row *)locks->rows.items)[i].kind == WAIT_CONDITION)
            return true;
    return false;
}

bool lock_rows_end(struct lock_rows *locks, struct profile *profile)
{
    if (!locks->known || profile->failed)
        return false;
    bool alone = profile->samples.count == 0;
    if (alone) {
        profile->kind = PROFILE_CONTENTION;
        profile->types = 0;
    }
    locks->columns[0][0] = profile_type(profile, TYPE_CONTENTIONS, UNIT_COUNT);
    locks->columns[0][1] = profile_type(profile, TYPE_DELAY, UNIT_NANOSECONDS);
    if (has_conditions(locks)) {
        locks->columns[1][0] = profile_type(profile, TYPE_CONDITION_WAITS, UNIT_COUNT);
        locks->columns[1][1] = profile_type(profile, TYPE_CONDITION_DELAY, UNIT_NANOSECONDS);
    }
    if (alone) {
        profile->default_type = locks->columns[0][1];
        profile->period_type = profile->type[locks->columns[0][0]];
        profile->period = 1;
    }
    return !profile->failed;
}

void lock_rows_add(const struct lock_rows *locks, struct profile *profile,
                   const struct lock_row *row, uint32_t stack, uint32_t label_set)
{
    size_t sample = profile_sample(profile, stack, label_set);
    struct profile_samples *samples = &profile->samples;
    const unsigned *columns = locks->columns[row->kind == WAIT_CONDITION];
    if (profile->failed)
        return;
    samples->values[columns[0]][sample] = capture_value(row->count);
    samples->values[columns[1]][sample] = capture_value(row->ns);
    profile_sample_weigh(profile, sample, 1);
}

void lock_rows_free(struct lock_rows *locks)
{
    free(locks->rows.items);
}

const char *lock_kind_word(uint32_t kind)
{
    static const char *const words[] = {[WAIT_MUTEX] = "mutex",
                                        [WAIT_READ] = "rwlock, to read",
                                        [WAIT_WRITE] = "rwlock, to write",
                                        [WAIT_CONDITION] = "condition"};
    return kind >= WAIT_MUTEX && kind < COUNT_OF(words) ? words[kind] : "other";
}

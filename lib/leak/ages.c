/* SPDX-License-Identifier: MIT */
/* See lib/leak/ages.h. */
#include "lib/leak/ages.h"

#include "base/confine.h"
#include "lib/alloc/alloc.h"

enum { WEIGHT_ONE = 1024 }; /* weights are whole numbers: to a thousandth */

static unsigned size_number(size_t size);
static struct scan_age *age_of(struct scan_ages *ages, uint32_t site, bool add);

void ages_begin(struct scan_ages *ages)
{
    ages->known = true;
    ages->now = confine_ticks();
}

uint64_t ages_ticks(const struct record *record, uint64_t now)
{
    uint64_t ticks = (now - record_born(record)) & (((uint64_t)1 << RECORD_BORN_BITS) - 1);
    /* The counter wraps around: a block that seems to come from the future was born just now. */
    return ticks >> (RECORD_BORN_BITS - 1) != 0 ? 0 : ticks;
}

void ages_first(struct scan_ages *ages, const struct found *block, const struct record *record)
{
    unsigned number = size_number(block->size);
    ages->all[number]++;
    struct scan_age *age = record == NULL ? NULL : age_of(ages, record->site, true);
    ages->recorded[number] += record != NULL;
    if (age == NULL)
        return;
    uint64_t ticks = ages_ticks(record, ages->now);
    age->size = block->size;
    age->oldest = ticks > age->oldest ? ticks : age->oldest;
    age->blocks++;
}

void ages_second(struct scan_ages *ages, const struct record *record, bool written)
{
    struct scan_age *age = age_of(ages, record->site, false);
    if (age == NULL)
        return;
    uint64_t quarter = age->oldest / SCAN_QUARTERS + 1, ticks = ages_ticks(record, ages->now);
    uint64_t number = ticks / quarter;
    if (number >= SCAN_QUARTERS) /* the first pass did not see it */
        return;
    age->quarters[number]++;
    age->untouched += number >= SCAN_QUARTERS / 2 && !written;
}

uint64_t ages_weight(const struct scan_ages *ages, const struct scan_age *age)
{
    unsigned number = size_number(age->size);
    return ages->recorded[number] == 0 ? WEIGHT_ONE
                                       : ages->all[number] * WEIGHT_ONE / ages->recorded[number];
}

/* Classes by their number, longer blocks by powers of two. */
static unsigned size_number(size_t size)
{
    return size <= BLOCK_MAX ? class_of(size)
                             : CLASS_COUNT + 63 - (unsigned)__builtin_clzll((uint64_t)size);
}

static struct scan_age *age_of(struct scan_ages *ages, uint32_t site, bool add)
{
    unsigned at = site * 0x9e3779b1u >> (32 - SCAN_AGES_SHIFT);
    for (unsigned looked = 0; looked < SCAN_AGES; looked++, at = (at + 1) % SCAN_AGES) {
        struct scan_age *age = &ages->rows[at];
        if (age->site == site)
            return age;
        if (age->site == 0) {
            if (!add)
                return NULL;
            age->site = site;
            ages->used[ages->used_count++] = at;
            return age;
        }
    }
    return NULL; /* too many sites */
}

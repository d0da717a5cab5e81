/* SPDX-License-Identifier: MIT */
/* See lib/api/young.h. */
#include "lib/api/young.h"

#include "base/os.h"
#include "lib/watch/watch.h"

enum { CALLS = 256 };

__thread struct young young;

static struct lock clock_lock = {0, LOCK_SAMPLES};
static int64_t clock_left;
static bool clock_set;
static uint64_t clock_random;
static uint32_t colours;

bool young_is(void)
{
    if (unlikely(!young.known)) {
        young.known = true;
        young.colour = (uint8_t)(__atomic_fetch_add(&colours, 1, __ATOMIC_RELAXED) % COLOURS);
        young.pool = (uint8_t)heap_pool_here();
    }
    return young.ended || ++young.calls <= CALLS;
}

bool young_ring(size_t bytes)
{
    bool hit = false;
    lock_take(&clock_lock);
    if (!clock_set) {
        clock_random = os_random() | 1;
        clock_left = sampler_bytes(&clock_random);
        clock_set = true;
    }
    if ((uint64_t)clock_left < bytes) {
        clock_left = sampler_bytes(&clock_random);
        hit = sampler_rate() != SAMPLER_OFF;
    } else {
        clock_left -= (int64_t)bytes;
    }
    lock_give(&clock_lock);
    return hit;
}

void young_reset(void)
{
    lock_take(&clock_lock);
    clock_set = false;
    lock_give(&clock_lock);
}

void young_recover(uint32_t parent_id)
{
    lock_break(&clock_lock, parent_id);
}

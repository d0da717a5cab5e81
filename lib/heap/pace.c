/* SPDX-License-Identifier: MIT */
/* See lib/heap/pace.h. */
#include "lib/heap/pace.h"

#include "base/config.h"
#include "base/confine.h"
#include "lib/heap/sampler.h"
#include "lib/heap/track.h"

enum { SLOW = 4 }; /* times longer than PACE_SAMPLES may take: the rate is halved */

void pace_start(struct heap_pace *pace)
{
    pace->rate = sampler_rate();
    pace->number = (uint8_t)sampler_number();
    pace->doublings = 0;
    pace->doublings_max = sampler_is_paced() ? SAMPLER_DOUBLINGS : 0;
    pace->turns_free = PACE_FREE / PACE_SAMPLES;
    pace->samples = 0;
    pace->since = confine_ticks();
}

static uint64_t shortest_us(void)
{
    return (uint64_t)PACE_SAMPLES * 1000000 / config.heap_pace;
}

bool pace_judge(struct heap_pace *pace, uint64_t us)
{
    unsigned before = pace->doublings, samples = pace->samples;
    uint64_t shortest = shortest_us();
    if (samples < PACE_SAMPLES) /* and one that may come now */
        us = us * PACE_SAMPLES / (samples + 1);
    pace->samples = 0;
    for (us += us == 0; us < shortest && pace->doublings < pace->doublings_max; us *= 2)
        pace->doublings++;
    for (; us > SLOW * shortest && pace->doublings > 0; us /= 2)
        pace->doublings--;
    return pace->doublings != before;
}

/* Judges the time that has passed and begins anew. */
static bool judge_at(struct heap_pace *pace, uint64_t ticks)
{
    uint64_t us = track_us(ticks - pace->since);
    pace->since = ticks;
    return pace_judge(pace, us);
}

bool pace_sampled(struct heap_pace *pace)
{
    if (++pace->samples < PACE_SAMPLES || pace->doublings_max == 0)
        return false;
    if (pace->turns_free > 0) {
        pace->turns_free--;
        pace->samples = 0;
        pace->since = confine_ticks();
        return false;
    }
    return judge_at(pace, confine_ticks());
}

bool pace_visited(struct heap_pace *pace)
{
    if (likely(pace->doublings == 0))
        return false;
    uint64_t ticks = confine_ticks();
    return track_us(ticks - pace->since) > SLOW * shortest_us() && judge_at(pace, ticks);
}

/* SPDX-License-Identifier: MIT */
/*
 * A heaptrack file has as many allocations as the profile, in all, at the peak and at the end: 300
 * random heaps of 1 to 6 sites with large blocks, whose sizes differ, are sampled, scaled, written
 * and read again. Bytes are the same, too, in 98 of 100 files: blocks and bytes of large blocks are
 * scaled apart, so in a heap of a few blocks there may be bytes that no object fits.
 */
#include "tool/profile/capture/capture.h"
#include "tool/profile/capture/capture_samples.h"
#include "tool/profile/profile.h"
#include "tool/profile/read/read.h"
#include "tool/profile/write/write.h"

#include <math.h>

#include "tests/tool/profiles.h"
#include "tests/unit/unit.h"

enum { HEAPS = 300, SITES_MAX = 6, BLOCKS_MAX = 12, RATE = 524288, BLOCK_MAX_SIZE = 700000 };

static uint64_t state = 0x9e3779b97f4a7c15u;

static uint64_t below(uint64_t bound)
{
    return (unit_random(&state) >> 11) % bound;
}

static void count_add(struct capture_count *to, uint64_t bytes)
{
    to->blocks++;
    to->bytes += bytes;
}

static void sum_add(struct capture_sum *to, uint64_t bytes)
{
    to->objects++;
    to->requested += bytes;
    to->usable += bytes;
}

/* Blocks of about one size; half of them are recorded. */
static void site_make(struct capture_row *row, struct capture_class *class, uint32_t stack)
{
    uint64_t size = 40960 << below(5), count = 1 + below(BLOCKS_MAX);
    *row = (struct capture_row){
        .stack = stack, .rate = RATE, .weight = 1 / -expm1(-(double)size / RATE)};
    for (uint64_t i = 0; i < count; i++) {
        uint64_t bytes = size + 64 * below(16);
        bool live = below(2) == 0, peak = below(3) != 0, seen = below(2) == 0;
        count_add(&class->allocated, bytes);
        if (live)
            count_add(&class->live, bytes);
        if (peak)
            count_add(&class->peak, bytes);
        if (seen)
            sum_add(&row->allocated, bytes);
        if (seen && live)
            sum_add(&row->live, bytes);
        if (seen && peak)
            sum_add(&row->peak, bytes);
    }
}

static void mix_make(struct profile *profile)
{
    static struct capture_samples samples;
    struct capture_row rows[SITES_MAX];
    struct capture_class large;
    unsigned count = 1 + (unsigned)below(SITES_MAX);
    do {
        large = (struct capture_class){.size = 0};
        for (unsigned i = 0; i < count; i++)
            site_make(&rows[i], &large, i + 2);
    } while (large.peak.bytes < large.live.bytes || large.peak.bytes < BLOCK_MAX_SIZE);
    profile_start(profile);
    profile->kind = PROFILE_HEAP;
    capture_samples_start(&samples, profile, false);
    capture_samples_snapshot(&samples, true, 0);
    capture_samples_class(&samples, &large);
    for (unsigned i = 0; i < count; i++) {
        size_t sample;
        bool fresh;
        char name[16];
        if (rows[i].allocated.objects == 0)
            continue;
        snprintf(name, sizeof name, "site%u", i);
        assert(capture_samples_row(&samples, &rows[i], 1, &sample, &fresh) && fresh);
        profile->samples.stacks[sample] = capture_samples_named(profile, name);
    }
    capture_samples_whole(&samples, true);
    capture_samples_free(&samples);
    assert(!profile->failed && profile->counted);
}

static bool same(const struct profile *profile, const struct profile *again,
                 const char *const types[3])
{
    bool right = true;
    for (unsigned i = 0; i < 3; i++) {
        int64_t wanted = profile_sum(profile, types[i]), got = profile_sum(again, types[i]);
        if (wanted != got)
            printf("%s: %lld instead of %lld\n", types[i], (long long)got, (long long)wanted);
        right &= wanted == got;
    }
    return right;
}

int main(void)
{
    static const char *const counts[] = {"alloc_objects", "peak_objects", "inuse_objects"};
    static const char *const bytes[] = {"alloc_space", "peak_space", "inuse_space"};
    unsigned wrong = 0, wrong_bytes = 0;
    unit_scratch();
    for (unsigned i = 0; i < HEAPS; i++) {
        struct profile profile, again;
        struct read_error error;
        mix_make(&profile);
        struct write_options options = {.type = profile.default_type};
        FILE *file = fopen("out.heaptrack", "we");
        assert(file && write_find("heaptrack")->write(&profile, &options, file));
        assert(fclose(file) == 0);
        profile_start(&again);
        assert(profile_read_file(&again, "out.heaptrack", NULL, &error));
        wrong += !same(&profile, &again, counts);
        wrong_bytes += !same(&profile, &again, bytes);
        profile_free(&profile);
        profile_free(&again);
    }
    printf("of %u files %u have other counts, %u other bytes\n", HEAPS, wrong, wrong_bytes);
    return wrong > 0 || wrong_bytes > HEAPS / 50;
}

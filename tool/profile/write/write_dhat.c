/* SPDX-License-Identifier: MIT */
/*
 * DHAT's JSON, for valgrind's dh_view.html: of each stack, leaf first, what was allocated in all,
 * at the peak and at the end. Its peak alone (the fields m...) is not known; the larger of the two
 * others stands for it. Lifetimes are those of blocks that have ended, as far as they were
 * recorded, each taken for the middle of its class.
 *
 * A profile that is not of a heap has one value, and says what its units are.
 */
#include "tool/profile/write/write.h"

#include <stdlib.h>
#include <string.h>

#include "tool/profile/profile.h"
#include "tool/profile/write/flat.h"
#include "tool/terminal/terminal.h"

enum {
    NS_PER_US = 1000,
    SHORT_LIFE_US = 1000, /* as in memoir report */
};

/* Columns of the profile; -1: there is none. */
struct columns {
    int total, total_blocks, peak, peak_blocks, end, end_blocks;
};

static struct columns columns_of(const struct profile *profile, unsigned type)
{
    struct columns columns = {
        .total = profile_type_named(profile, TYPE_ALLOC_SPACE),
        .total_blocks = profile_type_named(profile, TYPE_ALLOC_OBJECTS),
        .peak = profile_type_named(profile, TYPE_PEAK_SPACE),
        .peak_blocks = profile_type_named(profile, TYPE_PEAK_OBJECTS),
        .end = profile_type_named(profile, TYPE_INUSE_SPACE),
        .end_blocks = profile_type_named(profile, TYPE_INUSE_OBJECTS),
    };
    if (columns.end < 0) {
        columns.end = profile_type_named(profile, TYPE_SPACE);
        columns.end_blocks = profile_type_named(profile, TYPE_OBJECTS);
    }
    if (columns.end < 0 && columns.total < 0) {
        columns.total = (int)type;
        columns.total_blocks = profile_type_partner(profile, type);
    }
    if (columns.total < 0) {
        columns.total = columns.end;
        columns.total_blocks = columns.end_blocks;
    }
    if (columns.peak < 0) {
        columns.peak = columns.end;
        columns.peak_blocks = columns.end_blocks;
    }
    return columns;
}

/* Of each sample, all lives together in us; NULL: not known, or memory is out. */
static int64_t *lives_of(const struct profile *profile, bool *done)
{
    const struct profile_samples *samples = &profile->samples;
    if (!samples->lives)
        return NULL;
    int64_t *sums = calloc(samples->count + 1, sizeof *sums);
    *done = sums != NULL;
    for (size_t i = 0; i < samples->count && sums; i++) {
        double sum = 0, limit = 1; /* class k ends at 4^k us */
        for (unsigned k = 0; k < FORMAT_LIVES; k++, limit *= 4)
            sum += samples->lives[i][k] * (k == 0 ? 0.5 : limit * 0.625);
        sums[i] = (int64_t)(sum * (samples->weights ? (double)samples->weights[i] : 1));
    }
    return sums;
}

static void head_put(struct json *json, const struct profile *profile, unsigned type, bool heap,
                     bool lives)
{
    const char *unit = profile_text(profile, profile->type[type].unit);
    json_number(json, "dhatFileVersion", 2);
    json_text(json, "mode", heap ? "heap" : profile_text(profile, profile->type[type].name));
    json_text(json, "verb", heap ? "Allocated" : "Seen");
    json_flag(json, "bklt", heap);
    json_flag(json, "bkacc", false);
    if (!heap) {
        json_text(json, "bu", unit);
        json_text(json, "bsu", unit);
        json_text(json, "bksu", "events");
    }
    json_text(json, "tu", "\xc2\xb5s");
    json_text(json, "Mtu", "s");
    json_number(json, "tuth", lives ? SHORT_LIFE_US : -1);
    char *command = estimate_command(profile);
    json_text(json, "cmd", command ? command : "");
    free(command);
    json_number(json, "pid", profile->pid);
    json_number(json, "tg",
                (profile->peak_time_ns > 0 ? profile->peak_time_ns : profile->duration_ns) /
                    NS_PER_US);
    json_number(json, "te", profile->duration_ns / NS_PER_US);
}

static void point_put(struct json *json, const struct flat *flat, size_t stack,
                      const struct columns *columns, bool heap, bool lives)
{
    const int *column[] = {&columns->total,       &columns->total_blocks, &columns->peak,
                           &columns->peak_blocks, &columns->end,          &columns->end_blocks};
    int64_t value[6];
    for (unsigned i = 0; i < 6; i++)
        value[i] = *column[i] < 0 ? 0 : flat_value(flat, stack, (unsigned)*column[i]);
    if (value[0] == 0 && value[2] == 0 && value[4] == 0)
        return;
    struct flat_stack there = flat_stack(flat, stack);
    json_object(json, NULL);
    json_number(json, "tb", value[0]);
    json_number(json, "tbk", value[1]);
    if (heap) {
        bool peak = value[2] >= value[4];
        json_number(json, "tl", lives ? flat_value(flat, stack, flat->types - 1) : 0);
        json_number(json, "mb", value[peak ? 2 : 4]);
        json_number(json, "mbk", value[peak ? 3 : 5]);
        json_number(json, "gb", value[2]);
        json_number(json, "gbk", value[3]);
        json_number(json, "eb", value[4]);
        json_number(json, "ebk", value[5]);
    }
    json_array(json, "fs");
    for (uint32_t i = 0; i < there.count; i++)
        json_number(json, NULL, (int64_t)there.frames[i] + 1);
    json_end(json);
    json_end(json);
}

/* "0x401136: main (src/main.c:10)"; memory for it is the caller's. False when there is none. */
static bool frames_put(struct json *json, const struct flat *flat)
{
    json_array(json, "ftbl");
    json_text(json, NULL, "[root]");
    for (size_t i = 0; i < flat->frames_count; i++) {
        char *text = flat_place(&flat->frames[i]);
        if (!text)
            return false;
        json_text(json, NULL, text);
        free(text);
    }
    json_end(json);
    return true;
}

static bool dhat(const struct profile *profile, const struct write_options *options, FILE *file)
{
    struct columns columns = columns_of(profile, options->type);
    bool heap = columns.end >= 0, done = true;
    struct flat flat = {0};
    struct json json;
    int64_t *lives = lives_of(profile, &done);
    done =
        done && flat_make(&flat, profile,
                          &(struct flat_options){.lines = true, .leaf_first = true, .more = lives});
    if (done) {
        json_start(&json, file, false);
        json_object(&json, NULL);
        head_put(&json, profile, options->type, heap, lives != NULL);
        json_array(&json, "pps");
        for (size_t i = 0; i < flat.stacks_count; i++)
            point_put(&json, &flat, i, &columns, heap, lives != NULL);
        json_end(&json);
        done = frames_put(&json, &flat);
        json_end(&json);
        putc_unlocked('\n', file);
    }
    flat_free(&flat);
    free(lives);
    return done;
}

const struct writer writer_dhat = {
    .word = "dhat",
    .ending = ".dhat.json",
    .brief = "for DHAT's viewer, dh_view.html",
    .values = WRITES_ALL,
    .write = dhat,
};

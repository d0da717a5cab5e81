/* SPDX-License-Identifier: MIT */
/*
 * The heap as gperftools, old jemallocs and Go write it:
 *
 *      heap profile:     12:    49152 [    40:   163840] @ heapprofile
 *          12:    49152 [    40:   163840] @ 0x55d0c0de1234 0x7f00c0ffee00
 *      MAPPED_LIBRARIES:
 *
 * Live objects and bytes; in brackets all that were allocated. The word behind the @ says what the
 * numbers are: heapprofile all of them, heap_v2/RATE samples, heap/2*RATE the same in an older
 * spelling, growth where the heap itself grew. Where the brackets only repeat what is live they
 * are left out.
 */
#include <stdlib.h>
#include <string.h>

#include "tool/profile/parse/parse.h"
#include "tool/profile/profile.h"
#include "tool/profile/read/read.h"

enum { LIVE_OBJECTS, LIVE_BYTES, ALL_OBJECTS, ALL_BYTES, COLUMNS };
enum { OLD_RATE = 128 << 10 }; /* of dumps that do not say what they are */

struct reading {
    const struct read_input *input;
    struct profile *profile;
    struct read_error *error;
    struct text text;
    int64_t rate;
    bool has_all;
    struct text_stack stack;
    struct text_names names;
};

static bool take_numbers(struct reading *it, struct text *line, int64_t numbers[COLUMNS])
{
    static const char *const before[COLUMNS] = {"", ":", "[", ":"};
    for (unsigned i = 0; i < COLUMNS; i++) {
        text_blank(line);
        if (!text_word(line, before[i]))
            return read_refuse_at(it->error, it->input, line->at,
                                  "the numbers of a stack do not have the form N: N [N: N]");
        text_blank(line);
        if (!text_signed(line, &numbers[i]))
            return read_refuse_at(it->error, it->input, line->at,
                                  "a number is missing or has more than 63 bits");
    }
    text_blank(line);
    if (!text_word(line, "]"))
        return read_refuse_at(it->error, it->input, line->at, "a bracket is missing");
    text_blank(line);
    return true;
}

/* What is behind the @ of the first line. */
static bool take_kind(struct reading *it, struct text line, bool brackets_repeat)
{
    struct profile *profile = it->profile;
    uint64_t number = 0;
    text_word(&line, "@");
    text_trim(&line);
    struct text word = line;
    while (line.at < line.end && *line.at != '/' && *line.at != ' ')
        line.at++;
    word.end = line.at;
    if (text_word(&line, "/") && line.at < line.end &&
        (!text_number(&line, &number) || number > INT64_MAX))
        return read_refuse_at(it->error, it->input, line.at, "the sampling rate is missing");
    if (text_starts(&word, "growth") || text_starts(&word, "fragmentation")) {
        profile->kind = PROFILE_GROWTH;
        profile->format = "gperftools growth";
        profile->traits = TRAIT_GPERFTOOLS;
    } else if (memmem(word.at, (size_t)(word.end - word.at), "_v2", 3)) {
        it->rate = number > 0 ? (int64_t)number : OLD_RATE;
    } else if (word.end - word.at == 4 && text_starts(&word, "heap")) {
        it->rate = number > 0 ? (int64_t)(number / 2) : OLD_RATE;
    } else if (word.at == word.end && brackets_repeat) {
        it->rate = OLD_RATE;
    }
    return true;
}

static bool read_head(struct reading *it)
{
    struct profile *profile = it->profile;
    struct text line;
    int64_t sums[COLUMNS] = {0};
    text_line(&it->text, &line);
    if (text_starts(&line, "---")) /* of a server's answer */
        text_line(&it->text, &line);
    if (!text_word(&line, "heap profile:"))
        return read_refuse_at(it->error, it->input, line.at,
                              "the line does not begin with heap profile:");
    profile->kind = PROFILE_HEAP;
    if (!take_numbers(it, &line, sums))
        return false;
    bool repeat = sums[LIVE_OBJECTS] == sums[ALL_OBJECTS] && sums[LIVE_BYTES] == sums[ALL_BYTES];
    if (!take_kind(it, line, repeat))
        return false;
    it->has_all = profile->kind == PROFILE_HEAP && !repeat &&
                  (sums[ALL_OBJECTS] != 0 || sums[ALL_BYTES] != 0);
    if (it->has_all) {
        profile_type(profile, TYPE_ALLOC_OBJECTS, UNIT_COUNT);
        profile_type(profile, TYPE_ALLOC_SPACE, UNIT_BYTES);
    }
    bool growth = profile->kind == PROFILE_GROWTH;
    profile_type(profile, growth ? TYPE_OBJECTS : TYPE_INUSE_OBJECTS, UNIT_COUNT);
    profile->default_type =
        profile_type(profile, growth ? TYPE_SPACE : TYPE_INUSE_SPACE, UNIT_BYTES);
    profile->period_type = profile_type_make(profile, TYPE_SPACE, UNIT_BYTES);
    profile->period = it->rate > 1 ? it->rate : 0;
    if (it->rate > 1 && !it->input->options.raw)
        profile_want_weights(profile);
    return true;
}

static void add_sample(struct reading *it, uint32_t stack, const int64_t seen[COLUMNS])
{
    struct profile *profile = it->profile;
    double rate = it->input->options.raw ? 1 : (double)it->rate, weight[2];
    size_t at = profile_sample(profile, stack, 0);
    if (profile->failed)
        return;
    for (unsigned i = 0; i < 2; i++)
        weight[i] = unsample_weight((double)seen[i * 2], (double)seen[i * 2 + 1], rate);
    for (unsigned i = 0; i < COLUMNS; i++) {
        /* By way of `double` only where something is to be multiplied. */
        int64_t value =
            weight[i / 2] == 1 ? seen[i] : unsample_round((double)seen[i] * weight[i / 2]);
        unsigned live = it->has_all ? 2 : 0;
        if (i < ALL_OBJECTS)
            profile->samples.values[live + i][at] = value;
        else if (it->has_all)
            profile->samples.values[i - ALL_OBJECTS][at] = value;
    }
    if (profile->samples.weights)
        profile->samples.weights[at] = (float)weight[seen[LIVE_OBJECTS] == 0];
}

static bool read_stacks(struct reading *it)
{
    struct text line;
    int64_t seen[COLUMNS] = {0};
    uint32_t stack;
    while (text_line(&it->text, &line) && !it->profile->failed) {
        if (line.end == it->input->bytes + it->input->size) {
            it->profile->torn = true; /* cut inside of a line */
            break;
        }
        bool named = text_names(it->profile, line, &it->names);
        text_trim(&line);
        if (line.at < line.end && *line.at == '#')
            estimate_see(it->profile, line.at, (size_t)(line.end - line.at));
        if (named || line.at == line.end || *line.at == '#')
            continue;
        if (!take_numbers(it, &line, seen))
            return false;
        if (!text_word(&line, "@") || !text_stack(it->profile, &line, &it->stack, &stack))
            return read_refuse_at(it->error, it->input, line.at, "a stack without an address");
        add_sample(it, stack, seen);
    }
    return true;
}

static bool is(const struct read_input *input)
{
    struct text text = text_of(input), line;
    text_line(&text, &line);
    if (text_starts(&line, "--- heap") || text_starts(&line, "--- growth"))
        text_line(&text, &line);
    return text_starts(&line, "heap profile:");
}

static bool read(const struct read_input *input, struct profile *profile, struct read_error *error)
{
    struct reading it = {.input = input, .profile = profile, .error = error};
    it.text = text_of(input);
    text_mappings(profile, &it.text);
    bool mapped = it.text.end != input->bytes + input->size;
    bool done = read_head(&it) && read_stacks(&it);
    if (!mapped && !it.names.any)
        profile_warn(profile, "the list of mappings is missing: addresses can't be named");
    free(it.stack.locations);
    return done;
}

const struct reader reader_heap_text = {
    .name = "gperftools heap", .is = is, .read = read, .traits = TRAIT_DUMP | TRAIT_GPERFTOOLS};

/* SPDX-License-Identifier: MIT */
/*
 * Waits for locks by stack, as servers answer them:
 *
 *      --- contention:                 or   --- Stacks:
 *      cycles/second = 2800000000           1500 @ 0x55d0c0de1234 0x7f00c0ffee00
 *      sampling period = 100
 *      1500 3 @ 0x55d0c0de1234 0x7f00c0ffee00
 *
 * Cycles, and how often, if that is there. Lines of mappings may stand anywhere behind the first.
 */
#include <stdlib.h>
#include <string.h>

#include "tool/profile/parse/parse.h"
#include "tool/profile/profile.h"
#include "tool/profile/read/read.h"

struct reading {
    const struct read_input *input;
    struct profile *profile;
    struct read_error *error;
    struct text text;
    double cycles_each_ns;
    uint64_t period;
    struct text_stack stack;
    struct text_names names;
};

static bool is_stack(const struct text *line)
{
    struct text rest = *line;
    uint64_t number;
    if (!text_number(&rest, &number))
        return false;
    text_blank(&rest);
    if (text_number(&rest, &number))
        text_blank(&rest);
    return text_starts(&rest, "@");
}

/* cycles/second = N and its like. */
static bool take_setting(struct reading *it, struct text line)
{
    struct text name = line;
    const char *equals = memchr(line.at, '=', (size_t)(line.end - line.at));
    uint64_t number;
    if (!equals)
        return false;
    name.end = equals;
    text_trim(&name);
    line.at = equals + 1;
    text_trim(&line);
    if (!text_number(&line, &number))
        return false;
    if (text_starts(&name, "cycles/second") && number > 0)
        it->cycles_each_ns = (double)number / 1e9;
    else if (text_starts(&name, "sampling period") && number > 0)
        it->period = number;
    else if (text_starts(&name, "ms since reset") && number < INT64_MAX / 1000000)
        it->profile->duration_ns = (int64_t)number * 1000000;
    return true;
}

static bool add_stack(struct reading *it, struct text line)
{
    struct profile *profile = it->profile;
    uint64_t cycles = 0, times = 1;
    uint32_t stack;
    text_number(&line, &cycles);
    text_blank(&line);
    if (text_number(&line, &times))
        text_blank(&line);
    if (!text_word(&line, "@") || !text_stack(profile, &line, &it->stack, &stack))
        return read_refuse_at(it->error, it->input, line.at, "a stack without an address");
    size_t row = profile_sample(profile, stack, 0);
    if (profile->failed)
        return false;
    double period = it->input->options.raw ? 1 : (double)it->period;
    profile->samples.values[0][row] = unsample_round((double)times * period);
    profile->samples.values[1][row] = unsample_round((double)cycles * period / it->cycles_each_ns);
    return true;
}

/* The mappings and the settings; then, when they are known, the stacks. */
static bool read_lines(struct reading *it)
{
    struct text rest = it->text, line;
    while (text_line(&rest, &line)) {
        text_trim(&line);
        if (!is_stack(&line) && !text_mapping(it->profile, line))
            take_setting(it, line);
    }
    if (it->cycles_each_ns == 0) {
        it->cycles_each_ns = 2.8;
        profile_warn(it->profile, "the file has no cycles/second: times assume a clock of 2.8 GHz");
    }
    for (rest = it->text; text_line(&rest, &line);) {
        if (text_names(it->profile, line, &it->names))
            continue;
        text_trim(&line);
        if (is_stack(&line) && !add_stack(it, line))
            return false;
    }
    return true;
}

static bool is(const struct read_input *input)
{
    struct text text = text_of(input);
    return text_starts(&text, "--- contention") || text_starts(&text, "--- Stacks:") ||
           text_starts(&text, "--- mutex:");
}

static bool read(const struct read_input *input, struct profile *profile, struct read_error *error)
{
    struct reading it = {.input = input, .profile = profile, .error = error, .period = 1};
    struct text line;
    it.text = text_of(input);
    text_line(&it.text, &line);
    if (text_starts(&line, "--- Stacks:"))
        profile_warn(profile, "an old file format: signals of condition variables count as waiting "
                              "for a lock");
    profile->kind = PROFILE_CONTENTION;
    profile_type(profile, TYPE_CONTENTIONS, UNIT_COUNT);
    profile->default_type = profile_type(profile, TYPE_DELAY, UNIT_NANOSECONDS);
    text_mappings(profile, &it.text);
    bool done = read_lines(&it);
    profile->period = it.period > INT64_MAX ? INT64_MAX : (int64_t)it.period;
    profile->period_type = profile_type_make(profile, TYPE_CONTENTIONS, UNIT_COUNT);
    free(it.stack.locations);
    return done;
}

const struct reader reader_contention = {.name = "contention", .is = is, .read = read};

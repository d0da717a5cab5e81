/* SPDX-License-Identifier: MIT */
/*
 * The heap and the locks of a Java program, as the older servers answer it:
 *
 *      --- heapz 1 ---                 or   --- contentionz 1 ---
 *      format = java                        format = java
 *      resolution = bytes                   resolution = microseconds
 *      7048 1 @ 0x00000001 0x00000002       sampling period = 100
 *      0x00000001 Main.run (Main.java:12)
 *
 * Bytes and objects, or time and how often; then what each address stands for. Addresses are
 * numbers of this file only.
 */
#include <stdlib.h>
#include <string.h>

#include "tool/profile/profile.h"
#include "tool/profile/read/java.h"
#include "tool/profile/read/read.h"

enum { HEAP_RATE = 512 << 10 }; /* that of such files, which they do not tell */

struct reading {
    const struct read_input *input;
    struct profile *profile;
    struct read_error *error;
    struct text text;
    bool heap;
    struct ids names; /* address to location */
    int64_t unit_ns, period;
    struct text_stack stack;
};

/* "sampling period = 100" and its like. False: it is no setting. */
static bool take_setting(struct reading *it, struct text line)
{
    struct text name = line, value = line;
    const char *equals = memchr(line.at, '=', (size_t)(line.end - line.at));
    uint64_t number;
    if (!equals)
        return false;
    name.end = equals;
    value.at = equals + 1;
    text_trim(&name);
    text_trim(&value);
    if (text_starts(&name, "resolution") && text_starts(&value, "nanoseconds"))
        it->unit_ns = 1;
    else if (text_starts(&name, "resolution") && text_starts(&value, "milliseconds"))
        it->unit_ns = 1000000;
    else if (text_starts(&name, "sampling period") && text_number(&value, &number) && number > 0 &&
             number < INT32_MAX)
        it->period = (int64_t)number;
    else if (text_starts(&name, "ms since reset") && text_number(&value, &number) &&
             number < INT64_MAX / 1000000)
        it->profile->duration_ns = (int64_t)number * 1000000;
    return true;
}

static bool take_stack(struct reading *it, struct text *line, uint32_t *stack)
{
    struct profile *profile = it->profile;
    uint64_t address;
    it->stack.count = 0;
    for (text_blank(line); line->at < line->end; text_blank(line)) {
        if (!text_hex(line, &address))
            return read_refuse_at(it->error, it->input, line->at, "a stack without an address");
        if (!text_push(profile, &it->stack, java_location(profile, &it->names, address)))
            return false;
    }
    *stack = profile_stack(profile, it->stack.locations, it->stack.count);
    return true;
}

/* "BYTES OBJECTS @ ...", "TIME COUNT @ ...". */
static bool take_sample(struct reading *it, struct text line, bool *taken)
{
    struct profile *profile = it->profile;
    struct profile_label label = {.key = profile_string_of(profile, LABEL_BLOCK_BYTES)};
    int64_t amount, count;
    uint32_t stack = 0;
    *taken = text_signed(&line, &amount) && (text_blank(&line), text_signed(&line, &count)) &&
             (text_blank(&line), text_word(&line, "@"));
    if (!*taken)
        return true;
    if (it->heap && count <= 0)
        return read_refuse_at(it->error, it->input, line.at, "bytes without an object");
    if (!take_stack(it, &line, &stack))
        return false;
    label.unit = label.key;
    label.number = it->heap ? amount / count : 0;
    size_t row =
        profile_sample(profile, stack, it->heap ? profile_label_set(profile, &label, 1) : 0);
    if (profile->failed)
        return false;
    double weight = it->input->options.raw ? 1
                    : it->heap ? unsample_weight((double)count, (double)amount, HEAP_RATE)
                               : (double)it->period;
    profile->samples.values[0][row] = unsample_round((double)count * weight);
    profile->samples.values[1][row] =
        unsample_round((double)amount * weight * (it->heap ? 1 : (double)it->unit_ns));
    if (profile->samples.weights)
        profile->samples.weights[row] = (float)weight;
    return true;
}

static bool read_lines(struct reading *it)
{
    struct text line;
    bool head = true;
    while (text_line(&it->text, &line) && !it->profile->failed) {
        bool taken = false;
        text_trim(&line);
        if (line.at == line.end || (head && take_setting(it, line)))
            continue;
        head = false;
        if (!take_sample(it, line, &taken))
            return false;
        if (!taken)
            break; /* the names */
    }
    return true;
}

static bool is(const struct read_input *input)
{
    struct text text = text_of(input);
    return text_starts(&text, "--- heapz ") || text_starts(&text, "--- contentionz ");
}

static bool read(const struct read_input *input, struct profile *profile, struct read_error *error)
{
    struct reading it = {.input = input,
                         .profile = profile,
                         .error = error,
                         .text = text_of(input),
                         .unit_ns = 1000,
                         .period = 1};
    struct text line;
    text_line(&it.text, &line);
    it.heap = text_starts(&line, "--- heapz");
    profile->kind = it.heap ? PROFILE_HEAP : PROFILE_CONTENTION;
    profile_type(profile, it.heap ? TYPE_INUSE_OBJECTS : TYPE_CONTENTIONS, UNIT_COUNT);
    profile->default_type = profile_type(profile, it.heap ? TYPE_INUSE_SPACE : TYPE_DELAY,
                                         it.heap ? UNIT_BYTES : UNIT_NANOSECONDS);
    if (it.heap && !input->options.raw)
        profile_want_weights(profile);
    bool done = java_names(profile, it.text, &it.names, error) && read_lines(&it);
    profile->period = it.heap ? HEAP_RATE : it.period;
    profile->period_type = it.heap ? profile_type_make(profile, TYPE_SPACE, UNIT_BYTES)
                                   : profile_type_make(profile, TYPE_CONTENTIONS, UNIT_COUNT);
    free(it.names.pairs);
    free(it.stack.locations);
    return done;
}

const struct reader reader_java = {.name = "Java's heap and locks", .is = is, .read = read};

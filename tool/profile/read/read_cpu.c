/* SPDX-License-Identifier: MIT */
/*
 * gperftools' CPU profiles: words of 32 or 64 bits in either byte order.
 *
 *      0, 3, 0, microseconds of a sample, 0        the head; 3 is how many words follow
 *      times, depth, address, ...                  a stack, innermost first
 *      0, 1, 0                                     the end; then text: the mappings
 *
 * Java's have a 1 in the third word. There an address is a number that stands for a line of the
 * program, the text at the end says which, and nothing is taken off.
 *
 * The first address is that of the instruction, the others are return addresses: one is taken off
 * them, so that each is the address of code that ran and one address has one meaning. A handler
 * that walked through its own signal frame wrote the interrupted address twice, the frame of the
 * kernel between the two; that is left out.
 */
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "tool/profile/read/java.h"
#include "tool/profile/read/read.h"

/* HEAD_MAX: so that no text passes for a head. */
enum { HEAD = 2, HEAD_MIN = 3, HEAD_MAX = 1 << 10 };

struct words {
    const char *bytes;
    size_t count; /* whole words */
    unsigned width;
    bool big;
};

static uint64_t word(const struct words *words, size_t at)
{
    uint64_t value = 0;
    const unsigned char *bytes = (const unsigned char *)words->bytes + at * words->width;
    for (unsigned i = 0; i < words->width; i++)
        value |= (uint64_t)bytes[words->big ? words->width - 1 - i : i] << (8 * i);
    return value;
}

/* A line of a server's answer may stand before it. */
static size_t skip_line(const struct read_input *input)
{
    struct text text = text_of(input), line;
    if (!text_starts(&text, "--- profile") || !text_line(&text, &line))
        return 0;
    return (size_t)(text.at - input->bytes);
}

static bool find_words(const struct read_input *input, struct words *words)
{
    static const struct {
        unsigned width;
        bool big;
    } forms[] = {{4, false}, {4, true}, {8, false}, {8, true}};
    size_t skipped = skip_line(input);
    for (size_t i = 0; i < COUNT_OF(forms); i++) {
        *words = (struct words){input->bytes + skipped, (input->size - skipped) / forms[i].width,
                                forms[i].width, forms[i].big};
        if (words->count > HEAD + HEAD_MIN && word(words, 0) == 0 && word(words, 1) >= HEAD_MIN &&
            word(words, 1) < HEAD_MAX && word(words, 2) <= 1 && word(words, 3) > 0 &&
            word(words, 3) <= UINT32_MAX)
            return true;
    }
    return false;
}

struct record {
    uint64_t times;
    size_t first, depth;
};

enum next { RECORD, END, CUT };

static enum next next_record(const struct words *words, size_t *at, struct record *record)
{
    if (words->count - *at < 2)
        return CUT;
    uint64_t depth = word(words, *at + 1);
    *record = (struct record){word(words, *at), *at + 2, (size_t)depth};
    if (depth > words->count - record->first)
        return CUT;
    *at = record->first + record->depth;
    return record->times == 0 && depth == 1 && word(words, record->first) == 0 ? END : RECORD;
}

/* The stack of a Java program. */
static bool push_names(struct profile *profile, const struct words *words,
                       const struct record *record, const struct ids *names,
                       struct text_stack *room)
{
    for (size_t i = 0; i < record->depth; i++) {
        uint64_t address = word(words, record->first + i);
        if (!text_push(profile, room, java_location(profile, names, address)))
            return false;
    }
    return true;
}

static bool push_addresses(struct profile *profile, const struct words *words,
                           const struct record *record, struct text_stack *room)
{
    uint64_t leaf = record->depth > 0 ? word(words, record->first) : 0;
    size_t skip = 1;
    if (record->depth > 2 && word(words, record->first + 2) == leaf)
        skip = 3;
    else if (record->depth > 1 && word(words, record->first + 1) == leaf)
        skip = 2;
    for (size_t i = 0; i < record->depth; i++) {
        uint64_t address = word(words, record->first + i);
        if (i > 0 && i < skip)
            continue;
        if (i > 0 && address > 0)
            address--;
        if (!text_push(profile, room, profile_address(profile, address, LOCATION_EXACT)))
            return false;
    }
    return true;
}

/* `names` is of a Java program, or NULL. */
static bool add_record(struct profile *profile, const struct words *words,
                       const struct record *record, const struct ids *names,
                       struct text_stack *room)
{
    uint64_t nanoseconds;
    room->count = 0;
    if (names ? !push_names(profile, words, record, names, room)
              : !push_addresses(profile, words, record, room))
        return false;
    size_t row = profile_sample(profile, profile_stack(profile, room->locations, room->count), 0);
    if (profile->failed)
        return false;
    uint64_t times = record->times > INT64_MAX ? INT64_MAX : record->times;
    if (__builtin_mul_overflow(times, (uint64_t)profile->period, &nanoseconds) ||
        nanoseconds > INT64_MAX)
        nanoseconds = INT64_MAX;
    profile->samples.values[0][row] = (int64_t)times;
    profile->samples.values[1][row] = (int64_t)nanoseconds;
    return true;
}

static bool is(const struct read_input *input)
{
    struct words words;
    return find_words(input, &words);
}

static bool read(const struct read_input *input, struct profile *profile, struct read_error *error)
{
    struct words words;
    struct record record;
    struct text_stack room = {0};
    struct ids names = {0};
    find_words(input, &words);
    bool java = word(&words, 2) == 1, ok = true;
    profile->kind = PROFILE_CPU;
    profile_type(profile, TYPE_SAMPLES, UNIT_COUNT);
    profile->default_type = profile_type(profile, TYPE_CPU, UNIT_NANOSECONDS);
    profile->period = (int64_t)word(&words, 3) * 1000;
    profile->period_type = profile->type[1];
    size_t start = HEAD + (size_t)word(&words, 1), at = start;
    enum next next = words.count < start ? CUT : RECORD;
    while (next == RECORD)
        next = next_record(&words, &at, &record);
    if (next == CUT && at * words.width + words.width <= input->size - skip_line(input)) {
        profile->torn = true;
        profile_warn(profile,
                     java ? "the file ends early: stacks and their names are missing"
                          : "the file ends early: stacks and the list of mappings are missing");
    }
    struct text behind = {words.bytes + at * words.width, input->bytes + input->size}, line;
    if (java && next == END)
        ok = java_names(profile, behind, &names, error);
    while (!java && next == END && text_line(&behind, &line))
        text_mapping(profile, line);
    for (at = start; ok && words.count >= start && next_record(&words, &at, &record) == RECORD;)
        ok = add_record(profile, &words, &record, java ? &names : NULL, &room);
    free(names.pairs);
    free(room.locations);
    return ok && !profile->failed;
}

const struct reader reader_cpu = {.name = "gperftools CPU", .is = is, .read = read};

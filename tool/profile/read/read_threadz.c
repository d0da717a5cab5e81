/* SPDX-License-Identifier: MIT */
/*
 * The stacks of all threads of a server at one moment, one below the other:
 *
 *      --- threadz 1 ---
 *      --- Thread 7f794ab90940 (name: main/14748) stack: ---
 *        PC: 0x00bc8f1c: helper(arena *)
 *          0x0040be31 0x0040b58b
 *      --- Thread 7f794a32e940 (name: thread1/14751) stack: ---
 *        [same as previous thread]
 *      --- Memory map: ---
 *
 * The first address is of an instruction, the others are behind calls.
 */
#include <stdlib.h>
#include <string.h>

#include "tool/profile/parse/parse.h"
#include "tool/profile/read/read.h"

struct reading {
    struct profile *profile;
    struct text text;
    struct text_stack stack;
    uint32_t last; /* the stack of the thread before */
};

/* "--- Thread ID (name: NAME/TID) stack: ---" */
static bool take_thread(struct profile *profile, struct text line, uint32_t *set)
{
    uint64_t id;
    if (!text_word(&line, "--- Thread ") || !text_hex(&line, &id) || !text_word(&line, " (name: "))
        return false;
    const char *slash = memrchr(line.at, '/', (size_t)(line.end - line.at));
    struct text number = {slash ? slash + 1 : line.end, line.end};
    if (!slash || !text_number(&number, &id) || id > INT64_MAX ||
        !text_word(&number, ") stack: ---"))
        return false;
    struct profile_label labels[] = {
        {.key = profile_string_of(profile, "thread"),
         .text = profile_string(profile, line.at, (size_t)(slash - line.at))},
        {.key = profile_string_of(profile, "thread_id"), .number = (int64_t)id},
    };
    unsigned first = labels[0].text == 0;
    *set = profile_label_set(profile, labels + first, 2 - first);
    return true;
}

/* The addresses in a line, whatever is between them. */
static void take_addresses(struct reading *it, struct text line)
{
    for (; line.end - line.at > 2; line.at++) {
        uint64_t address;
        if (line.at[0] != '0' || line.at[1] != 'x' || !text_hex(&line, &address))
            continue;
        text_push(it->profile, &it->stack,
                  profile_address(it->profile, address, it->stack.count == 0 ? LOCATION_EXACT : 0));
        line.at--;
    }
}

/* The stack up to the next line that begins with "---". */
static void read_thread(struct reading *it, uint32_t set)
{
    struct text rest = it->text, line;
    bool same = false;
    it->stack.count = 0;
    while (text_line(&rest, &line) && !it->profile->failed) {
        text_trim(&line);
        if (text_starts(&line, "---"))
            break;
        it->text = rest;
        same = same ||
               memmem(line.at, (size_t)(line.end - line.at), "same as previous thread", 23) != NULL;
        take_addresses(it, line);
    }
    if (!same)
        it->last = profile_stack(it->profile, it->stack.locations, it->stack.count);
    size_t row = profile_sample(it->profile, it->last, set);
    if (!it->profile->failed)
        it->profile->samples.values[0][row] = 1;
}

static bool is(const struct read_input *input)
{
    struct text text = text_of(input);
    return text_starts(&text, "--- threadz ") || text_starts(&text, "--- Thread ");
}

static bool read(const struct read_input *input, struct profile *profile, struct read_error *error)
{
    struct reading it = {.profile = profile, .text = text_of(input)};
    struct text line;
    profile->default_type = profile_type(profile, "thread", UNIT_COUNT);
    profile->period_type = profile->type[0];
    profile->period = 1;
    text_mappings(profile, &it.text);
    while (text_line(&it.text, &line) && !profile->failed) {
        uint32_t set;
        if (take_thread(profile, line, &set))
            read_thread(&it, set);
        else if (text_starts(&line, "---- no stack trace for"))
            break;
    }
    free(it.stack.locations);
    return profile->samples.count > 0 || read_refuse(error, 0, "it contains no stack of a thread");
}

const struct reader reader_threadz = {.name = "threads of a server", .is = is, .read = read};

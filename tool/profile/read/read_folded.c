/* SPDX-License-Identifier: MIT */
/*
 * Folded stacks, one a line, the outermost frame first, and how often:
 *
 *      main;work;read_[k] 123
 *
 * With two numbers it is a difference: before and after. What is marked [k] or [j] is of the
 * kernel or made at run time and gets a mapping of that name; [i] (inlined) and [w] (woke up) are
 * frames like others. There is no head: text of which the first lines look like this is it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tool/memory/memory.h"
#include "tool/profile/parse/parse.h"
#include "tool/profile/profile.h"
#include "tool/profile/read/read.h"

/* Lines, and bytes, that must look right: any text with a number at its end could be this
 * format. */
enum { LOOKED_AT = 8, TEXT_LOOKED_AT = 4096 };

struct line {
    struct text stack;
    double numbers[2]; /* the last, and the one before it */
    unsigned count;
};

/* A number at the end of the text, a space before it. */
static bool take_last(struct text *text, double *number)
{
    const char *at = text->end, *dot = NULL;
    while (at > text->at && ((at[-1] >= '0' && at[-1] <= '9') || (at[-1] == '.' && !dot)))
        if (*--at == '.')
            dot = at;
    if (at == text->end || at == text->at || *at == '.' || (at[-1] != ' ' && at[-1] != '\t'))
        return false;
    double whole = 0, part = 0, scale = 1;
    for (const char *digit = at; digit < text->end; digit++) {
        if (digit == dot)
            continue;
        if (dot && digit > dot)
            part += (scale /= 10) * (*digit - '0');
        else
            whole = whole * 10 + (*digit - '0');
    }
    *number = whole + part;
    text->end = at;
    text_trim(text);
    return true;
}

static bool take_line(struct text text, struct line *line)
{
    text_trim(&text);
    *line = (struct line){.stack = text};
    while (line->count < 2 && take_last(&line->stack, &line->numbers[line->count]))
        line->count++;
    if (line->count == 2 && line->stack.at == line->stack.end) {
        line->stack = text; /* a frame may be a number */
        line->count = (unsigned)take_last(&line->stack, &line->numbers[0]);
    }
    return line->count > 0 && line->stack.at < line->stack.end;
}

static bool is_comment(struct text line)
{
    text_trim(&line);
    return line.at == line.end || *line.at == '#';
}

static bool is(const struct read_input *input)
{
    struct text text = text_of(input), row;
    size_t head = input->size < TEXT_LOOKED_AT ? input->size : TEXT_LOOKED_AT;
    struct line line;
    unsigned good = 0;
    if (memchr(input->bytes, 0, head))
        return false;
    while (good < LOOKED_AT && text_line(&text, &row)) {
        if (is_comment(row))
            continue;
        if (!take_line(row, &line))
            return good > 0 && row.end == input->bytes + input->size;
        good++;
    }
    return good > 0;
}

struct reading {
    struct profile *profile;
    uint32_t kernel, jit; /* mappings */
    uint32_t *known;      /* by the string of a frame: its location + 1; 0: not seen yet */
    size_t known_room;
    struct text_stack stack;
};

/* The frame's name, without its mark. */
static uint32_t make_frame(struct reading *it, struct text name, uint32_t whole)
{
    struct profile_function function = {.system_name = whole};
    uint32_t mapping = 0;
    size_t length = (size_t)(name.end - name.at);
    if (length > 4 && memcmp(name.end - 4, "_[", 2) == 0 && name.end[-1] == ']' &&
        strchr("kijw", name.end[-2])) {
        mapping = name.end[-2] == 'k' ? it->kernel : name.end[-2] == 'j' ? it->jit : 0;
        length -= 4;
    }
    function.name = profile_string(it->profile, name.at, length);
    return profile_named(it->profile, profile_function(it->profile, &function), 0, mapping);
}

static uint32_t frame_of(struct reading *it, struct text name)
{
    uint32_t whole = profile_string(it->profile, name.at, (size_t)(name.end - name.at));
    if (whole >= it->known_room) {
        size_t before = it->known_room;
        if (!list_reserve(&it->known, &it->known_room, (size_t)whole + 1, sizeof *it->known)) {
            it->profile->failed = true;
            return 0;
        }
        memset(it->known + before, 0, (it->known_room - before) * sizeof *it->known);
    }
    if (it->known[whole] == 0)
        it->known[whole] = make_frame(it, name, whole) + 1;
    return it->known[whole] - 1;
}

static uint32_t special(struct profile *profile, const char *name)
{
    struct profile_mapping mapping = {.path = profile_string_of(profile, name)};
    mapping.has_functions = true;
    return profile_mapping(profile, &mapping);
}

static bool push_frames(struct reading *it, struct text stack)
{
    it->stack.count = 0;
    while (stack.end > stack.at) { /* from the leaf */
        const char *start = memrchr(stack.at, ';', (size_t)(stack.end - stack.at));
        struct text name = {start ? start + 1 : stack.at, stack.end};
        stack.end = start ? start : stack.at;
        if (name.at < name.end && !text_push(it->profile, &it->stack, frame_of(it, name)))
            return false;
    }
    return !it->profile->failed;
}

/* How many lines have two numbers, and how many are no stacks. */
static size_t count_lines(const struct read_input *input, size_t *pairs)
{
    struct text text = text_of(input), row;
    struct line line;
    size_t good = 0;
    for (*pairs = 0; text_line(&text, &row);)
        if (!is_comment(row) && take_line(row, &line)) {
            good++;
            *pairs += line.count == 2;
        }
    return good;
}

static void add_line(struct profile *profile, const struct line *line, uint32_t stack, bool pairs)
{
    size_t row = profile_sample(profile, stack, 0);
    if (profile->failed)
        return;
    if (pairs)
        profile->samples.values[0][row] = unsample_round(line->numbers[1]);
    profile->samples.values[pairs][row] = unsample_round(line->numbers[0]);
}

static bool read(const struct read_input *input, struct profile *profile, struct read_error *error)
{
    struct text text = text_of(input), row;
    struct reading it = {.profile = profile};
    struct line line;
    size_t paired, bad = 0, first_bad = 0, broken = 0;
    place_part(0, 30);
    size_t good = count_lines(input, &paired);
    place_part(30, 100);
    bool pairs = paired == good;
    if (good == 0)
        return read_refuse(error, 0, "no line consists of a stack and a number");
    if (pairs)
        profile_type(profile, "before", UNIT_COUNT);
    profile->default_type = profile_type(profile, TYPE_SAMPLES, UNIT_COUNT);
    it.kernel = special(profile, "[kernel]");
    it.jit = special(profile, "[jit]");
    while (!profile->failed && text_line(&text, &row)) {
        if (is_comment(row))
            continue;
        if (!take_line(row, &line)) {
            first_bad = bad++ == 0 ? (size_t)(row.at - input->bytes) : first_bad;
            continue;
        }
        if (!pairs && line.count == 2) { /* the number before is of the last frame's name */
            line.stack = row;
            text_trim(&line.stack);
            take_last(&line.stack, &line.numbers[0]);
        }
        broken += line.numbers[0] != floor(line.numbers[0]);
        if (push_frames(&it, line.stack))
            add_line(profile, &line, profile_stack(profile, it.stack.locations, it.stack.count),
                     pairs);
    }
    if (pairs)
        profile_warn(profile, "two numbers per line: the first is \"before\", the second is shown");
    if (bad > 0)
        profile_warn(profile, "%zu lines are not stacks, the first at byte %zu", bad, first_bad);
    if (broken > 0)
        profile_warn(profile, "%zu numbers are not integers and were rounded", broken);
    free(it.known);
    free(it.stack.locations);
    return true;
}

const struct reader reader_folded = {.name = "folded stacks", .is = is, .read = read};

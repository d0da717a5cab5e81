/* SPDX-License-Identifier: MIT */
/*
 * Counted stacks as Go writes them (debug=1): goroutines, threads that were created, and profiles
 * of a program's own:
 *
 *      goroutine profile: total 4
 *      3 @ 0x4378b6 0x4b40f7
 *      # labels: {"worker":"7"}
 *      #  0x4b40f6  main.work+0x16  /src/work.go:39
 */
#include <stdlib.h>
#include <string.h>

#include "tool/profile/parse/parse.h"
#include "tool/profile/read/read.h"

enum { LABEL_BYTES = 1024, TYPE_NAME_MAX = 100 };

struct reading {
    const struct read_input *input;
    struct profile *profile;
    struct read_error *error;
    struct text text;
    struct text_stack stack;
    struct text_names names;
};

/* "NAME profile: total N"; the name. */
static bool take_head(struct text line, struct text *name)
{
    uint64_t total;
    *name = line;
    while (line.at<line.end && * line.at> ' ')
        line.at++;
    name->end = line.at;
    if (name->at == name->end || name->end - name->at > TYPE_NAME_MAX ||
        !text_word(&line, " profile: total ") || !text_number(&line, &total))
        return false;
    text_blank(&line);
    return line.at == line.end || *line.at == '\r';
}

/* A text in quotes, of which what stands behind a \ is taken as it is. */
static bool take_quoted(struct profile *profile, struct text *line, uint32_t *string)
{
    char bytes[LABEL_BYTES];
    size_t length = 0;
    text_blank(line);
    if (!text_word(line, "\""))
        return false;
    while (line->at < line->end && *line->at != '"' && length < sizeof bytes) {
        if (*line->at == '\\' && line->at + 1 < line->end)
            line->at++;
        bytes[length++] = *line->at++;
    }
    if (!text_word(line, "\""))
        return false;
    *string = profile_string(profile, bytes, length);
    return true;
}

/* {"key":"value", "key":"value"}, if the next line has it: the set of labels. */
static uint32_t take_labels(struct reading *it)
{
    struct profile_label labels[PROFILE_LABELS_MAX];
    struct text rest = it->text, line;
    uint32_t count = 0;
    if (!text_line(&rest, &line) || !text_word(&line, "# labels: {"))
        return 0;
    it->text = rest;
    do {
        struct profile_label label = {0};
        if (!take_quoted(it->profile, &line, &label.key) || !text_word(&line, ":") ||
            !take_quoted(it->profile, &line, &label.text) || label.key == 0 || label.text == 0)
            break;
        labels[count++] = label;
        text_blank(&line);
    } while (count < PROFILE_LABELS_MAX && text_word(&line, ","));
    return profile_label_set(it->profile, labels, count);
}

static bool read_stacks(struct reading *it)
{
    struct text line;
    while (text_line(&it->text, &line) && !it->profile->failed) {
        uint64_t count;
        uint32_t stack = 0;
        bool last = line.end == it->input->bytes + it->input->size;
        if (text_names(it->profile, line, &it->names))
            continue;
        text_trim(&line);
        if (line.at == line.end || *line.at == '#')
            continue;
        if (last) {
            it->profile->torn = true; /* cut inside of a line */
            break;
        }
        if (!text_number(&line, &count) || count > INT64_MAX)
            return read_refuse_at(it->error, it->input, line.at, "the number of stacks is missing");
        text_blank(&line);
        if (!text_word(&line, "@") || !text_stack(it->profile, &line, &it->stack, &stack))
            return read_refuse_at(it->error, it->input, line.at, "a stack without an address");
        size_t row = profile_sample(it->profile, stack, take_labels(it));
        if (!it->profile->failed)
            it->profile->samples.values[0][row] = (int64_t)count;
    }
    return true;
}

static bool is(const struct read_input *input)
{
    struct text text = text_of(input), line, name;
    return text_line(&text, &line) && take_head(line, &name);
}

static bool read(const struct read_input *input, struct profile *profile, struct read_error *error)
{
    struct reading it = {.input = input, .profile = profile, .error = error};
    struct text line, name;
    char type[TYPE_NAME_MAX + 1];
    it.text = text_of(input);
    text_line(&it.text, &line);
    take_head(line, &name);
    memcpy(type, name.at, (size_t)(name.end - name.at));
    type[name.end - name.at] = '\0';
    profile->default_type = profile_type(profile, type, UNIT_COUNT);
    profile->period_type = profile->type[0];
    profile->period = 1;
    text_mappings(profile, &it.text);
    bool done = read_stacks(&it);
    free(it.stack.locations);
    return done;
}

const struct reader reader_count = {.name = "Go's counted stacks", .is = is, .read = read};

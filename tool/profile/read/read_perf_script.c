/* SPDX-License-Identifier: MIT */
/*
 * The text of `perf script`: for each sample a line
 *
 *      COMMAND PID[/TID] [CPU] TIME: [PERIOD] EVENT: ...
 *
 * and, with -g, a line for each frame of its stack, the innermost first, up to an empty one.
 * The name of a command may have blanks, and each part in brackets may be absent, so the time, a
 * decimal fraction with a colon, is what a line is known by.
 *
 * Each kind of event has a column of its own with the sum of its periods, beside `samples`.
 */
#include "tool/profile/read/read.h"

#include <stdlib.h>
#include <string.h>

#include "tool/profile/parse/parse.h"

/* Perf walks 127 frames unless told otherwise; the head of its text has some dozens of lines. */
enum { FRAMES_MAX = 4096, LINES_LOOKED_AT = 200 };

struct head {
    struct cursor command, event, rest;
    uint64_t pid, tid;
    int64_t time_ns, period; /* period 0: not told */
};

struct script {
    struct profile *profile;
    struct frames known;
    struct keys samples; /* stack and labels; numbers are those of samples */
    struct keys tids;
    struct head head;
    bool inside; /* a sample waits for its frames */
    struct frame *frames;
    size_t depth;
    int64_t first_ns, last_ns;
    uint64_t lost; /* lines that are nothing */
};

/* ---- the head of a sample ---- */

static bool digits_only(struct cursor text)
{
    struct cursor place = text;
    uint64_t number;
    return place.at < place.end && *place.at >= '0' && *place.at <= '9' &&
           cursor_number(&place, 10, &number) && place.at == place.end;
}

/* "35089.022721:" */
static bool parse_time(struct cursor word, int64_t *time_ns)
{
    uint64_t seconds, fraction;
    if (!cursor_number(&word, 10, &seconds) || !cursor_take(&word, ".") || word.at == word.end)
        return false;
    size_t digits = cursor_left(&word);
    if (!cursor_number(&word, 10, &fraction) || !cursor_is(&word, ":") || digits > 10 ||
        seconds > INT64_MAX / 2000000000)
        return false;
    for (size_t i = digits - 1; i < 9; i++)
        fraction *= 10;
    *time_ns = (int64_t)(seconds * 1000000000 + fraction);
    return true;
}

static bool parse_process(struct cursor word, struct head *head)
{
    struct cursor pid = cursor_until(&word, '/');
    if (!digits_only(pid) || (word.at < word.end && !digits_only(word)))
        return false;
    cursor_number(&pid, 10, &head->pid);
    head->tid = head->pid;
    cursor_number(&word, 10, &head->tid);
    return head->pid <= INT32_MAX && head->tid <= INT32_MAX;
}

static struct cursor next_word(struct cursor *line)
{
    cursor_spaces(line);
    return cursor_until(line, ' ');
}

/* What is behind the time: "[PERIOD] EVENT: ...". */
static bool parse_event(struct cursor line, struct head *head)
{
    struct cursor word = next_word(&line);
    uint64_t period = 0;
    if (digits_only(word)) {
        cursor_number(&word, 10, &period);
        word = next_word(&line);
    }
    if (word.at == word.end || word.end[-1] != ':' || period > INT64_MAX / 2)
        return false;
    word.end--;
    head->event = word;
    head->period = (int64_t)period;
    head->rest = line;
    return word.at < word.end;
}

static bool parse_head(struct cursor line, struct head *head)
{
    struct cursor place = line;
    const char *first = line.at, *command_end = NULL;
    bool process = false;
    if (line.at == line.end || *line.at == '#')
        return false;
    while (place.at < place.end) {
        struct cursor word = next_word(&place);
        if (word.at == word.end)
            continue;
        if (process && parse_time(word, &head->time_ns)) {
            head->command = (struct cursor){first, command_end};
            cursor_trim(&head->command);
            return parse_event(place, head);
        }
        if (process && *word.at == '[')
            continue;
        /* The last number in front of the time: a command may end in one. */
        if (word.at > first && parse_process(word, head)) {
            process = true;
            command_end = word.at;
        }
    }
    return false;
}

/* ---- frames ---- */

/* "14f38 name+0x158 (/usr/lib/x.so)" */
static bool parse_frame(struct script *script, struct cursor line, struct frame *frame)
{
    struct profile *profile = script->profile;
    memset(frame, 0, sizeof *frame);
    frame->flags = LOCATION_LOOKED;
    cursor_trim(&line);
    if (!cursor_number(&line, 16, &frame->address) || line.at == line.end || *line.at != ' ')
        return false;
    /* Names have brackets, and so has a path whose file is deleted. */
    const char *open = line.end > line.at && line.end[-1] == ')' ? cursor_last(&line, " (/") : NULL;
    if (!open && line.end > line.at && line.end[-1] == ')')
        open = cursor_last(&line, " (");
    if (open) {
        struct cursor path = {open + 2, line.end - 1};
        if (!cursor_is(&path, "inlined") && !cursor_is(&path, "[unknown]"))
            frame->mapping = frames_mapping(&script->known, profile, path);
        line.end = open;
        cursor_trim(&line);
    }
    const char *plus = cursor_last(&line, "+0x");
    if (plus)
        line.end = plus;
    if (line.at == line.end || cursor_is(&line, "[unknown]"))
        return true;
    struct profile_function function = {.name =
                                            profile_string(profile, line.at, cursor_left(&line))};
    function.system_name = function.name;
    frame->function = profile_function(profile, &function);
    return true;
}

/* "a.c:12", the place of the frame before, if perf was asked for it. */
static void take_place(struct script *script, struct cursor line)
{
    struct profile *profile = script->profile;
    uint64_t number;
    cursor_trim(&line);
    const char *colon = cursor_last(&line, ":");
    struct cursor behind = {colon ? colon + 1 : line.end, line.end};
    if (script->depth == 0 || !colon || !cursor_number(&behind, 10, &number) ||
        behind.at != behind.end || number > INT32_MAX)
        return;
    struct frame *frame = &script->frames[script->depth - 1];
    if (frame->function == 0)
        return;
    struct profile_function function = *profile_function_at(profile, frame->function);
    function.file = profile_string(profile, line.at, (size_t)(colon - line.at));
    frame->function = profile_function(profile, &function);
    frame->line = (uint32_t)number;
}

static void take_frame(struct script *script, struct cursor line)
{
    struct frame frame;
    if (script->depth == FRAMES_MAX)
        return;
    if (!parse_frame(script, line, &frame)) {
        take_place(script, line);
        return;
    }
    if (script->depth == 0)
        frame.flags |= LOCATION_EXACT;
    script->frames[script->depth++] = frame;
}

/* ---- samples ---- */

/* Without the modifiers that perf shows behind a colon; a tracepoint has its name there. */
static unsigned type_of(struct profile *profile, struct cursor event)
{
    char name[128];
    const char *colon = cursor_last(&event, ":");
    struct cursor behind = {colon ? colon + 1 : event.end, event.end};
    bool modifiers = colon != NULL;
    for (; behind.at < behind.end; behind.at++)
        modifiers &= strchr("ukhHGpPSDIWe", *behind.at) != NULL && *behind.at != '\0';
    if (modifiers && colon > event.at)
        event.end = colon;
    size_t length = cursor_left(&event);
    length = length < sizeof name ? length : sizeof name - 1;
    memcpy(name, event.at, length);
    name[length] = '\0';
    bool clock = strcmp(name, "cpu-clock") == 0 || strcmp(name, "task-clock") == 0;
    return clock ? profile_type(profile, TYPE_CPU, UNIT_NANOSECONDS)
                 : profile_type(profile, name, UNIT_COUNT);
}

static uint32_t labels_of(struct script *script, const struct head *head)
{
    struct profile *profile = script->profile;
    struct profile_label labels[2] = {
        {.key = profile_string_of(profile, "thread"),
         .text = profile_string(profile, head->command.at, cursor_left(&head->command))},
        {.key = profile_string_of(profile, "tid"), .number = (int64_t)head->tid},
    };
    bool fresh;
    keys_add(&script->tids, (struct key){{head->tid, 0, 0}}, &fresh);
    struct profile_thread *thread =
        fresh ? profile_list_add(profile, &profile->threads, sizeof *thread) : NULL;
    if (thread)
        *thread = (struct profile_thread){.id = head->tid, .name = labels[0].text};
    return profile_label_set(profile, labels, 2);
}

static void add(int64_t *value, int64_t more)
{
    const int64_t max = INT64_C(1) << 59;
    *value = more < max - *value ? *value + more : max;
}

static void finish_sample(struct script *script)
{
    struct profile *profile = script->profile;
    struct head *head = &script->head;
    bool fresh;
    if (!script->inside)
        return;
    script->inside = false;
    if (script->depth == 0) /* without -g the only frame stands in the same line */
        take_frame(script, head->rest);
    uint32_t stack = frames_stack(&script->known, profile, script->frames, script->depth);
    uint32_t labels = labels_of(script, head);
    unsigned type = head->period > 0 ? type_of(profile, head->event) : 0;
    size_t sample = keys_add(&script->samples, (struct key){{stack, labels, 0}}, &fresh);
    if (fresh)
        sample = profile_sample(profile, stack, labels);
    if (profile->failed || sample >= profile->samples.count)
        return;
    add(&profile->samples.values[0][sample], 1);
    if (type > 0)
        add(&profile->samples.values[type][sample], head->period);
    if (profile->pid == 0)
        profile->pid = (int64_t)head->pid;
    if (script->first_ns == 0 || head->time_ns < script->first_ns)
        script->first_ns = head->time_ns;
    script->last_ns = head->time_ns > script->last_ns ? head->time_ns : script->last_ns;
}

static void take_line(struct script *script, struct cursor line)
{
    struct cursor trimmed = line;
    cursor_trim(&trimmed);
    if (trimmed.at == trimmed.end) {
        finish_sample(script);
        return;
    }
    struct head head = {0};
    bool frame = *line.at == '\t' && script->inside;
    if (!frame && parse_head(trimmed, &head)) {
        finish_sample(script);
        script->head = head;
        script->inside = true;
        script->depth = 0;
    } else if (frame || (*line.at == ' ' && script->inside)) {
        take_frame(script, line);
    } else if (*line.at != '#') {
        script->lost++;
    }
}

static bool is(const struct read_input *input)
{
    struct cursor file = {input->bytes, input->bytes + input->size}, line;
    struct head head;
    for (unsigned i = 0; i < LINES_LOOKED_AT && cursor_line(&file, &line); i++) {
        cursor_trim(&line);
        if (line.at < line.end && *line.at != '#')
            return parse_head(line, &head);
    }
    return false;
}

static bool read(const struct read_input *input, struct profile *profile, struct read_error *error)
{
    struct script script = {.profile = profile};
    struct cursor file = {input->bytes, input->bytes + input->size}, line;
    script.frames = calloc(FRAMES_MAX, sizeof *script.frames);
    if (!script.frames) {
        profile->failed = true;
        return true;
    }
    profile_type(profile, TYPE_SAMPLES, UNIT_COUNT);
    while (!profile->failed && cursor_line(&file, &line))
        take_line(&script, line);
    finish_sample(&script);
    profile->kind = PROFILE_CPU;
    profile->default_type = profile->types > 1 ? 1 : 0;
    profile->duration_ns = script.last_ns - script.first_ns;
    if (script.lost > 0)
        profile_warn(profile, "%llu lines are neither a sample nor a frame of perf script",
                     (unsigned long long)script.lost);
    frames_free(&script.known);
    keys_free(&script.samples);
    keys_free(&script.tids);
    free(script.frames);
    return profile->samples.count > 0 || read_refuse(error, 0, "it contains no sample");
}

const struct reader reader_perf_script = {.name = "perf script", .is = is, .read = read};

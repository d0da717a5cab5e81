/* SPDX-License-Identifier: MIT */
/*
 * A profile as Go's pprof holds it, after its filters: -focus, -ignore, -hide, -show, -show_from,
 * -prune_from and those of tags, and in the granularity that is asked for.
 */
#include "tool/compat_go.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "tool/terminal.h"

const char *go_keep(struct go_profile *go, char *text)
{
    if (!text)
        compat_fail("out of memory");
    if ((go->kept_count & (go->kept_count - 1)) == 0)
        go->kept =
            compat_room(go->kept, go->kept_count > 0 ? go->kept_count * 2 : 1, sizeof *go->kept);
    terminal_clean(text, strlen(text));
    return go->kept[go->kept_count++] = text;
}

size_t go_labels(const struct go_profile *go, const struct go_sample *sample,
                 struct profile_label *labels, size_t most)
{
    const struct profile *from = go->from;
    uint32_t set = from->samples.label_sets[sample->row];
    const struct profile_label_set *range =
        (const struct profile_label_set *)from->label_sets.items + set;
    const struct profile_label *all = from->labels.items;
    size_t count = 0;
    for (uint32_t i = 0; set > 0 && i < range->count && count < most; i++)
        labels[count++] = all[range->first + i];
    return count;
}

/* Fewer words for each line, by the granularity. */
static void aggregate(struct go_profile *go, enum compat_option report)
{
    const struct compat_value *value = go->words->value;
    bool source = report == COMPAT_LIST || report == COMPAT_WEBLIST;
    bool whole = report == COMPAT_RAW || report == COMPAT_PROTO || report == COMPAT_CALLGRIND;
    bool code = report == COMPAT_DISASM;
    bool addresses = value[COMPAT_ADDRESSES].on || whole || code;
    bool lines = value[COMPAT_LINES].on || source || addresses;
    bool files = value[COMPAT_FILES].on || value[COMPAT_FILEFUNCTIONS].on || lines;
    bool functions = !value[COMPAT_FILES].on || lines;
    for (size_t i = 0; i < go->from->locations.count; i++) {
        struct go_place *place = &go->places[i];
        if ((value[COMPAT_NOINLINES].on || code) && !whole && place->count > 1) {
            place->first += place->count - 1;
            place->count = 1;
        }
        if (!addresses)
            place->address = 0;
    }
    for (size_t i = 0; i < go->lines_count; i++) {
        struct go_line *line = &go->lines[i];
        if (!lines)
            line->line = 0;
        if (!files)
            line->file = "";
        if (!functions)
            line->name = line->system_name = "";
    }
}

static void compute_total(struct go_profile *go)
{
    int64_t total = 0, divisor = 0, base = 0, base_divisor = 0;
    for (size_t i = 0; i < go->count; i++) {
        int64_t value = llabs(go->samples[i].value);
        total += value;
        divisor += go->samples[i].divisor;
        if (go->samples[i].base) {
            base += value;
            base_divisor += go->samples[i].divisor;
        }
    }
    if (base > 0) {
        total = base;
        divisor = base_divisor;
    }
    go->total = divisor != 0 ? total / divisor : total;
}

/* Names as Go's pprof simplifies what it finds in the program. */
static const char *simple_name(struct go_profile *go, const char *name, bool own)
{
    const char *mode = compat_text(go->words, COMPAT_SYMBOLIZE);
    if (own || strstr(mode, "none") || strstr(mode, "demangle=full"))
        return go_keep(go, strdup(name));
    return go_keep(go, compat_short_name(name, strstr(mode, "demangle=templates") != NULL));
}

static void copy_lines(struct go_profile *go)
{
    const struct profile *from = go->from;
    const struct profile_line *lines = from->lines.items;
    bool own = strcmp(from->format, "pprof") == 0;
    go->lines_count = from->lines.count;
    go->lines = compat_room(NULL, go->lines_count, sizeof *go->lines);
    size_t functions = from->functions.count;
    const char **names = compat_room(NULL, functions, sizeof *names);
    memset(names, 0, functions * sizeof *names);
    for (size_t i = 0; i < go->lines_count; i++) {
        uint32_t number = lines[i].function;
        const struct profile_function *function = profile_function_at(from, number);
        if (!names[number])
            names[number] = simple_name(go, profile_text(from, function->name), own);
        go->lines[i] = (struct go_line){.name = names[number],
                                        .system_name = profile_text(from, function->system_name),
                                        .file = profile_text(from, function->file),
                                        .line = lines[i].line,
                                        .start_line = function->start_line,
                                        .none = number == 0};
    }
    free(names);
    go->places = compat_room(NULL, from->locations.count, sizeof *go->places);
    for (uint32_t i = 0; i < from->locations.count; i++) {
        const struct profile_location *place = profile_location_at(from, i);
        uint64_t back = !(place->flags & LOCATION_EXACT) && place->address > 0;
        go->places[i] = (struct go_place){place->address - back, place->mapping, place->first_line,
                                          place->lines};
    }
}

/* Samples of one stack and one set of labels are one, as after Go's merge; empty ones go. */
static void copy_samples(struct go_profile *go)
{
    const struct profile *from = go->from;
    const struct profile_samples *samples = &from->samples;
    int partner = from->types > 0 ? profile_type_partner(from, go->type) : -1;
    bool labelled = from->labels.count > 0 || from->kind != PROFILE_HEAP || partner < 0 ||
                    strcmp(from->format, "pprof") == 0;
    size_t length = 0;
    go->samples = compat_room(NULL, samples->count, sizeof *go->samples);
    for (size_t i = 0; i < samples->count; i++) {
        uint32_t frames;
        bool some = false;
        for (unsigned k = 0; k < from->types; k++)
            some |= samples->values[k][i] != 0;
        if (!some)
            continue;
        profile_frames_of(from, samples->stacks[i], &frames);
        struct go_sample *sample = &go->samples[go->count++];
        *sample =
            (struct go_sample){.first = (uint32_t)length, .count = frames, .row = (uint32_t)i};
        sample->value = samples->values[go->type][i];
        sample->divisor = go->mean ? samples->values[0][i] : 0;
        const struct profile_label *base =
            profile_label_of(from, samples->label_sets[i], "pprof::base");
        sample->base = base != NULL;
        for (unsigned k = 0; k + 1 < from->types && !labelled; k += 2)
            if (samples->values[k][i] != 0)
                sample->bytes = samples->values[k + 1][i] / samples->values[k][i];
        length += frames;
    }
    go->path = compat_room(NULL, length, sizeof *go->path);
    for (size_t i = 0; i < go->count; i++) {
        uint32_t frames;
        const uint32_t *path =
            profile_frames_of(from, samples->stacks[go->samples[i].row], &frames);
        if (frames > 0)
            memcpy(go->path + go->samples[i].first, path, frames * sizeof *path);
    }
}

/* The column by -sample_index or one of the old switches. */
static void choose_type(struct go_profile *go)
{
    static const struct {
        enum compat_option option;
        const char *name;
    } switches[] = {{COMPAT_INUSE_SPACE, "inuse_space"}, {COMPAT_INUSE_OBJECTS, "inuse_objects"},
                    {COMPAT_ALLOC_SPACE, "alloc_space"}, {COMPAT_ALLOC_OBJECTS, "alloc_objects"},
                    {COMPAT_TOTAL_DELAY, "delay"},       {COMPAT_MEAN_DELAY, "delay"},
                    {COMPAT_CONTENTIONS, "contentions"}};
    const struct compat_value *value = go->words->value;
    const struct profile *from = go->from;
    const char *wanted = compat_text(go->words, COMPAT_SAMPLE_INDEX);
    for (size_t i = 0; i < COUNT_OF(switches); i++)
        if (value[switches[i].option].on)
            wanted = switches[i].name;
    go->mean = value[COMPAT_MEAN].on || value[COMPAT_MEAN_DELAY].on;
    if (from->types == 0)
        compat_fail("profile has no samples");
    go->type = from->default_type;
    char *end;
    long index = strtol(wanted, &end, 10);
    if (wanted[0] && *end == '\0' && index >= 0 && index < (long)from->types) {
        go->type = (unsigned)index;
    } else if (wanted[0]) {
        const char *bare = strncmp(wanted, "inuse_", 6) == 0 ? wanted + 6 : wanted;
        int type = profile_type_named(from, wanted);
        if (type < 0)
            type = profile_type_named(from, bare);
        if (type < 0) {
            fprintf(stderr, "sample_index \"%s\" must be one of: [", wanted);
            for (unsigned i = 0; i < from->types; i++)
                fprintf(stderr, "%s%s", i > 0 ? " " : "", profile_text(from, from->type[i].name));
            compat_fail("]");
        }
        go->type = (unsigned)type;
    }
    snprintf(go->sample_type, sizeof go->sample_type, "%s%s", go->mean ? "mean_" : "",
             profile_text(from, from->type[go->type].name));
    go->sample_unit = profile_text(from, from->type[go->type].unit);
}

void go_profile_make(struct go_profile *go, const struct compat_words *words,
                     const struct profile *from, const char *program,
                     const struct go_settings *settings)
{
    const char *unit = compat_text(words, COMPAT_UNIT);
    memset(go, 0, sizeof *go);
    go->words = words;
    go->from = from;
    go->program = program;
    snprintf(go->unit, sizeof go->unit, "%s", unit[0] ? unit : "minimum");
    choose_type(go);
    copy_lines(go);
    copy_samples(go);
    go_drop_frames(go);
    if (words->value[COMPAT_RELATIVE_PERCENTAGES].on)
        go_focus(go);
    compute_total(go);
    if (!words->value[COMPAT_RELATIVE_PERCENTAGES].on)
        go_focus(go);
    aggregate(go, settings->report);
}

void go_profile_free(struct go_profile *go)
{
    for (size_t i = 0; i < go->kept_count; i++)
        free(go->kept[i]);
    free(go->kept);
    free(go->places);
    free(go->lines);
    free(go->path);
    free(go->samples);
}

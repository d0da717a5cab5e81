/* SPDX-License-Identifier: MIT */
/*
 * A profile as Go's pprof holds it, after its filters: -focus, -ignore, -hide, -show, -show_from,
 * -prune_from and those of tags, and in the granularity that is asked for.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "tool/compat/go/go.h"
#include "tool/symbol/symbol.h"
#include "tool/terminal/terminal.h"

const char *go_keep(struct go_profile *go, char *text)
{
    if (!text)
        compat_out_of_memory();
    compat_reserve(&go->kept, &go->kept_room, go->kept_count + 1, sizeof *go->kept);
    terminal_clean(text, strlen(text));
    return go->kept[go->kept_count++] = text;
}

/* Fewer words for each line, by the granularity. */
static void aggregate(struct go_profile *go, enum compat_option report)
{
    const struct compat_value *value = go->words->value;
    bool source = report == COMPAT_LIST || report == COMPAT_WEBLIST;
    bool whole = report == COMPAT_RAW || report == COMPAT_PROTO || report == COMPAT_CALLGRIND ||
                 report == COMPAT_KCACHEGRIND;
    bool code = report == COMPAT_DISASM;
    bool addresses = value[COMPAT_ADDRESSES].on || whole || code;
    bool lines = value[COMPAT_LINES].on || source || addresses;
    bool files = value[COMPAT_FILES].on || value[COMPAT_FILEFUNCTIONS].on || lines;
    bool functions = !value[COMPAT_FILES].on || lines;
    /* What is written keeps them; 0 in all that is printed is none. */
    bool columns = lines && (value[COMPAT_SHOWCOLUMNS].on ||
                             (report == COMPAT_PROTO && !value[COMPAT_NOINLINES].on));
    for (size_t i = 0; i < go->places_count; i++) {
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
        if (!columns)
            line->column = 0;
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

/* Takes out what stands between such signs, outermost pairs; nothing where they do not match. */
static void remove_pairs(char *name, char open, char close)
{
    int depth = 0;
    size_t kept = 0;
    for (const char *at = name; *at; at++) {
        depth += *at == open;
        depth -= *at == close;
        if (depth < 0)
            return;
    }
    if (depth != 0)
        return;
    for (const char *at = name; *at; at++) {
        depth += *at == open;
        if (depth == 0)
            name[kept++] = *at;
        depth -= *at == close;
    }
    name[kept] = '\0';
}

/* Whether a name is one of C++, written out; not Java's "A.<init>" nor Go's "(*A[...]).B". */
static bool looks_like_cxx(const char *name)
{
    return !strstr(name, ".<") && !strstr(name, "]).") &&
           (strpbrk(name, "<>[]") || strstr(name, "::"));
}

/* A name that the file itself has. One that differs from the symbol's was made readable before. */
static char *file_name(const char *name, const char *system, const char *mode)
{
    bool full = strcasestr(mode, "demangle=full"), bare = strcasestr(mode, "demangle=none");
    bool templates = strcasestr(mode, "demangle=templates");
    bool again = full || bare || templates || strcasestr(mode, "force");
    if (name[0] && strcmp(system, name) != 0 && !(again && system[0]))
        return strdup(name);
    char *text = bare ? NULL : symbol_demangle_whole(system);
    if (text && !full) {
        char *shorter = compat_short_name(text, templates);
        free(text);
        return shorter;
    }
    if (text)
        return text;
    text = strdup(system);
    if (text && !full && !bare && looks_like_cxx(text)) {
        remove_pairs(text, '(', ')');
        if (!templates)
            remove_pairs(text, '<', '>');
    }
    return text;
}

/* Names as Go's pprof simplifies what it finds in the file or in the program. */
static const char *simple_name(struct go_profile *go, const struct profile_function *function,
                               bool own)
{
    const char *mode = compat_text(go->words, COMPAT_SYMBOLIZE);
    const char *name = profile_text(go->from, function->name);
    const char *system = profile_text(go->from, function->system_name);
    if (go_symbolize_none(mode))
        return go_keep(go, strdup(name));
    if (own)
        return go_keep(go, file_name(name, system, mode));
    if (strcasestr(mode, "demangle=none"))
        return go_keep(go, strdup(system[0] ? system : name));
    /* What has no parameters to lose: Go's methods, which its text brings. */
    if (strcasestr(mode, "demangle=full") || strstr(name, ".(*"))
        return go_keep(go, strdup(name));
    return go_keep(go, compat_short_name(name, strcasestr(mode, "demangle=templates") != NULL));
}

/* Which functions are named by the file, not by what was found for it. */
static bool *own_functions(const struct profile *from)
{
    bool *own = compat_room(NULL, from->functions.count, sizeof *own);
    memset(own, 0, from->functions.count * sizeof *own);
    for (uint32_t i = 0; i < from->locations.count && (from->traits & TRAIT_PPROF); i++) {
        const struct profile_location *place = profile_location_at(from, i);
        const struct profile_line *lines = profile_lines_of(from, i);
        const struct profile_mapping *mapping = profile_mapping_at(from, place->mapping);
        bool named = place->mapping == 0 || mapping->has_functions || mapping->path == 0;
        for (uint32_t k = 0; k < place->lines && named; k++)
            own[lines[k].function] = true;
    }
    return own;
}

static void copy_lines(struct go_profile *go)
{
    const struct profile *from = go->from;
    const struct profile_line *lines = from->lines.items;
    bool *own = own_functions(from);
    go->lines_count = from->lines.count;
    go->lines = compat_room(NULL, go->lines_count, sizeof *go->lines);
    size_t functions = from->functions.count;
    const char **names = compat_room(NULL, functions, sizeof *names);
    memset(names, 0, functions * sizeof *names);
    for (size_t i = 0; i < go->lines_count; i++) {
        uint32_t number = lines[i].function;
        const struct profile_function *function = profile_function_at(from, number);
        if (!names[number])
            names[number] = simple_name(go, function, own[number]);
        go->lines[i] = (struct go_line){.name = names[number],
                                        .system_name = profile_text(from, function->system_name),
                                        .file = profile_text(from, function->file),
                                        .line = lines[i].line,
                                        .column = lines[i].column,
                                        .start_line = own[number] ? function->start_line : 0,
                                        .none = number == 0};
    }
    free(names);
    free(own);
    go->places_count = from->locations.count;
    go->places = compat_room(NULL, go->places_count, sizeof *go->places);
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
                    from->traits & TRAIT_PPROF;
    size_t length = 0;
    go->samples = compat_room(NULL, samples->count, sizeof *go->samples);
    for (size_t i = 0; i < samples->count; i++) {
        bool some = false;
        for (unsigned k = 0; k < from->types; k++)
            some |= samples->values[k][i] != 0;
        if (!some)
            continue;
        uint32_t frames = profile_depth_of(from, samples->stacks[i]);
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

bool go_type_find(const struct profile *from, const char *wanted, unsigned *found)
{
    char *end;
    long index = strtol(wanted, &end, 10);
    if (*end == '\0') {
        if (index < 0 || index >= (long)from->types) {
            fprintf(stderr, "sample_index %s is outside the range [0..%u]\n", wanted,
                    from->types - 1);
            return false;
        }
        *found = (unsigned)index;
        return true;
    }
    const char *bare = strncmp(wanted, "inuse_", 6) == 0 ? wanted + 6 : wanted;
    int type = profile_type_named(from, wanted);
    if (type < 0)
        type = profile_type_named(from, bare);
    if (type >= 0) {
        *found = (unsigned)type;
        return true;
    }
    fprintf(stderr, "sample_index \"%s\" must be one of: [", wanted);
    for (unsigned i = 0; i < from->types; i++)
        fprintf(stderr, "%s%s", i > 0 ? " " : "", profile_text(from, from->type[i].name));
    fputs("]\n", stderr);
    return false;
}

/* The column by -sample_index or one of the old switches. */
static void choose_type(struct go_profile *go)
{
    static const struct {
        enum compat_option option;
        const char *name;
        const char *flag;
    } switches[] = {{COMPAT_TOTAL_DELAY, TYPE_DELAY, "total_delay"},
                    {COMPAT_MEAN_DELAY, TYPE_DELAY, "mean_delay"},
                    {COMPAT_CONTENTIONS, TYPE_CONTENTIONS, "contentions"},
                    {COMPAT_INUSE_SPACE, TYPE_INUSE_SPACE, "inuse_space"},
                    {COMPAT_INUSE_OBJECTS, TYPE_INUSE_OBJECTS, "inuse_objects"},
                    {COMPAT_ALLOC_SPACE, TYPE_ALLOC_SPACE, "alloc_space"},
                    {COMPAT_ALLOC_OBJECTS, TYPE_ALLOC_OBJECTS, "alloc_objects"}};
    const struct compat_value *value = go->words->value;
    const struct profile *from = go->from;
    const char *wanted = compat_text(go->words, COMPAT_SAMPLE_INDEX);
    for (size_t i = 0; i < COUNT_OF(switches); i++) {
        if (!value[switches[i].option].on)
            continue;
        if (wanted[0])
            fprintf(stderr, "Multiple value selections, ignoring -%s\n", switches[i].flag);
        else
            wanted = switches[i].name;
    }
    go->mean = value[COMPAT_MEAN].on || value[COMPAT_MEAN_DELAY].on;
    if (from->types == 0)
        compat_fail("profile has no samples");
    go->type = from->default_type;
    if (wanted[0] && !go_type_find(from, wanted, &go->type))
        compat_stop();
    snprintf(go->sample_type, sizeof go->sample_type, "%s%s", go->mean ? "mean_" : "",
             profile_text(from, from->type[go->type].name));
    go->sample_unit = profile_text(from, from->type[go->type].unit);
}

void go_profile_make(struct go_profile *go, const struct compat_words *words,
                     const struct profile *from, const char *program,
                     const struct go_settings *settings)
{
    const char *unit = words->value[COMPAT_UNIT].text;
    memset(go, 0, sizeof *go);
    go->words = words;
    go->from = from;
    go->program = program;
    snprintf(go->unit, sizeof go->unit, "%s", unit ? unit : "minimum");
    choose_type(go);
    if (words->value[COMPAT_DIVIDE_BY].number == 0)
        compat_fail("zero divisor specified");
    copy_lines(go);
    copy_samples(go);
    go_drop_frames(go);
    go_tag_frames(go);
    if (words->value[COMPAT_RELATIVE_PERCENTAGES].on)
        go_focus(go);
    compute_total(go);
    if (!words->value[COMPAT_RELATIVE_PERCENTAGES].on)
        go_focus(go);
    aggregate(go, settings->report);
    go->objects = settings->report == COMPAT_RAW || settings->report == COMPAT_LIST ||
                  settings->report == COMPAT_WEBLIST || settings->report == COMPAT_DISASM ||
                  settings->report == COMPAT_CALLGRIND || settings->report == COMPAT_KCACHEGRIND;
}

void go_profile_free(struct go_profile *go)
{
    for (size_t i = 0; i < go->kept_count; i++)
        free(go->kept[i]);
    free(go->kept);
    compat_pattern_free(go->tag_show);
    compat_pattern_free(go->tag_hide);
    free(go->places);
    free(go->lines);
    free(go->path);
    free(go->samples);
}

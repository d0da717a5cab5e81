/* SPDX-License-Identifier: MIT */
/*
 * A profile as Go's pprof holds it, after its filters: -focus, -ignore, -hide, -show, -show_from,
 * -prune_from and those of tags, and in the granularity that is asked for.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "tool/compat_go.h"

#include <ctype.h>
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "tool/terminal.h"

struct go_pattern {
    pcre2_code *code;
    pcre2_match_data *match;
};

static bool pattern_start(struct go_pattern *pattern, const char *name, const char *text)
{
    int error;
    PCRE2_SIZE offset;
    *pattern = (struct go_pattern){0};
    if (text[0] == '\0')
        return false;
    pattern->code =
        pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED, PCRE2_UTF, &error, &offset, NULL);
    if (!pattern->code) {
        PCRE2_UCHAR reason[120];
        pcre2_get_error_message(error, reason, sizeof reason);
        compat_fail("parsing %s regexp: %s: `%s`", name, (const char *)reason, text);
    }
    pattern->match = pcre2_match_data_create_from_pattern(pattern->code, NULL);
    return true;
}

static void pattern_end(struct go_pattern *pattern)
{
    pcre2_match_data_free(pattern->match);
    pcre2_code_free(pattern->code);
}

static bool fits(const struct go_pattern *pattern, const char *text)
{
    return pcre2_match(pattern->code, (PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED, 0,
                       PCRE2_NO_UTF_CHECK, pattern->match, NULL) >= 0;
}

struct go_pattern *go_pattern(const char *text)
{
    struct go_pattern *pattern = compat_room(NULL, 1, sizeof *pattern);
    pattern_start(pattern, "argument", text);
    return pattern;
}

bool go_pattern_fits(const struct go_pattern *pattern, const char *text)
{
    return !pattern->code || fits(pattern, text);
}

void go_pattern_free(struct go_pattern *pattern)
{
    if (pattern)
        pattern_end(pattern);
    free(pattern);
}

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

static const char *mapping_file(const struct go_profile *go, const struct go_place *place)
{
    if (place->mapping == 0)
        return "";
    return profile_text(go->from, profile_mapping_at(go->from, place->mapping)->path);
}

static bool fits_line(const struct go_pattern *pattern, const struct go_line *line)
{
    return !line->none && (fits(pattern, line->name) || fits(pattern, line->file));
}

static bool fits_place(const struct go_profile *go, const struct go_pattern *pattern,
                       const struct go_place *place)
{
    for (uint32_t i = 0; i < place->count; i++)
        if (fits_line(pattern, &go->lines[place->first + i]))
            return true;
    const char *file = mapping_file(go, place);
    return place->mapping > 0 && fits(pattern, file);
}

/* -hide and -show: lines by name; of a hidden place nothing is left. */
static void cut_lines(struct go_profile *go, const struct go_pattern *pattern, bool keep,
                      bool *hidden)
{
    for (uint32_t i = 0; i < go->from->locations.count; i++) {
        struct go_place *place = &go->places[i];
        uint32_t left = 0;
        bool whole = place->mapping > 0 && fits(pattern, mapping_file(go, place));
        if (!keep && !fits_place(go, pattern, place))
            continue;
        for (uint32_t k = 0; k < place->count; k++) {
            const struct go_line *line = &go->lines[place->first + k];
            if (whole ? keep : line->none || fits_line(pattern, line) == keep)
                go->lines[place->first + left++] = *line;
        }
        place->count = left;
        hidden[i] |= left == 0;
    }
}

static void drop_hidden(struct go_profile *go, const bool *hidden)
{
    size_t kept = 0;
    for (size_t i = 0; i < go->count; i++) {
        struct go_sample *sample = &go->samples[i];
        uint32_t *path = go->path + sample->first, left = 0;
        for (uint32_t k = 0; k < sample->count; k++)
            if (!hidden[path[k]])
                path[left++] = path[k];
        if (left == 0)
            continue;
        sample->count = left;
        go->samples[kept++] = *sample;
    }
    go->count = kept;
}

static void warn(bool matched, const char *name)
{
    if (!matched)
        fprintf(stderr, "%s expression matched no samples\n", name);
}

/* -focus and -ignore. */
static void choose_samples(struct go_profile *go)
{
    struct go_pattern focus, ignore;
    bool focused = pattern_start(&focus, "focus", compat_text(go->words, COMPAT_FOCUS));
    bool ignored = pattern_start(&ignore, "ignore", compat_text(go->words, COMPAT_IGNORE));
    size_t places = go->from->locations.count, kept = 0;
    bool found_focus = false, found_ignore = false;
    char *state = compat_room(NULL, places, 1);
    memset(state, 0, places);
    for (size_t i = 0; i < places; i++) {
        if (ignored && fits_place(go, &ignore, &go->places[i])) {
            state[i] = 'i';
            found_ignore = true;
        } else if (!focused || fits_place(go, &focus, &go->places[i])) {
            state[i] = 'f';
            found_focus = true;
        }
    }
    for (size_t i = 0; i < go->count && (focused || ignored); i++) {
        const struct go_sample *sample = &go->samples[i];
        bool keep = false, drop = false;
        for (uint32_t k = 0; k < sample->count; k++) {
            keep |= state[go->path[sample->first + k]] == 'f';
            drop |= state[go->path[sample->first + k]] == 'i';
        }
        if (keep && !drop)
            go->samples[kept++] = *sample;
    }
    if (focused || ignored)
        go->count = kept;
    warn(!focused || found_focus, "Focus");
    warn(!ignored || found_ignore, "Ignore");
    free(state);
    pattern_end(&focus);
    pattern_end(&ignore);
}

static void choose_frames(struct go_profile *go)
{
    struct go_pattern pattern;
    bool *hidden = compat_room(NULL, go->from->locations.count, sizeof *hidden);
    memset(hidden, 0, go->from->locations.count * sizeof *hidden);
    if (pattern_start(&pattern, "hide", compat_text(go->words, COMPAT_HIDE)))
        cut_lines(go, &pattern, false, hidden);
    pattern_end(&pattern);
    if (pattern_start(&pattern, "show", compat_text(go->words, COMPAT_SHOW)))
        cut_lines(go, &pattern, true, hidden);
    pattern_end(&pattern);
    if (go->words->value[COMPAT_HIDE].on || go->words->value[COMPAT_SHOW].on)
        drop_hidden(go, hidden);
    free(hidden);
}

/* -show_from: what is above the outermost frame that fits goes. */
static void show_from(struct go_profile *go)
{
    struct go_pattern pattern;
    size_t places = go->from->locations.count, kept = 0;
    if (!pattern_start(&pattern, "show_from", compat_text(go->words, COMPAT_SHOW_FROM)))
        return;
    bool *from = compat_room(NULL, places, sizeof *from), any = false;
    for (size_t i = 0; i < places; i++) {
        struct go_place *place = &go->places[i];
        from[i] = place->mapping > 0 && fits(&pattern, mapping_file(go, place));
        for (uint32_t k = place->count; k > 0 && !from[i]; k--)
            if (fits_line(&pattern, &go->lines[place->first + k - 1])) {
                place->count = k;
                from[i] = true;
            }
        any |= from[i];
    }
    for (size_t i = 0; i < go->count; i++) {
        struct go_sample *sample = &go->samples[i];
        uint32_t left = sample->count;
        while (left > 0 && !from[go->path[sample->first + left - 1]])
            left--;
        sample->count = left;
        if (left > 0)
            go->samples[kept++] = *sample;
    }
    go->count = kept;
    warn(any, "ShowFrom");
    free(from);
    pattern_end(&pattern);
}

/* A name without its parameters, but for those that belong to it. */
static char *bare_name(const char *name)
{
    static const char *const own[] = {"(anonymous namespace)", "operator()"};
    const char *at = name + (name[0] == '.');
    char *text = strdup(at);
    if (!text)
        compat_fail("out of memory");
    for (char *open = strchr(text, '('); open; open = strchr(open + 1, '(')) {
        bool reserved = strncmp(open, own[0], strlen(own[0])) == 0 ||
                        (open - text >= 8 && strncmp(open - 8, own[1], strlen(own[1])) == 0);
        if (!reserved) {
            *open = '\0';
            break;
        }
    }
    return text;
}

static bool fits_bare(const struct go_pattern *pattern, const struct go_line *line)
{
    if (line->none || line->name[0] == '\0')
        return false;
    char *name = bare_name(line->name);
    bool fit = fits(pattern, name);
    free(name);
    return fit;
}

/* -prune_from: what is below the frame that fits goes. */
static void prune_from(struct go_profile *go)
{
    struct go_pattern pattern;
    size_t places = go->from->locations.count;
    if (!pattern_start(&pattern, "prune_from", compat_text(go->words, COMPAT_PRUNE_FROM)))
        return;
    bool *beneath = compat_room(NULL, places, sizeof *beneath);
    for (size_t i = 0; i < places; i++) {
        struct go_place *place = &go->places[i];
        beneath[i] = false;
        for (uint32_t k = 0; k < place->count && !beneath[i]; k++)
            if (fits_bare(&pattern, &go->lines[place->first + k])) {
                place->first += k;
                place->count -= k;
                beneath[i] = true;
            }
    }
    for (size_t i = 0; i < go->count; i++) {
        struct go_sample *sample = &go->samples[i];
        for (uint32_t k = 0; k < sample->count; k++)
            if (beneath[go->path[sample->first + k]]) {
                sample->first += k;
                sample->count -= k;
                break;
            }
    }
    free(beneath);
    pattern_end(&pattern);
}

/* The allocator's own frames, or what the profile says of them. */
static void drop_frames(struct go_profile *go)
{
    static const char usual[] =
        "calloc|cfree|malloc|free|memalign|do_memalign|(__)?posix_memalign|pvalloc|valloc|realloc|"
        "tcmalloc::.*|tc_calloc|tc_cfree|tc_malloc|tc_free|tc_memalign|tc_posix_memalign|"
        "tc_pvalloc|tc_valloc|tc_realloc|tc_new|tc_delete|tc_newarray|tc_deletearray|"
        "tc_new_nothrow|tc_newarray_nothrow|malloc_zone_(malloc|calloc|valloc|realloc|memalign|"
        "free)|runtime\\..*|(__|)libc_malloc|(__|)libc_calloc|(__|)libc_realloc|"
        "operator (new|delete)(\\[\\])?|DoSampledAllocation|allocate";
    const char *drop = profile_text(go->from, go->from->drop_frames);
    const char *keep = profile_text(go->from, go->from->keep_frames);
    bool own = strcmp(go->from->format, "pprof") == 0;
    struct go_pattern dropped, kept;
    char text[2048];
    if (drop[0] == '\0' && (own || go->from->kind != PROFILE_HEAP))
        return;
    snprintf(text, sizeof text, "^(%s)$", drop[0] ? drop : usual);
    pattern_start(&dropped, "drop_frames", text);
    snprintf(text, sizeof text, keep[0] ? "^(%s)$" : "%s", keep);
    bool keeping = pattern_start(&kept, "keep_frames", text);
    size_t places = go->from->locations.count;
    char *state = compat_room(NULL, places, 1);
    for (size_t i = 0; i < places; i++) {
        struct go_place *place = &go->places[i];
        uint32_t k = place->count;
        state[i] = 0;
        while (k > 0 && !(fits_bare(&dropped, &go->lines[place->first + k - 1]) &&
                          !(keeping && fits_bare(&kept, &go->lines[place->first + k - 1]))))
            k--;
        if (k == 0)
            continue;
        state[i] = k == place->count ? 'p' : 'b';
        if (k < place->count) {
            place->first += k;
            place->count -= k;
        }
    }
    for (size_t i = 0; i < go->count; i++) {
        struct go_sample *sample = &go->samples[i];
        bool user = false;
        for (uint32_t k = sample->count; k > 0; k--) {
            char here = state[go->path[sample->first + k - 1]];
            user |= here == 0;
            if (here == 0 || !user)
                continue;
            uint32_t cut = here == 'p' ? k : k - 1;
            sample->first += cut;
            sample->count -= cut;
            break;
        }
    }
    free(state);
    pattern_end(&dropped);
    pattern_end(&kept);
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

/* -tagfocus and -tagignore: a range of numbers, or expressions that "key:value" must fit. */
static bool tag_fits(const struct go_profile *go, const struct go_sample *sample,
                     const struct go_pattern *pattern, const char *key)
{
    struct profile_label labels[64];
    size_t count = go_labels(go, sample, labels, COUNT_OF(labels));
    char text[2048];
    for (size_t i = 0; i < count; i++) {
        const char *name = profile_text(go->from, labels[i].key);
        const char *value = profile_text(go->from, labels[i].text);
        if (labels[i].text == 0 || (key[0] && strcmp(name, key) != 0))
            continue;
        snprintf(text, sizeof text, "%s%s%s", key[0] ? "" : name, key[0] ? "" : ":", value);
        if (fits(pattern, text))
            return true;
    }
    return false;
}

/* "32kb", ":64kb", "4mb:", "12kb:64mb"; false: it is no range. */
static bool range_of(const char *text, double *least, double *most, const char **unit)
{
    const char *colon = strchr(text, ':'), *parts[2] = {text, colon ? colon + 1 : text};
    double *ends[2] = {least, most};
    *least = 0;
    *most = 1e300;
    for (unsigned i = 0; i < 2; i++) {
        char *end, word[16];
        size_t length = 0;
        if ((i == 0 && colon == text) || (i == 1 && colon && colon[1] == '\0'))
            continue;
        if (!isdigit((unsigned char)parts[i][0]))
            return false;
        long long number = strtoll(parts[i], &end, 10);
        while (isalpha((unsigned char)end[length]) && length + 1 < sizeof word) {
            word[length] = end[length];
            length++;
        }
        word[length] = '\0';
        if (end[length] != '\0' && !(i == 0 && end + length == colon))
            return false;
        *ends[i] = go_scale(number, word, length > 0 ? "b" : word, unit);
    }
    return true;
}

static void choose_by_tag(struct go_profile *go, enum compat_option option, const char *name,
                          bool keep)
{
    const char *text = compat_text(go->words, option), *equals = strchr(text, '=');
    char key[128] = "";
    struct go_pattern pattern = {0};
    double least, most;
    const char *unit = "";
    size_t kept = 0;
    if (text[0] == '\0')
        return;
    if (equals) {
        snprintf(key, sizeof key, "%.*s", (int)(equals - text), text);
        text = equals + 1;
    }
    bool range = range_of(text, &least, &most, &unit);
    if (range)
        fprintf(stderr, "%s:Interpreted '%s' as range, not regexp\n", name, text);
    else
        pattern_start(&pattern, name, text);
    for (size_t i = 0; i < go->count; i++) {
        const struct go_sample *sample = &go->samples[i];
        struct profile_label labels[64];
        size_t count = go_labels(go, sample, labels, COUNT_OF(labels));
        bool fit = range && sample->bytes > 0 && (double)sample->bytes >= least &&
                   (double)sample->bytes <= most;
        for (size_t k = 0; k < count && range && !fit; k++)
            fit = labels[k].text == 0 && (double)labels[k].number >= least &&
                  (double)labels[k].number <= most &&
                  (!key[0] || strcmp(profile_text(go->from, labels[k].key), key) == 0);
        if (!range)
            fit = tag_fits(go, sample, &pattern, key);
        if (fit == keep)
            go->samples[kept++] = *sample;
    }
    go->count = kept;
    pattern_end(&pattern);
}

/* Fewer words for each line, by the granularity. */
static void aggregate(struct go_profile *go, enum compat_option report)
{
    const struct compat_value *value = go->words->value;
    bool source = report == COMPAT_LIST || report == COMPAT_WEBLIST;
    bool whole = report == COMPAT_RAW || report == COMPAT_PROTO || report == COMPAT_CALLGRIND;
    bool addresses = value[COMPAT_ADDRESSES].on || whole;
    bool lines = value[COMPAT_LINES].on || source || addresses;
    bool files = value[COMPAT_FILES].on || value[COMPAT_FILEFUNCTIONS].on || lines;
    bool functions = !value[COMPAT_FILES].on || lines;
    for (size_t i = 0; i < go->from->locations.count; i++) {
        struct go_place *place = &go->places[i];
        if (value[COMPAT_NOINLINES].on && !whole && place->count > 1) {
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
    bool labelled = from->labels.count > 0 || from->kind != PROFILE_HEAP || partner < 0;
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

static void focus(struct go_profile *go)
{
    choose_samples(go);
    choose_frames(go);
    show_from(go);
    choose_by_tag(go, COMPAT_TAGFOCUS, "tagfocus", true);
    choose_by_tag(go, COMPAT_TAGIGNORE, "tagignore", false);
    prune_from(go);
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
    drop_frames(go);
    if (words->value[COMPAT_RELATIVE_PERCENTAGES].on)
        focus(go);
    compute_total(go);
    if (!words->value[COMPAT_RELATIVE_PERCENTAGES].on)
        focus(go);
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

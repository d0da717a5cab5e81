/* SPDX-License-Identifier: MIT */
/*
 * What Go's pprof does with labels, which it calls tags: -tagfocus and -tagignore choose samples by
 * them, -tagshow and -taghide choose which are shown, -tagroot and -tagleaf make frames of them.
 */
#include "tool/compat/go/go.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

enum { PATTERNS_MAX = 32 }; /* patterns in one flag, with commas between them */

/* "32kb", ":64kb", "4mb:", "12kb:64mb": numbers in one unit. */
struct range {
    bool from, to; /* has such an end */
    double min, max;
    char unit[24];
};

/* What -tagfocus or -tagignore says: a key, or "", and a range or expressions. */
struct filter {
    char key[256];
    bool is_range;
    struct range range;
    struct compat_pattern *patterns[PATTERNS_MAX];
    size_t count;
};

struct tag_keys {
    const char *items[PATTERNS_MAX];
    size_t count;
    bool any; /* some sample has one of them */
};

static bool is_shown(const struct go_profile *go, const char *key);
static void choose(struct go_profile *go, enum compat_option option, bool keep);
static void filter_start(struct filter *filter, const char *text, const char *name);
static bool range_of(struct range *range, const char *text);
static const char *take_number(const char *text, long long *number, char unit[24]);
static bool filter_fits(const struct go_profile *go, const struct go_sample *sample,
                        const struct filter *filter);
static bool range_fits(const struct go_profile *go, const struct go_sample *sample,
                       const struct filter *filter);
static bool in_range(const struct range *range, int64_t number, const char *unit);
static bool filter_pattern_fits(const struct go_profile *go, const struct go_sample *sample,
                                const struct filter *filter, const struct compat_pattern *pattern);
static void show(struct go_profile *go);
static void keys_split(struct tag_keys *keys, char *text);
static void put_frames(struct go_profile *go, const struct go_sample *sample, struct tag_keys *keys,
                       uint32_t *path, size_t first);
static bool values_of(const struct go_profile *go, const struct go_sample *sample, const char *key,
                      char *text, size_t size);
static uint32_t frame_of(struct go_profile *go, const char *key, const char *values, size_t first);

size_t go_labels(const struct go_profile *go, const struct go_sample *sample,
                 struct profile_label labels[PROFILE_LABELS_MAX])
{
    const struct profile *from = go->from;
    uint32_t set = from->samples.label_sets[sample->row];
    const struct profile_label_set *range =
        (const struct profile_label_set *)from->label_sets.items + set;
    const struct profile_label *all = from->labels.items;
    size_t count = 0;
    for (uint32_t i = 0; set > 0 && i < range->count; i++)
        if (is_shown(go, profile_text(from, all[range->first + i].key)))
            labels[count++] = all[range->first + i];
    return count;
}

static bool is_shown(const struct go_profile *go, const char *key)
{
    return (!go->tag_show || compat_pattern_fits(go->tag_show, key)) &&
           !(go->tag_hide && compat_pattern_fits(go->tag_hide, key));
}

const char *go_tag_unit(const struct go_profile *go, const struct profile_label *label)
{
    const char *key = profile_text(go->from, label->key);
    if (label->unit != 0)
        return profile_text(go->from, label->unit);
    return strcmp(key, "alignment") == 0 || strcmp(key, "request") == 0 ? "bytes" : key;
}

void go_warn(bool matched, const char *name)
{
    if (!matched)
        fprintf(stderr, "%s expression matched no samples\n", name);
}

void go_choose_tags(struct go_profile *go)
{
    choose(go, COMPAT_TAGFOCUS, true);
    choose(go, COMPAT_TAGIGNORE, false);
    show(go);
}

static void choose(struct go_profile *go, enum compat_option option, bool keep)
{
    const char *text = compat_text(go->words, option);
    struct filter filter;
    size_t kept = 0;
    bool any = false;
    if (text[0] == '\0')
        return;
    filter_start(&filter, text, keep ? "tagfocus" : "tagignore");
    for (size_t i = 0; i < go->count; i++) {
        bool fit = filter_fits(go, &go->samples[i], &filter);
        any |= fit;
        if (fit == keep)
            go->samples[kept++] = go->samples[i];
    }
    go->count = kept;
    go_warn(any, keep ? "TagFocus" : "TagIgnore");
    for (size_t i = 0; i < filter.count; i++)
        compat_pattern_free(filter.patterns[i]);
}

static void filter_start(struct filter *filter, const char *text, const char *name)
{
    const char *equals = strchr(text, '=');
    *filter = (struct filter){0};
    if (equals) {
        snprintf(filter->key, sizeof filter->key, "%.*s", (int)(equals - text), text);
        text = equals + 1;
    }
    filter->is_range = range_of(&filter->range, text);
    if (filter->is_range) {
        fprintf(stderr, "%s:Interpreted '%s' as range, not regexp\n", name, text);
        return;
    }
    char *copy = strdup(text), *rest = copy, *word;
    if (!copy)
        compat_out_of_memory();
    while ((word = strsep(&rest, ",")) && filter->count < PATTERNS_MAX)
        filter->patterns[filter->count++] = compat_pattern(word);
    free(copy);
}

/* False: it is no range. */
static bool range_of(struct range *range, const char *text)
{
    char unit[24], other[24];
    long long number;
    const char *scaled, *second;
    bool behind = text[0] == ':';
    const char *rest = take_number(text + behind, &number, unit);
    if (!rest || (rest[0] != '\0' && (behind || rest[0] != ':')))
        return false;
    double first = go_scale(number, unit, unit, &scaled);
    *range = (struct range){.from = !behind, .to = behind || rest[0] == '\0'};
    range->min = range->max = first;
    snprintf(range->unit, sizeof range->unit, "%s", scaled);
    if (rest[0] == '\0' || rest[1] == '\0')
        return true;
    second = take_number(rest + 1, &number, other);
    if (!second || *second != '\0')
        return false;
    range->max = go_scale(number, other, range->unit, &scaled);
    range->to = true;
    return strcmp(scaled, range->unit) == 0;
}

/* A number with its unit; what is behind it, or NULL. */
static const char *take_number(const char *text, long long *number, char unit[24])
{
    char *end;
    size_t length = 0;
    if (!isdigit((unsigned char)text[text[0] == '+' || text[0] == '-']))
        return NULL;
    *number = strtoll(text, &end, 10);
    while (length < 23 && isalpha((unsigned char)end[length]))
        length++;
    memcpy(unit, end, length);
    unit[length] = '\0';
    return end + length;
}

/* With a key one expression must fit, without all of them. */
static bool filter_fits(const struct go_profile *go, const struct go_sample *sample,
                        const struct filter *filter)
{
    bool keyed = filter->key[0] != '\0';
    if (filter->is_range)
        return range_fits(go, sample, filter);
    for (size_t i = 0; i < filter->count; i++)
        if (filter_pattern_fits(go, sample, filter, filter->patterns[i]) == keyed)
            return keyed;
    return !keyed;
}

static bool range_fits(const struct go_profile *go, const struct go_sample *sample,
                       const struct filter *filter)
{
    struct profile_label labels[PROFILE_LABELS_MAX];
    size_t count = go_labels(go, sample, labels);
    if (sample->bytes > 0 && (!filter->key[0] || strcmp(filter->key, LABEL_BLOCK_BYTES) == 0) &&
        in_range(&filter->range, sample->bytes, "bytes"))
        return true;
    for (size_t i = 0; i < count; i++)
        if (labels[i].text == 0 &&
            (!filter->key[0] || strcmp(profile_text(go->from, labels[i].key), filter->key) == 0) &&
            in_range(&filter->range, labels[i].number, go_tag_unit(go, &labels[i])))
            return true;
    return false;
}

static bool in_range(const struct range *range, int64_t number, const char *unit)
{
    const char *scaled;
    double value = go_scale(number, unit, range->unit, &scaled);
    return strcmp(scaled, range->unit) == 0 && (!range->from || value >= range->min) &&
           (!range->to || value <= range->max);
}

/* Whether a label of the sample fits: its value where there is a key, else "key:value". */
static bool filter_pattern_fits(const struct go_profile *go, const struct go_sample *sample,
                                const struct filter *filter, const struct compat_pattern *pattern)
{
    struct profile_label labels[PROFILE_LABELS_MAX];
    size_t count = go_labels(go, sample, labels);
    char text[2048];
    for (size_t i = 0; i < count; i++) {
        const char *name = profile_text(go->from, labels[i].key);
        const char *value = profile_text(go->from, labels[i].text);
        bool keyed = filter->key[0] != '\0';
        if (labels[i].text == 0 || (keyed && strcmp(name, filter->key) != 0))
            continue;
        snprintf(text, sizeof text, "%s%s%s", keyed ? "" : name, keyed ? "" : ":", value);
        if (compat_pattern_fits(pattern, text))
            return true;
    }
    return false;
}

/* -tagshow and -taghide. */
static void show(struct go_profile *go)
{
    const char *shown = compat_text(go->words, COMPAT_TAGSHOW);
    const char *hidden = compat_text(go->words, COMPAT_TAGHIDE);
    struct compat_pattern *wanted = shown[0] ? compat_pattern(shown) : NULL;
    struct compat_pattern *unwanted = hidden[0] ? compat_pattern(hidden) : NULL;
    bool any_shown = false, any_hidden = false;
    for (size_t i = 0; i < go->count; i++) {
        struct profile_label labels[PROFILE_LABELS_MAX];
        struct go_sample *sample = &go->samples[i];
        size_t count = go_labels(go, sample, labels);
        for (size_t k = 0; k < count + (sample->bytes > 0); k++) {
            const char *key = k < count ? profile_text(go->from, labels[k].key) : LABEL_BLOCK_BYTES;
            bool fits = !wanted || compat_pattern_fits(wanted, key);
            bool out = unwanted && compat_pattern_fits(unwanted, key);
            any_shown |= fits;
            any_hidden |= out;
            if (k == count && (!fits || out))
                sample->bytes = 0;
        }
    }
    go->tag_show = wanted;
    go->tag_hide = unwanted;
    go_warn(!wanted || any_shown, "TagShow");
    go_warn(!unwanted || any_hidden, "TagHide");
}

void go_tag_frames(struct go_profile *go)
{
    char *texts[2] = {strdup(compat_text(go->words, COMPAT_TAGROOT)),
                      strdup(compat_text(go->words, COMPAT_TAGLEAF))};
    struct tag_keys roots, leaves;
    size_t length = 0, own = go->places_count;
    if (!texts[0] || !texts[1])
        compat_out_of_memory();
    keys_split(&roots, texts[0]);
    keys_split(&leaves, texts[1]);
    size_t added = roots.count + leaves.count;
    for (size_t i = 0; i < go->count && added > 0; i++)
        length += go->samples[i].count + added;
    uint32_t *path = added > 0 ? compat_room(NULL, length, sizeof *path) : NULL;
    length = 0;
    for (size_t i = 0; i < go->count && added > 0; i++) {
        struct go_sample *sample = &go->samples[i];
        uint32_t *to = path + length;
        /* In this order they are numbered. */
        put_frames(go, sample, &roots, to + leaves.count + sample->count, own);
        put_frames(go, sample, &leaves, to, own);
        if (sample->count > 0)
            memcpy(to + leaves.count, go->path + sample->first, sample->count * sizeof *to);
        sample->first = (uint32_t)length;
        sample->count += (uint32_t)added;
        length += sample->count;
    }
    if (added > 0) {
        free(go->path);
        go->path = path;
    }
    go_warn(roots.any, "TagRoot");
    go_warn(leaves.any, "TagLeaf");
    free(texts[0]);
    free(texts[1]);
}

static void keys_split(struct tag_keys *keys, char *text)
{
    char *word;
    *keys = (struct tag_keys){.any = text[0] == '\0'};
    while ((word = strsep(&text, ",")) && keys->count < PATTERNS_MAX)
        if (word[0] != '\0')
            keys->items[keys->count++] = word;
}

/* Puts a frame for each key at `path`: the last one first. */
static void put_frames(struct go_profile *go, const struct go_sample *sample, struct tag_keys *keys,
                       uint32_t *path, size_t first)
{
    char values[4096];
    for (size_t i = 0; i < keys->count; i++) {
        const char *key = keys->items[keys->count - 1 - i];
        keys->any |= values_of(go, sample, key, values, sizeof values);
        path[i] = frame_of(go, key, values, first);
    }
}

/* All values of a key, texts first, with commas between. False: it has none. */
static bool values_of(const struct go_profile *go, const struct go_sample *sample, const char *key,
                      char *text, size_t size)
{
    struct profile_label labels[PROFILE_LABELS_MAX];
    size_t count = go_labels(go, sample, labels), used = 0;
    char number[64];
    bool any = false;
    text[0] = '\0';
    for (unsigned numeric = 0; numeric < 2; numeric++)
        for (size_t i = 0; i < count && used < size; i++) {
            const struct profile_label *label = &labels[i];
            if ((label->text == 0) != (numeric == 1) ||
                strcmp(profile_text(go->from, label->key), key) != 0)
                continue;
            const char *unit = profile_text(go->from, label->unit);
            const char *value =
                !numeric ? profile_text(go->from, label->text)
                         : go_label(label->number, unit, unit[0] ? go->unit : "", number);
            used += (size_t)snprintf(text + used, size - used, "%s%s", any ? "," : "", value);
            any = true;
        }
    if (sample->bytes > 0 && strcmp(key, LABEL_BLOCK_BYTES) == 0 && used < size) {
        snprintf(text + used, size - used, "%s%s", any ? "," : "",
                 go_label(sample->bytes, "", "", number));
        any = true;
    }
    return any;
}

/* A frame that is nothing but a key and the values that a sample has for it. */
static uint32_t frame_of(struct go_profile *go, const char *key, const char *values, size_t first)
{
    for (size_t i = first; i < go->places_count; i++) {
        const struct go_line *line = &go->lines[go->places[i].first];
        if (strcmp(line->name, values) == 0 && strcmp(line->file, key) == 0)
            return (uint32_t)i;
    }
    go->lines = compat_room(go->lines, go->lines_count + 1, sizeof *go->lines);
    go->places = compat_room(go->places, go->places_count + 1, sizeof *go->places);
    go->lines[go->lines_count] = (struct go_line){
        .name = go_keep(go, strdup(values)), .system_name = "", .file = go_keep(go, strdup(key))};
    go->places[go->places_count] =
        (struct go_place){.first = (uint32_t)go->lines_count, .count = 1};
    go->lines_count++;
    return (uint32_t)go->places_count++;
}

/* SPDX-License-Identifier: MIT */
/*
 * The filters of a view, made ready: patterns with their memos, and what labels must be like. A
 * pattern is matched against each distinct string once and remembered by the string's number: a
 * profile has a million frames and a few thousand names. Filters on labels are remembered by label
 * set in the same way.
 */
#include "tool/report/maker.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/compiler.h"

static const struct {
    const char *name;
    double factor;
} units[] = {
    {"", 1},
    {"b", 1},
    {"byte", 1},
    {"bytes", 1},
    {"kb", 1024},
    {"kib", 1024},
    {"mb", 1048576},
    {"mib", 1048576},
    {"gb", 1073741824},
    {"gib", 1073741824},
    {"ns", 1},
    {"nanoseconds", 1},
    {"us", 1e3},
    {"microseconds", 1e3},
    {"ms", 1e6},
    {"milliseconds", 1e6},
    {"s", 1e9},
    {"seconds", 1e9},
};

static bool set_fits(struct maker *maker, struct source *source, uint32_t set);
static bool thread_fits(const struct maker *maker, const struct profile *profile, uint32_t set);
static bool tag_fits(const struct profile *profile, const struct tag *tag, uint32_t set);
static bool tag_label_fits(const struct profile *profile, const struct tag *tag,
                           const struct pattern *pattern, const struct profile_label *label);
static double unit_factor(const char *name);
static bool patterns_make(struct pattern *patterns, unsigned *count, const char *what,
                          const char *const *texts, struct view_error *error);
static bool tag_make(struct tag *tag, const char *what, const char *text, struct view_error *error);
static bool range_read(struct tag *tag, const char *text);
static bool number_read(const char **text, double *number);

bool filter_sample(struct maker *maker, struct source *source, size_t row)
{
    const struct view_options *options = &maker->options;
    if (!set_fits(maker, source, source->profile->samples.label_sets[row]))
        return false;
    if (options->size_min == 0 && options->size_max == 0)
        return true;
    uint64_t size = block_size_of(source->profile, row).bytes;
    return size > 0 && size >= options->size_min &&
           (options->size_max == 0 || size <= options->size_max);
}

/* By what samples with these labels have in common. */
static bool set_fits(struct maker *maker, struct source *source, uint32_t set)
{
    const struct profile *profile = source->profile;
    if (source->sets[set] != 0)
        return source->sets[set] == 1;
    bool kept = (!maker->options.thread || thread_fits(maker, profile, set)) &&
                (!maker->tag_focus.used || tag_fits(profile, &maker->tag_focus, set)) &&
                (!maker->tag_ignore.used || !tag_fits(profile, &maker->tag_ignore, set));
    source->sets[set] = kept ? 1 : 2;
    return kept;
}

static bool thread_fits(const struct maker *maker, const struct profile *profile, uint32_t set)
{
    const struct profile_label *name = profile_label_of(profile, set, "thread");
    const struct profile_label *id = profile_label_of(profile, set, "tid"); /* of captures */
    const char *wanted = maker->options.thread;
    if (!id)
        id = profile_label_of(profile, set, "thread_id");
    if (wanted[strspn(wanted, "0123456789")] == '\0') {
        long number = strtol(wanted, NULL, 10);
        if ((id && id->text == 0 && id->number == number) ||
            (id && id->text != 0 && strcmp(profile_text(profile, id->text), wanted) == 0) ||
            (name && name->text == 0 && name->number == number))
            return true;
    }
    return name && name->text && pattern_fits(&maker->thread, profile_text(profile, name->text));
}

/* Each pattern (or the range) must fit one of the labels. */
static bool tag_fits(const struct profile *profile, const struct tag *tag, uint32_t set)
{
    const struct profile_label_set *labels =
        (const struct profile_label_set *)profile->label_sets.items + set;
    const struct profile_label *all = profile->labels.items;
    for (unsigned i = 0; i < TAG_PATTERNS && (tag->range ? i == 0 : tag->patterns[i].code != NULL);
         i++) {
        bool found = false;
        for (uint32_t k = 0; k < labels->count && !found; k++)
            found = tag_label_fits(profile, tag, &tag->patterns[i], &all[labels->first + k]);
        if (!found)
            return false;
    }
    return true;
}

static bool tag_label_fits(const struct profile *profile, const struct tag *tag,
                           const struct pattern *pattern, const struct profile_label *label)
{
    const char *key = profile_text(profile, label->key);
    const char *text = profile_text(profile, label->text);
    char pair[512];
    if (tag->key[0] && strcmp(tag->key, key) != 0)
        return false;
    if (tag->range) {
        double factor = unit_factor(profile_text(profile, label->unit));
        double number = (double)label->number * (factor > 0 ? factor : 1);
        return label->text == 0 && number >= tag->min && number <= tag->max;
    }
    if (label->text == 0)
        return false;
    if (tag->key[0])
        return pattern_fits(pattern, text);
    snprintf(pair, sizeof pair, "%s:%s", key, text);
    return pattern_fits(pattern, pair);
}

static double unit_factor(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(units); i++)
        if (strcasecmp(units[i].name, name) == 0)
            return units[i].factor;
    return 0;
}

double filter_age_share(const struct view_options *options, const struct profile *profile,
                        size_t row)
{
    const struct profile_samples *samples = &profile->samples;
    double ended = 0, weight = samples->weights ? (double)samples->weights[row] : 1;
    if (options->age_min_us == 0 && options->age_max_us == 0)
        return 1;
    int objects = profile_type_named(profile, TYPE_ALLOC_OBJECTS);
    if (!samples->lives || objects < 0 || samples->values[objects][row] <= 0)
        return 0;
    for (unsigned i = 0; i < FORMAT_LIVES; i++) { /* 4^(i-1) to 4^i us: its middle decides */
        double middle = ldexp(1, 2 * (int)i - 1);
        if (middle >= (double)options->age_min_us &&
            (options->age_max_us == 0 || middle < (double)options->age_max_us))
            ended += samples->lives[row][i];
    }
    double share = ended * (weight > 0 ? weight : 1) / (double)samples->values[objects][row];
    return share < 1 ? share : 1;
}

bool filter_start(struct maker *maker)
{
    const struct view_options *options = &maker->options;
    struct view_error *error = maker->error;
    const struct {
        struct pattern *pattern;
        const char *what, *text;
    } single[] = {
        {&maker->show, "show", options->show},       {&maker->hide, "hide", options->hide},
        {&maker->from, "from", options->from},       {&maker->prune, "prune", options->prune},
        {&maker->module, "module", options->module}, {&maker->thread, "thread", options->thread},
    };
    for (size_t i = 0; i < COUNT_OF(single); i++)
        if (single[i].text &&
            !pattern_make(single[i].pattern, single[i].what, single[i].text, error))
            return false;
    return patterns_make(maker->focus, &maker->focus_count, "focus", options->focus, error) &&
           patterns_make(maker->ignore, &maker->ignore_count, "ignore", options->ignore, error) &&
           tag_make(&maker->tag_focus, "tag-focus", options->tag_focus, error) &&
           tag_make(&maker->tag_ignore, "tag-ignore", options->tag_ignore, error);
}

static bool patterns_make(struct pattern *patterns, unsigned *count, const char *what,
                          const char *const *texts, struct view_error *error)
{
    for (*count = 0; texts && texts[*count]; ++*count) {
        if (*count == FOCUS_MAX)
            return view_refuse(error, "more than %d patterns for %s", FOCUS_MAX, what);
        if (!pattern_make(&patterns[*count], what, texts[*count], error))
            return false;
    }
    return true;
}

static bool tag_make(struct tag *tag, const char *what, const char *text, struct view_error *error)
{
    if (!text || text[0] == '\0')
        return true;
    const char *equals = strchr(text, '=');
    tag->used = true;
    if (equals && (size_t)(equals - text) < sizeof tag->key) {
        memcpy(tag->key, text, (size_t)(equals - text));
        text = equals + 1;
    }
    tag->range = range_read(tag, text);
    for (unsigned i = 0; !tag->range && *text && i < TAG_PATTERNS; i++) {
        char part[256];
        size_t length = strcspn(text, ",");
        if (length >= sizeof part)
            return view_refuse(error, "%s '%s' is too long", what, text);
        memcpy(part, text, length);
        part[length] = '\0';
        if (!pattern_make(&tag->patterns[i], what, part, error))
            return false;
        text += length + (text[length] == ',');
    }
    return true;
}

/* A number alone, or two with a colon between them, of which one may be missing. */
static bool range_read(struct tag *tag, const char *text)
{
    bool first = number_read(&text, &tag->min);
    tag->max = tag->min;
    if (*text == '\0')
        return first;
    if (*text++ != ':')
        return false;
    if (!first)
        tag->min = -INFINITY;
    tag->max = INFINITY;
    if (*text == '\0')
        return first;
    return number_read(&text, &tag->max) && *text == '\0';
}

/* 32kb, -1, 10s; moves *text behind it. */
static bool number_read(const char **text, double *number)
{
    char unit[16];
    char *end;
    if (!isdigit((unsigned char)**text) && **text != '-')
        return false;
    double value = (double)strtoll(*text, &end, 10);
    size_t length = 0;
    if (end == *text)
        return false;
    while (length < sizeof unit - 1 && isalpha((unsigned char)end[length])) {
        unit[length] = end[length];
        length++;
    }
    unit[length] = '\0';
    *text = end + length;
    *number = value * unit_factor(unit);
    return unit_factor(unit) > 0;
}

bool filter_source(struct maker *maker, struct source *source)
{
    const struct profile *profile = source->profile;
    bool ok = pattern_memo_start(&source->show, &maker->show, profile) &&
              pattern_memo_start(&source->hide, &maker->hide, profile) &&
              pattern_memo_start(&source->from, &maker->from, profile) &&
              pattern_memo_start(&source->prune, &maker->prune, profile) &&
              pattern_memo_start(&source->module, &maker->module, profile);
    for (unsigned i = 0; i < maker->focus_count && ok; i++)
        ok = pattern_memo_start(&source->focus[i], &maker->focus[i], profile);
    for (unsigned i = 0; i < maker->ignore_count && ok; i++)
        ok = pattern_memo_start(&source->ignore[i], &maker->ignore[i], profile);
    source->sized = block_size_labels(profile);
    source->expansions = calloc(profile->locations.count + 1, sizeof *source->expansions);
    source->functions = calloc(profile->functions.count + 1, 1);
    source->mappings = calloc(profile->mappings.count + 1, 1);
    source->sets = calloc(profile->label_sets.count + 1, sizeof *source->sets);
    source->set_frames = calloc(profile->label_sets.count + 1, sizeof *source->set_frames);
    bool by_size = maker->options.by == VIEW_SIZE;
    if (by_size)
        source->row_frames = calloc(profile->samples.count + 1, sizeof *source->row_frames);
    ok = ok && source->functions && source->mappings && (!by_size || source->row_frames);
    return (ok && source->expansions && source->sets && source->set_frames) ||
           view_out_of_memory(maker->error);
}

void filter_source_free(struct source *source)
{
    pattern_memo_free(&source->show);
    pattern_memo_free(&source->hide);
    pattern_memo_free(&source->from);
    pattern_memo_free(&source->prune);
    pattern_memo_free(&source->module);
    for (unsigned i = 0; i < FOCUS_MAX; i++) {
        pattern_memo_free(&source->focus[i]);
        pattern_memo_free(&source->ignore[i]);
    }
    free(source->expansions);
    free(source->functions);
    free(source->mappings);
    free(source->sets);
    free(source->set_frames);
    free(source->row_frames);
}

void filter_free(struct maker *maker)
{
    struct pattern *single[] = {&maker->show,  &maker->hide,   &maker->from,
                                &maker->prune, &maker->module, &maker->thread};
    for (size_t i = 0; i < COUNT_OF(single); i++)
        pattern_free(single[i]);
    for (unsigned i = 0; i < FOCUS_MAX; i++) {
        pattern_free(&maker->focus[i]);
        pattern_free(&maker->ignore[i]);
    }
    for (unsigned i = 0; i < TAG_PATTERNS; i++) {
        pattern_free(&maker->tag_focus.patterns[i]);
        pattern_free(&maker->tag_ignore.patterns[i]);
    }
}

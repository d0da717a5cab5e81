/* SPDX-License-Identifier: MIT */
/*
 * The profiles that a command line of Go's pprof names, as one. A source that can't be read is said
 * and left out as long as there is another; profiles that do not fit together are refused.
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file/deleted.h"
#include "tool/compat/go/go.h"
#include "tool/memory/memory.h"
#include "tool/process/process.h"
#include "tool/symbol/symbol.h"

static size_t program_of(const struct compat_words *words, const char **program,
                         const char **build_id);
static bool is_build_id(const char *word);
static void read_all(struct profile *profile, const struct compat_words *words,
                     const char *const *paths, size_t count, const char *name);
static bool read_one(struct profile *profile, const struct compat_words *words, const char *path);
static void scale_heap(struct profile *profile, const struct compat_head *head);
static int64_t whole(double number);
static void read_maps(struct profile *profile);
static void check_types(const struct profile *a, const struct profile *b, const char *what);
static bool says_period(const struct profile *profile);
static bool types_fit(const struct profile *a, const struct profile_type *left,
                      const struct profile *b, const struct profile_type *right);
static bool same_word(const char *a, const char *b);
static void print_type(const struct profile *profile, const struct profile_type *type);
static void join(struct profile *profile, const struct profile *more, double factor);
static void add_comment(struct profile *profile, const char *text);
static void subtract(struct profile *profile, const struct compat_words *words);
static void normalize(struct profile *profile, const struct profile *base);
static void mark_base(struct profile *profile);
static void unite(struct profile *profile);
static uint64_t sample_hash(const void *context, uint32_t number);
static bool sample_same(const void *context, uint32_t number, const void *key);
static void rename_types(struct profile *profile);
static void check_symbolize(const char *mode);
static void add_mapping(struct profile *profile);

void go_fetch(struct profile *profile, const struct compat_words *words, const char **program)
{
    struct symbol_report report = {0};
    struct symbol_options options = {0};
    const char *mode = compat_text(words, COMPAT_SYMBOLIZE), *build_id;
    const char *comment = compat_text(words, COMPAT_ADD_COMMENT);
    size_t first = program_of(words, program, &build_id);
    read_all(profile, words, (const char *const *)words->operands + first,
             words->operands_count - first, "source");
    subtract(profile, words);
    unite(profile);
    rename_types(profile);
    go_find_binaries(profile);
    compat_own(profile, *program, "");
    if (build_id[0] && profile->mappings.count > 1) {
        uint32_t text = profile_string_of(profile, build_id);
        ((struct profile_mapping *)profile->mappings.items)[1].build_id = text;
    }
    check_symbolize(mode);
    options.program = (*program)[0] ? *program : NULL;
    options.again = strstr(mode, "force") != NULL;
    options.no_inlines = strstr(mode, "fastlocal") != NULL;
    if (!go_symbolize_none(mode) && !symbol_resolve(profile, &options, &report))
        compat_out_of_memory();
    symbol_report_free(&report);
    compat_fetch_names(words, profile);
    add_mapping(profile);
    if (comment[0]) {
        uint32_t text = profile_string_of(profile, comment);
        uint32_t *last = profile_list_add(profile, &profile->comments, sizeof *last);
        if (last)
            *last = text;
    }
    if (profile->failed)
        compat_out_of_memory();
}

/* The first of several operands may be the program, or its build id. */
static size_t program_of(const struct compat_words *words, const char **program,
                         const char **build_id)
{
    const char *first = words->operands[0];
    *program = "";
    *build_id = compat_text(words, COMPAT_BUILDID);
    if (words->operands_count == 1 || compat_is_url(first))
        return 0;
    if (access(first, F_OK) == 0 && input_kind_of(first) == INPUT_PROGRAM) {
        *program = first;
        return 1;
    }
    if ((*build_id)[0] == '\0' && is_build_id(first)) {
        *build_id = first;
        return 1;
    }
    return 0;
}

static bool is_build_id(const char *word)
{
    size_t length = strspn(word, "0123456789abcdefABCDEF");
    return length > 0 && word[length] == '\0';
}

/* All of them as one; `name` is source or base. */
static void read_all(struct profile *profile, const struct compat_words *words,
                     const char *const *paths, size_t count, const char *name)
{
    size_t got = 0;
    char what[64];
    snprintf(what, sizeof what, "problem fetching %s profiles: ", name);
    for (size_t i = 0; i < count; i++) {
        struct profile more;
        if (!read_one(got > 0 ? &more : profile, words, paths[i]))
            continue;
        if (got++ == 0)
            continue;
        check_types(profile, &more, what);
        join(profile, &more, 1);
        profile_free(&more);
    }
    if (got == 0)
        compat_fail("failed to fetch any %s profiles", name);
    if (got < count)
        fprintf(stderr, "Fetched %zu %s profiles out of %zu\n", got, name, count);
}

/* False: it can't be read, and that is said. */
static bool read_one(struct profile *profile, const struct compat_words *words, const char *path)
{
    struct read_error error;
    char *fetched = compat_is_url(path) ? compat_fetch(words, path) : NULL;
    if (fetched)
        path = fetched;
    struct compat_head head = compat_head(path);
    struct read_options options = {.raw = head.version > 0 && !head.threaded};
    profile_start(profile);
    bool done = false;
    if (access(path, F_OK) != 0)
        fprintf(stderr, "%s: open %s: no such file or directory\n", path, path);
    else if (!profile_read_file(profile, path, &options, &error))
        fprintf(stderr, "%s: parsing profile: %s\n", path,
                input_kind_of(path) == INPUT_PROGRAM
                    ? "it is a program, which comes before the profiles"
                    : error.reason);
    else
        done = true;
    if (done && (profile->traits & TRAIT_GPERFTOOLS))
        scale_heap(profile, &head);
    if (done && !profile_sums_fit(profile)) {
        fprintf(stderr,
                "%s: parsing profile: its numbers add up to more than any program could do\n",
                path);
        done = false;
    }
    if (!done)
        profile_free(profile);
    else
        read_maps(profile);
    free(fetched);
    return done;
}

/* gperftools' text: each sample is labelled with the size of its blocks, and what was sampled is
 * scaled down to whole numbers. */
static void scale_heap(struct profile *profile, const struct compat_head *head)
{
    struct profile_samples *samples = &profile->samples;
    for (size_t i = 0; i < samples->count; i++) {
        struct profile_label label = {.key = profile_string_of(profile, LABEL_BLOCK_BYTES)};
        for (unsigned type = 0; type + 1 < profile->types; type += 2) {
            int64_t *count = &samples->values[type][i], *bytes = &samples->values[type + 1][i];
            if (*count == 0)
                continue;
            label.number = *bytes / *count;
            if (head->version == 0 || head->period <= 1 || *bytes == 0)
                continue;
            double mean = (double)*bytes / (double)*count;
            double factor = 1 / (1 - exp(-mean / head->period));
            *count = whole((double)*count * factor);
            *bytes = whole((double)*bytes * factor);
        }
        samples->label_sets[i] = profile_label_set(profile, &label, 1);
    }
}

/* As Go converts it; what no program could do stays so large that it can be told. */
static int64_t whole(double number)
{
    static const double max = 0x1p62;
    return (int64_t)(number > max ? max : number < -max ? -max : number);
}

/* Maps as Go's reads them: programs at the usual place are taken to be whole there, and a file that
 * was deleted has its name. Files in its own format say what is. */
static void read_maps(struct profile *profile)
{
    enum { USUAL_START = 0x400000 };
    struct profile_mapping *mappings = profile->mappings.items;
    const struct profile_location *locations = profile->locations.items;
    if (profile->traits & TRAIT_PPROF)
        return;
    for (size_t i = 0; i < profile->locations.count; i++) {
        struct profile_mapping *mapping = &mappings[locations[i].mapping];
        if (locations[i].mapping == 0 || mapping->start - mapping->offset != USUAL_START)
            continue;
        mapping->start = USUAL_START;
        mapping->offset = 0;
    }
    for (uint32_t i = 1; i < profile->mappings.count; i++) {
        const char *path = profile_text(profile, mappings[i].path);
        size_t length = strlen(path), bare_length = deleted_cut(path, length);
        char *bare = bare_length == length ? NULL : strndup(path, bare_length);
        if (bare)
            mappings[i].path = profile_string_of(profile, bare);
        else if (bare_length != length)
            compat_out_of_memory();
        free(bare);
    }
}

/* Ends the command unless the two have the same columns. `what`: what was being done. */
static void check_types(const struct profile *a, const struct profile *b, const char *what)
{
    bool both = says_period(a) && says_period(b);
    const struct profile_type *left = &a->period_type, *right = &b->period_type;
    const char *which = "period type";
    bool fit = !both || types_fit(a, left, b, right);
    if (fit && a->types != b->types)
        compat_fail("%sinconsistent samples type count: %u != %u", what, a->types, b->types);
    for (unsigned i = 0; i < a->types && fit; i++) {
        left = &a->type[i];
        right = &b->type[i];
        which = "sample types";
        fit = types_fit(a, left, b, right);
    }
    if (fit)
        return;
    fprintf(stderr, "%s%s: incompatible types: ", what, which);
    print_type(a, left);
    fputc(' ', stderr);
    print_type(b, right);
    fputc('\n', stderr);
    compat_end(1);
}

/* Go's own files may say that there is none. */
static bool says_period(const struct profile *profile)
{
    return (profile->traits & TRAIT_PPROF) || profile->period_type.name != 0;
}

static bool types_fit(const struct profile *a, const struct profile_type *left,
                      const struct profile *b, const struct profile_type *right)
{
    const char *units[2] = {profile_text(a, left->unit), profile_text(b, right->unit)};
    return same_word(profile_text(a, left->name), profile_text(b, right->name)) &&
           (strcmp(units[0], units[1]) == 0 ||
            (go_unit_kind(units[0]) >= 0 && go_unit_kind(units[0]) == go_unit_kind(units[1])));
}

/* An "s" at the end makes no difference. */
static bool same_word(const char *a, const char *b)
{
    size_t left = strlen(a), right = strlen(b);
    left -= left > 0 && a[left - 1] == 's';
    right -= right > 0 && b[right - 1] == 's';
    return left == right && memcmp(a, b, left) == 0;
}

static void print_type(const struct profile *profile, const struct profile_type *type)
{
    fprintf(stderr, "{%s %s 0 0}", profile_text(profile, type->name),
            profile_text(profile, type->unit));
}

/* Adds one profile to another. The time of both is the earlier one; none is earlier than any, but
 * for the first. */
static void join(struct profile *profile, const struct profile *more, double factor)
{
    const uint32_t *comments = more->comments.items;
    int64_t time = profile->time_ns;
    if (time == 0 || more->time_ns < time)
        time = more->time_ns;
    if (!profile_merge(profile, more, factor))
        compat_out_of_memory();
    profile->time_ns = time;
    for (size_t i = 0; i < more->comments.count; i++)
        add_comment(profile, profile_text(more, comments[i]));
}

static void add_comment(struct profile *profile, const char *text)
{
    const uint32_t *comments = profile->comments.items;
    for (size_t i = 0; i < profile->comments.count; i++)
        if (strcmp(profile_text(profile, comments[i]), text) == 0)
            return;
    uint32_t copy = profile_string_of(profile, text);
    uint32_t *last = profile_list_add(profile, &profile->comments, sizeof *last);
    if (last)
        *last = copy;
}

static void subtract(struct profile *profile, const struct compat_words *words)
{
    struct profile base;
    if (words->bases_count == 0)
        return;
    read_all(&base, words, words->bases, words->bases_count, "base");
    check_types(profile, &base, "");
    if (words->value[COMPAT_NORMALIZE].on)
        normalize(profile, &base);
    if (compat_text(words, COMPAT_DIFF_BASE)[0] != '\0')
        mark_base(&base);
    join(profile, &base, -1);
    if (__builtin_add_overflow(profile->duration_ns, base.duration_ns, &profile->duration_ns))
        compat_fail("the durations are too long");
    profile_free(&base);
}

/* Each column of `profile` so that its sum is that of `base`. */
static void normalize(struct profile *profile, const struct profile *base)
{
    for (unsigned type = 0; type < profile->types; type++) {
        int other = profile_type_named(base, profile_text(profile, profile->type[type].name));
        double sum = 0, wanted = 0;
        int64_t *values = profile->samples.values[type];
        for (size_t i = 0; i < profile->samples.count; i++)
            sum += (double)values[i];
        for (size_t i = 0; i < base->samples.count && other >= 0; i++)
            wanted += (double)base->samples.values[other][i];
        for (size_t i = 0; i < profile->samples.count; i++)
            values[i] = sum != 0 ? llround((double)values[i] * (wanted / sum)) : 0;
    }
}

/* Marks all samples as those of the base, for percentages of it. */
static void mark_base(struct profile *profile)
{
    for (size_t i = 0; i < profile->samples.count; i++) {
        struct profile_label labels[PROFILE_LABELS_MAX + 1] = {
            {.key = profile_string_of(profile, "pprof::base"),
             .text = profile_string_of(profile, "true")}};
        uint32_t set = profile->samples.label_sets[i], count = 0;
        const struct profile_label_set *range =
            (const struct profile_label_set *)profile->label_sets.items + set;
        for (; set > 0 && count < range->count; count++)
            labels[1 + count] =
                ((const struct profile_label *)profile->labels.items)[range->first + count];
        profile->samples.label_sets[i] = profile_label_set(profile, labels, 1 + count);
    }
}

/* Samples of one stack and one set of labels are one: the first has all, the others nothing. */
static void unite(struct profile *profile)
{
    static const struct map_kind by_stack = {sample_hash, sample_same};
    struct profile_samples *samples = &profile->samples;
    struct map first = {.sparse = true};
    for (uint32_t i = 0; i < samples->count; i++) {
        uint32_t number = compat_find(&first, samples, &by_stack, sample_hash(samples, i), &i);
        if (number == MAP_NONE) {
            map_add(&first, i);
            continue;
        }
        for (unsigned type = 0; type < profile->types; type++) {
            samples->values[type][number] += samples->values[type][i];
            samples->values[type][i] = 0;
        }
    }
    map_free(&first);
}

static uint64_t sample_hash(const void *context, uint32_t number)
{
    const struct profile_samples *samples = context;
    return map_mix(0, (uint64_t)samples->stacks[number] << 32 | samples->label_sets[number]);
}

static bool sample_same(const void *context, uint32_t number, const void *key)
{
    const struct profile_samples *samples = context;
    uint32_t other = *(const uint32_t *)key;
    return samples->stacks[number] == samples->stacks[other] &&
           samples->label_sets[number] == samples->label_sets[other];
}

/* gperftools' dumps without a count of all allocations have other names there. */
static void rename_types(struct profile *profile)
{
    unsigned traits = TRAIT_GPERFTOOLS | TRAIT_DUMP; /* files of growth are no dumps */
    if (profile->types != 2 || (profile->traits & traits) != traits)
        return;
    profile->type[0].name = profile_string_of(profile, "objects");
    profile->type[1].name = profile_string_of(profile, "space");
}

/* The names that -symbolize takes; other names are refused. */
static void check_symbolize(const char *mode)
{
    static const char words[] =
        ":none:no:local:fastlocal:remote:force:demangle=full:demangle=none:demangle=templates:"
        "demangle=default:";
    for (const char *at = mode; *at; at += at[0] == ':') {
        size_t length = strcspn(at, ":");
        char word[64];
        int used = snprintf(word, sizeof word, ":%.*s:", (int)length, at);
        if (length > 0 && (used >= (int)sizeof word || !strcasestr(words, word)))
            fprintf(stderr,
                    "ignoring unrecognized symbolization option: %s\n"
                    "expecting -symbolize=[local|fastlocal|remote|none][:force]"
                    "[:demangle=[none|full|templates|default]\n",
                    mode);
        at += length;
    }
}

/* Where the file has no mapping at all, everything is in one without a name. */
static void add_mapping(struct profile *profile)
{
    bool own = profile->traits & TRAIT_PPROF;
    struct profile_mapping mapping = {.limit = own ? 0 : UINT64_MAX};
    struct profile_location *locations = profile->locations.items;
    if (profile->mappings.count > 1 || profile->locations.count == 0)
        return;
    uint32_t number = profile_mapping(profile, &mapping);
    for (size_t i = 0; i < profile->locations.count; i++)
        locations[i].mapping = number;
}

bool go_symbolize_none(const char *mode)
{
    for (const char *at = mode; *at; at += at[0] == ':') {
        size_t length = strcspn(at, ":");
        if ((length == 4 && strncasecmp(at, "none", 4) == 0) ||
            (length == 2 && strncasecmp(at, "no", 2) == 0))
            return true;
        at += length;
    }
    return false;
}

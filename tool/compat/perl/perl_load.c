/* SPDX-License-Identifier: MIT */
/*
 * The profiles that an old command line names, as one: added up, --base taken away. Numbers of
 * sampled files are scaled here and not by the readers, in fractions, so that sums round as
 * theirs do.
 */
#include "tool/compat/perl/perl.h"

#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "tool/process/process.h"

/* Values are kept in such parts of one while profiles are merged. */
enum { FRACTIONS = 1024 };

static int compare_threads(const void *a, const void *b);
static void values(struct perl_profile *loaded, const struct compat_words *words);
static unsigned column(const struct profile *profile, const struct compat_words *words);
static bool is_uncounted(const struct profile *profile, const struct compat_words *words);
static bool is_on(const struct compat_words *words, enum compat_option option);
static size_t program(struct perl_profile *loaded, const struct compat_words *words);
static bool is_symbolized(const char *path);
static void read_one(struct profile *profile, const struct compat_words *words, const char *path,
                     const char *thread);
static void scale(struct profile *profile, const struct compat_head *head);
static void scale_pair(struct profile *profile, const struct compat_head *head,
                       unsigned objects_type, unsigned bytes_type);
static double factor_of(const struct compat_head *head, double objects, double bytes);
static int64_t parts_of(double value);
static void add(struct profile *to, const struct compat_words *words, const char *path,
                double factor);
static void move_libraries(struct profile *profile, const char *prefixes);

uint64_t *perl_threads(const char *path, size_t *count)
{
    uint64_t *threads = NULL;
    char *line = NULL;
    size_t room = 0, threads_room = 0;
    FILE *file = fopen(path, "rbe");
    bool stacks = false;
    *count = 0;
    while (file && getline(&line, &room, file) > 0 && strncmp(line, "MAPPED_LIBRARIES:", 17) != 0) {
        const char *word = line + strspn(line, " \t");
        stacks |= *word == '@';
        if (!stacks || *word != 't' || !isdigit((unsigned char)word[1]))
            continue;
        compat_reserve(&threads, &threads_room, *count + 1, sizeof *threads);
        threads[(*count)++] = strtoull(word + 1, NULL, 10);
    }
    if (file)
        fclose(file);
    free(line);
    if (*count == 0)
        return threads;
    if (*count > 0)
        qsort(threads, *count, sizeof *threads, compare_threads);
    size_t kept = 1;
    for (size_t i = 1; i < *count; i++)
        if (threads[i] != threads[kept - 1])
            threads[kept++] = threads[i];
    *count = kept;
    return threads;
}

static int compare_threads(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

double perl_sample(const struct perl_profile *loaded, unsigned type, size_t sample)
{
    return (double)loaded->profile.samples.values[type][sample] / FRACTIONS;
}

/* Samples' values as numbers; --drop_negative by stack, as they do. */
static void values(struct perl_profile *loaded, const struct compat_words *words)
{
    const struct profile *profile = &loaded->profile;
    size_t count = profile->samples.count, stacks = profile->stacks.count;
    loaded->type = column(profile, words);
    bool uncounted = is_uncounted(profile, words);
    loaded->values = compat_room(NULL, count, sizeof *loaded->values);
    int partner = profile->types > 0 ? profile_type_partner(profile, loaded->type) : -1;
    for (size_t i = 0; i < count; i++) {
        double value = perl_sample(loaded, loaded->type, i);
        if (is_on(words, COMPAT_MEAN_DELAY) && profile->kind == PROFILE_CONTENTION && partner >= 0)
            value /= perl_sample(loaded, (unsigned)partner, i);
        loaded->values[i] = uncounted ? 0 : value;
    }
    if (!words->value[COMPAT_DROP_NEGATIVE].on)
        return;
    double *sums = compat_room(NULL, stacks, sizeof *sums);
    memset(sums, 0, stacks * sizeof *sums);
    for (size_t i = 0; i < count; i++)
        sums[profile->samples.stacks[i]] += loaded->values[i];
    for (size_t i = 0; i < count; i++)
        if (sums[profile->samples.stacks[i]] < 0)
            loaded->values[i] = 0;
    free(sums);
}

/* Whether all allocations are asked for and the dump has live blocks only (jemalloc's without
 * prof_accum): jeprof takes them for 0 then. In gperftools' format live blocks stand for them. */
static bool is_uncounted(const struct profile *profile, const struct compat_words *words)
{
    bool asked = is_on(words, COMPAT_ALLOC_SPACE) || is_on(words, COMPAT_ALLOC_OBJECTS);
    return asked && !is_on(words, COMPAT_INUSE_OBJECTS) &&
           profile_type_named(profile, TYPE_INUSE_SPACE) >= 0 &&
           profile_type_named(profile, TYPE_ALLOC_SPACE) < 0;
}

/* The column that the options ask for. */
static unsigned column(const struct profile *profile, const struct compat_words *words)
{
    static const struct {
        enum compat_option option;
        const char *names[2];
    } columns[] = {
        {COMPAT_INUSE_OBJECTS, {TYPE_INUSE_OBJECTS, TYPE_OBJECTS}},
        {COMPAT_ALLOC_SPACE, {TYPE_ALLOC_SPACE, TYPE_SPACE}},
        {COMPAT_ALLOC_OBJECTS, {TYPE_ALLOC_OBJECTS, TYPE_OBJECTS}},
        {COMPAT_CONTENTIONS, {TYPE_CONTENTIONS, TYPE_CONTENTIONS}},
    };
    static const char *const usual[] = {TYPE_INUSE_SPACE, TYPE_SPACE, TYPE_SAMPLES, TYPE_DELAY};
    for (size_t i = 0; i < COUNT_OF(columns); i++)
        for (unsigned k = 0; k < 2 && is_on(words, columns[i].option); k++)
            if (profile_type_named(profile, columns[i].names[k]) >= 0)
                return (unsigned)profile_type_named(profile, columns[i].names[k]);
    for (size_t i = 0; i < COUNT_OF(usual); i++)
        if (profile_type_named(profile, usual[i]) >= 0)
            return (unsigned)profile_type_named(profile, usual[i]);
    return profile->default_type;
}

/* Of the words for locks the first counts: --total_delay, --contentions, --mean_delay. */
static bool is_on(const struct compat_words *words, enum compat_option option)
{
    const struct compat_value *value = words->value;
    bool delay = value[COMPAT_TOTAL_DELAY].on;
    return value[option].on && !(option == COMPAT_CONTENTIONS && delay) &&
           !(option == COMPAT_MEAN_DELAY && (delay || value[COMPAT_CONTENTIONS].on));
}

void perl_load(struct perl_profile *loaded, const struct compat_words *words, const char *thread)
{
    struct symbol_report report = {0};
    memset(loaded, 0, sizeof *loaded);
    size_t first = program(loaded, words);
    for (size_t i = first; i < words->operands_count; i++)
        if (access(words->operands[i], F_OK) == 0)
            fprintf(stderr, "Using local file %s.\n", words->operands[i]);
        else if (!compat_is_url(words->operands[i]))
            compat_fail("%s does not exist.", words->operands[i]);
    read_one(&loaded->profile, words, words->operands[first], thread);
    for (size_t i = first + 1; i < words->operands_count && !thread; i++)
        add(&loaded->profile, words, words->operands[i], 1);
    for (size_t i = 0; i < words->bases_count && !thread; i++)
        add(&loaded->profile, words, words->bases[i], -1);
    move_libraries(&loaded->profile, compat_text(words, COMPAT_LIB_PREFIX));
    compat_own(&loaded->profile, loaded->program, compat_text(words, COMPAT_ADD_LIB));
    loaded->kind = loaded->profile.kind;
    loaded->digits = 16;
    loaded->symbols.program = loaded->program[0] ? loaded->program : NULL;
    if (!symbol_resolve(&loaded->profile, &loaded->symbols, &report) || loaded->profile.failed)
        compat_out_of_memory();
    symbol_report_free(&report);
    compat_fetch_names(words, &loaded->profile);
    loaded->symbolized = is_symbolized(words->operands[first]);
    if (loaded->symbolized)
        loaded->program = profile_text(&loaded->profile, loaded->profile.program);
    values(loaded, words);
}

/* Which of the operands is the program. */
static size_t program(struct perl_profile *loaded, const struct compat_words *words)
{
    if (words->operands_count == 0)
        compat_usage(words, "Did not specify program");
    const char *first = words->operands[0];
    loaded->program = "";
    if (compat_is_url(first))
        return 0;
    if (is_symbolized(first)) {
        fprintf(stderr, "Using local file %s.\n", first);
        if (words->value[COMPAT_LINES].on)
            compat_usage(words, "--lines cannot be used without a binary");
        if (words->value[COMPAT_DISASM].on)
            compat_usage(words, "--disasm cannot be used without a binary");
        return 0;
    }
    if (words->operands_count == 1) {
        if (access(first, F_OK) != 0)
            compat_fail("%s does not exist.", first);
        if (input_kind_of(first) == INPUT_PROGRAM) {
            fprintf(stderr, "Using local file %s.\n", first);
            compat_usage(words, "Did not specify profile file");
        }
        return 0;
    }
    if (access(first, F_OK) != 0)
        compat_fail("%s does not exist.", first);
    fprintf(stderr, "Using local file %s.\n", first);
    loaded->program = first;
    return 1;
}

/* Whether it is a file of --raw, which has its names in it. */
static bool is_symbolized(const char *path)
{
    char start[11] = "";
    FILE *file = fopen(path, "rbe");
    bool read = file && fgets(start, sizeof start, file);
    if (file)
        fclose(file);
    return read && (strncmp(start, "--- symbol", 10) == 0 || strncmp(start, "---symbol", 9) == 0);
}

static void read_one(struct profile *profile, const struct compat_words *words, const char *path,
                     const char *thread)
{
    struct read_error error;
    char *fetched = compat_is_url(path) ? compat_fetch(words, path) : NULL;
    if (fetched)
        path = fetched;
    struct compat_head head = compat_head(path);
    struct read_options options = {.thread = thread, .raw = head.version > 0};
    if (access(path, F_OK) != 0)
        compat_fail("%s: %s", path, strerror(errno));
    profile_start(profile);
    if (!profile_read_file(profile, path, &options, &error)) {
        if (input_kind_of(path) == INPUT_PROGRAM)
            compat_fail("%s: it is a program, not a profile; the program comes first", path);
        compat_fail("%s: %s", path, error.reason);
    }
    if (head.version > 0 && !head.threaded) {
        fprintf(stderr, "Adjusting heap profiles for 1-in-%.0f sampling rate\n", head.period);
        if (head.version == 2)
            fputs("Heap version 2\n", stderr);
    }
    scale(profile, &head);
    free(fetched);
}

static void scale(struct profile *profile, const struct compat_head *head)
{
    bool done[PROFILE_TYPES_MAX] = {false};
    for (unsigned i = 0; i < profile->types && head->version > 0; i++) {
        int partner = profile_type_partner(profile, i);
        if (partner < 0 || done[i] || done[partner] ||
            profile_unit(profile, profile->type[i]) != UNIT_COUNT)
            continue;
        scale_pair(profile, head, i, (unsigned)partner);
        done[i] = done[partner] = true;
    }
    for (unsigned i = 0; i < profile->types; i++)
        for (size_t k = 0; k < profile->samples.count && !done[i]; k++)
            profile->samples.values[i][k] = parts_of((double)profile->samples.values[i][k]);
}

/* A pair of columns, scaled. A stack of jemalloc's may be in several samples, by thread; what
 * counts is the whole. */
static void scale_pair(struct profile *profile, const struct compat_head *head,
                       unsigned objects_type, unsigned bytes_type)
{
    struct profile_samples *samples = &profile->samples;
    int64_t *objects = samples->values[objects_type], *bytes = samples->values[bytes_type];
    double *sums = NULL;
    if (head->threaded) {
        sums = compat_room(NULL, profile->stacks.count * 2, sizeof *sums);
        memset(sums, 0, profile->stacks.count * 2 * sizeof *sums);
        for (size_t i = 0; i < samples->count; i++) {
            sums[2 * samples->stacks[i]] += (double)objects[i];
            sums[2 * samples->stacks[i] + 1] += (double)bytes[i];
        }
    }
    for (size_t i = 0; i < samples->count; i++) {
        const double *sum = sums ? sums + 2 * samples->stacks[i] : NULL;
        double factor = sum ? factor_of(head, sum[0], sum[1])
                            : factor_of(head, (double)objects[i], (double)bytes[i]);
        objects[i] = parts_of((double)objects[i] * factor);
        bytes[i] = parts_of((double)bytes[i] * factor);
    }
    free(sums);
}

/* What one recorded object of that mean size stands for. */
static double factor_of(const struct compat_head *head, double objects, double bytes)
{
    if (objects == 0 || bytes == 0)
        return 1;
    double ratio = bytes / objects / head->period;
    if (head->version == 2)
        return 1 / (1 - exp(-ratio));
    return ratio < 1 ? 1 / ratio : 1;
}

static int64_t parts_of(double value)
{
    double parts = value * FRACTIONS;
    return parts >= 9e18 ? INT64_MAX : parts <= -9e18 ? INT64_MIN : llround(parts);
}

static void add(struct profile *to, const struct compat_words *words, const char *path,
                double factor)
{
    struct profile from;
    read_one(&from, words, path, NULL);
    if (!profile_merge(to, &from, factor))
        compat_out_of_memory();
    profile_free(&from);
}

/* --lib_prefix: the first of these folders that has a library under its path is where it is. */
static void move_libraries(struct profile *profile, const char *prefixes)
{
    for (uint32_t i = 1; i < profile->mappings.count && prefixes[0]; i++) {
        const char *path = profile_text(profile, profile_mapping_at(profile, i)->path);
        for (const char *at = prefixes; *at && path[0] == '/'; at += at[0] == ',') {
            size_t length = strcspn(at, ","), bare = length;
            char *moved;
            while (bare > 0 && at[bare - 1] == '/')
                bare--;
            if (asprintf(&moved, "%.*s%s", (int)bare, at, path) < 0)
                compat_out_of_memory();
            if (bare > 0 && access(moved, F_OK) == 0) {
                uint32_t text = profile_string_of(profile, moved);
                ((struct profile_mapping *)profile->mappings.items)[i].path = text;
                path = "";
            }
            free(moved);
            at += length;
        }
    }
}

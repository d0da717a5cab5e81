/* SPDX-License-Identifier: MIT */
/* Go's pprof: which profile, which report. */
#include "tool/compat_go.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "tool/load.h"

static const enum compat_option reports[] = {
    COMPAT_TEXT,  COMPAT_TOP,      COMPAT_TREE,      COMPAT_PEEK,        COMPAT_TRACES,
    COMPAT_TAGS,  COMPAT_RAW,      COMPAT_COMMENTS,  COMPAT_LIST,        COMPAT_WEBLIST,
    COMPAT_DOT,   COMPAT_SVG,      COMPAT_PDF,       COMPAT_PS,          COMPAT_PNG,
    COMPAT_GIF,   COMPAT_WEB,      COMPAT_GV,        COMPAT_EVINCE,      COMPAT_EOG,
    COMPAT_PROTO, COMPAT_TOPPROTO, COMPAT_CALLGRIND, COMPAT_KCACHEGRIND, COMPAT_DISASM};

static void read_one(struct profile *profile, const struct compat_words *words, const char *path)
{
    struct read_error error;
    struct read_options options = {0};
    char *fetched = compat_is_url(path) ? compat_fetch(words, path) : NULL;
    if (fetched)
        path = fetched;
    if (access(path, F_OK) != 0)
        compat_fail("%s: open %s: no such file or directory\nfailed to fetch any source profiles",
                    path, path);
    profile_start(profile);
    if (!profile_read_file(profile, path, &options, &error))
        compat_fail("%s: parsing profile: %s\nfailed to fetch any source profiles", path,
                    error.reason);
    free(fetched);
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
        struct profile_label labels[65];
        uint32_t set = profile->samples.label_sets[i], count = 0;
        const struct profile_label_set *range =
            (const struct profile_label_set *)profile->label_sets.items + set;
        for (; set > 0 && count < range->count && count < 64; count++)
            labels[count] =
                ((const struct profile_label *)profile->labels.items)[range->first + count];
        labels[count++] = (struct profile_label){.key = profile_string_of(profile, "pprof::base"),
                                                 .text = profile_string_of(profile, "true")};
        profile->samples.label_sets[i] = profile_label_set(profile, labels, count);
    }
}

static void subtract(struct profile *profile, const struct compat_words *words)
{
    struct profile base;
    if (words->bases_count == 0)
        return;
    read_one(&base, words, words->bases[0]);
    for (size_t i = 1; i < words->bases_count; i++) {
        struct profile more;
        read_one(&more, words, words->bases[i]);
        if (!profile_merge(&base, &more, 1))
            compat_fail("out of memory");
        profile_free(&more);
    }
    if (words->value[COMPAT_NORMALIZE].on)
        normalize(profile, &base);
    if (words->value[COMPAT_DIFF_BASE].on)
        mark_base(&base);
    if (!profile_merge(profile, &base, -1))
        compat_fail("out of memory");
    profile_free(&base);
}

/* gperftools' dumps without a count of all allocations have other names there. */
static void rename_types(struct profile *profile)
{
    if (profile->types != 2 || strcmp(profile->format, "gperftools heap") != 0)
        return;
    profile->type[0].name = profile_string_of(profile, "objects");
    profile->type[1].name = profile_string_of(profile, "space");
}

static void profiles_load(struct profile *profile, const struct compat_words *words,
                          const char **program)
{
    size_t first = 0;
    struct symbol_report report = {0};
    struct symbol_options options = {0};
    const char *mode = compat_text(words, COMPAT_SYMBOLIZE);
    if (words->operands_count == 0) {
        compat_help(words, stderr);
        compat_fail("no profile source specified");
    }
    *program = "";
    if (words->operands_count > 1 && !compat_is_url(words->operands[0]) &&
        (load_kind_of(words->operands[0]) == LOAD_PROGRAM ||
         access(words->operands[0], F_OK) != 0)) {
        *program = words->operands[0];
        first = 1;
    }
    read_one(profile, words, words->operands[first]);
    for (size_t i = first + 1; i < words->operands_count; i++) {
        struct profile more;
        read_one(&more, words, words->operands[i]);
        if (!profile_merge(profile, &more, 1))
            compat_fail("out of memory");
        profile_free(&more);
    }
    subtract(profile, words);
    rename_types(profile);
    compat_own(profile, *program);
    options.program = (*program)[0] ? *program : NULL;
    options.again = strstr(mode, "force") != NULL;
    options.no_inlines = strstr(mode, "fastlocal") != NULL;
    if (!strstr(mode, "none") && !symbol_resolve(profile, &options, &report))
        compat_fail("out of memory");
    symbol_report_free(&report);
    compat_fetch_names(words, profile);
    if (profile->failed)
        compat_fail("out of memory");
}

bool go_run(const struct compat_words *words, const struct profile *profile, const char *program,
            const struct go_settings *settings)
{
    struct go_profile go;
    if (settings->report == COMPAT_PROTO) {
        struct write_options options = {.type = profile->default_type};
        const struct writer *writer = write_find("pprof");
        return writer && writer->write(profile, &options, stdout);
    }
    go_profile_make(&go, words, profile, program, settings);
    bool done = go_report(&go, settings);
    go_profile_free(&go);
    return done;
}

/* Where a report goes that is a file and has no name: what Go's writes is profileNNN.svg. */
static void divert(const struct compat_words *words, enum compat_option report)
{
    static const struct {
        enum compat_option report;
        const char *ending;
    } files[] = {{COMPAT_SVG, "svg"},        {COMPAT_PDF, "pdf"},        {COMPAT_PS, "ps"},
                 {COMPAT_PNG, "png"},        {COMPAT_GIF, "gif"},        {COMPAT_PROTO, "pb.gz"},
                 {COMPAT_TOPPROTO, "pb.gz"}, {COMPAT_CALLGRIND, "grind"}};
    const char *name = compat_text(words, COMPAT_OUTPUT);
    char path[64] = "";
    for (size_t i = 0; i < COUNT_OF(files) && name[0] == '\0'; i++) {
        if (files[i].report != report || !isatty(STDOUT_FILENO))
            continue;
        for (unsigned k = 1; k < 10000; k++) {
            snprintf(path, sizeof path, "profile%03u.%s", k, files[i].ending);
            if (access(path, F_OK) != 0)
                break;
        }
    }
    if (name[0] == '\0')
        name = path;
    if (name[0] == '\0')
        return;
    fprintf(stderr, "Generating report in %s\n", name);
    if (!freopen(name, "we", stdout)) {
        perror(name);
        compat_end(1);
    }
}

void compat_go(char **arguments)
{
    struct compat_words words;
    struct profile profile;
    struct go_settings settings = {0};
    const char *program;
    unsigned given = 0;
    compat_parse(&words, COMPAT_GO, arguments);
    for (size_t i = 0; i < COUNT_OF(reports); i++)
        if (words.value[reports[i]].on) {
            settings.report = reports[i];
            settings.pattern = words.value[reports[i]].text;
            given++;
        }
    if (given > 1)
        compat_fail("must set at most one output format");
    if (words.value[COMPAT_HTTP].on) {
        if (given > 0)
            compat_fail("-http is not compatible with an output format on the command line");
        fputs("pages in a browser come with: memoir view PROFILE\n", stderr);
        compat_end(2);
    }
    profiles_load(&profile, &words, &program);
    if (given == 0)
        go_shell(&words, &profile, program);
    else {
        divert(&words, settings.report);
        if (!go_run(&words, &profile, program, &settings))
            compat_end(1);
    }
    profile_free(&profile);
    compat_end(0);
}

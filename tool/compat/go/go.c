/* SPDX-License-Identifier: MIT */
/*
 * Go's pprof: which profile, which report. The order of the checks and the words of the messages
 * are those of Go's command, since scripts read them: a wrong combination of options must fail here
 * as it fails there, before a profile is read.
 */
#include "tool/compat/go/go.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "tool/terminal/terminal.h"

static const enum compat_option reports[] = {
    COMPAT_TEXT,  COMPAT_TOP,      COMPAT_TREE,      COMPAT_PEEK,        COMPAT_TRACES,
    COMPAT_TAGS,  COMPAT_RAW,      COMPAT_COMMENTS,  COMPAT_LIST,        COMPAT_WEBLIST,
    COMPAT_DOT,   COMPAT_SVG,      COMPAT_PDF,       COMPAT_PS,          COMPAT_PNG,
    COMPAT_GIF,   COMPAT_WEB,      COMPAT_GV,        COMPAT_EVINCE,      COMPAT_EOG,
    COMPAT_PROTO, COMPAT_TOPPROTO, COMPAT_CALLGRIND, COMPAT_KCACHEGRIND, COMPAT_DISASM};

static void check(const struct compat_words *words, unsigned reports_given);
static void check_group(const struct compat_words *words, const enum compat_option *group,
                        size_t count);
static void divert(const struct compat_words *words, enum compat_option report);

bool go_run(const struct compat_words *words, const struct profile *profile, const char *program,
            const struct go_settings *settings)
{
    struct go_profile go;
    go_profile_make(&go, words, profile, program, settings);
    bool done = go_report(&go, settings);
    go_profile_free(&go);
    return done;
}

void go_start(char **arguments)
{
    struct compat_words words;
    struct profile profile;
    struct go_settings settings = {0};
    const char *program;
    unsigned given = 0;
    compat_parse(&words, COMPAT_GO, arguments);
    for (size_t i = 0; i < COUNT_OF(reports); i++) {
        const struct compat_value *value = &words.value[reports[i]];
        if (!value->on || (value->text && value->text[0] == '\0'))
            continue;
        settings.report = reports[i];
        settings.pattern = value->text;
        given++;
    }
    check(&words, given);
    if (compat_text(&words, COMPAT_HTTP)[0] != '\0') {
        size_t count = words.operands_count;
        fprintf(stderr,
                "-http is not served; a page for the browser: memoir report %s -o report.html\n",
                count > 0 ? words.operands[count - 1] : "PROFILE");
        compat_end(2);
    }
    go_fetch(&profile, &words, &program);
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

/* What can't be meant together. */
static void check(const struct compat_words *words, unsigned reports_given)
{
    static const enum compat_option grains[] = {COMPAT_FUNCTIONS, COMPAT_FILEFUNCTIONS,
                                                COMPAT_FILES, COMPAT_LINES, COMPAT_ADDRESSES};
    static const enum compat_option orders[] = {COMPAT_FLAT, COMPAT_CUM};
    const struct compat_value *value = words->value;
    bool http = compat_text(words, COMPAT_HTTP)[0] != '\0';
    bool base = compat_text(words, COMPAT_BASE)[0] != '\0';
    if (words->operands_count == 0) {
        compat_help(words, stderr);
        compat_fail("no profile source specified");
    }
    check_group(words, grains, COUNT_OF(grains));
    check_group(words, orders, COUNT_OF(orders));
    if (reports_given > 1)
        compat_fail("must set at most one output format");
    if (http && reports_given > 0)
        compat_fail("-http is not compatible with an output format on the command line");
    if (value[COMPAT_NO_BROWSER].on && !http)
        compat_fail("-no_browser only makes sense with -http");
    if (base && compat_text(words, COMPAT_DIFF_BASE)[0] != '\0')
        compat_fail("-base and -diff_base flags cannot both be specified");
    if (value[COMPAT_NORMALIZE].on && words->bases_count == 0)
        compat_fail("must have base profile to normalize by");
}

/* Words that exclude each other, in the order in which Go's names them. */
static void check_group(const struct compat_words *words, const enum compat_option *group,
                        size_t count)
{
    static const char *const names[COMPAT_OPTIONS] = {
        [COMPAT_FUNCTIONS] = "functions",
        [COMPAT_FILES] = "files",
        [COMPAT_FILEFUNCTIONS] = "filefunctions",
        [COMPAT_LINES] = "lines",
        [COMPAT_ADDRESSES] = "addresses",
        [COMPAT_FLAT] = "flat",
        [COMPAT_CUM] = "cum",
    };
    char text[128] = "";
    size_t given = 0, used = 0;
    for (size_t i = 0; i < count; i++)
        if (words->value[group[i]].on)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s",
                                     given++ > 0 ? " " : "", names[group[i]]);
    if (given > 1)
        compat_fail("conflicting options set: [%s]", text);
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
    FILE *file = output_open(name, false);
    if (!file || dup2(fileno(file), STDOUT_FILENO) < 0) {
        const char *reason = strerror(errno);
        compat_fail("open %s: %c%s", name, tolower((unsigned char)reason[0]), reason + 1);
    }
    fclose(file);
}

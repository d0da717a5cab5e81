/* SPDX-License-Identifier: MIT */
/*
 * See tool/compat/perl/perl.h: what each option of the Perl commands prints. Both commands, jeprof
 * and google-pprof, are one program with small differences; where they differ, the command's name
 * decides. Options that contradict each other are refused with the words of the original.
 */
#include "tool/compat/perl/perl.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"

static void check(struct compat_words *words);
static void show_threads(const struct compat_words *words);
static void show(const struct compat_words *words, const char *thread);
static void print(struct perl_stacks *stacks, const char *thread);
static void print_picture(const struct perl_stacks *stacks);

void perl_run(enum compat_command command, char **arguments)
{
    struct compat_words words;
    compat_parse(&words, command, arguments);
    if (words.value[COMPAT_VERSION].on) {
        printf("%s of memoir %s, which follows %s\n", words.name, MEMOIR_VERSION,
               command == COMPAT_JEPROF ? "jemalloc 5.3.0" : "gperftools 2.10");
        compat_end(0);
    }
    check(&words);
    if (words.value[COMPAT_SYMBOLS].on)
        perl_print_symbols(&words);
    else if (words.value[COMPAT_THREAD].on)
        show_threads(&words);
    else
        show(&words, NULL);
    free(words.operands);
    free(words.bases);
}

/* One output is asked for, one granularity, one column; else the text or the shell. */
static void check(struct compat_words *words)
{
    static const enum compat_option columns[] = {COMPAT_INUSE_SPACE, COMPAT_INUSE_OBJECTS,
                                                 COMPAT_ALLOC_SPACE, COMPAT_ALLOC_OBJECTS};
    static const enum compat_option grains[] = {COMPAT_FUNCTIONS, COMPAT_LINES, COMPAT_ADDRESSES,
                                                COMPAT_FILES};
    static const enum compat_option modes[] = {
        COMPAT_TEXT,    COMPAT_CALLGRIND, COMPAT_LIST,      COMPAT_DISASM,
        COMPAT_SYMBOLS, COMPAT_GV,        COMPAT_EVINCE,    COMPAT_WEB,
        COMPAT_DOT,     COMPAT_PS,        COMPAT_PDF,       COMPAT_SVG,
        COMPAT_GIF,     COMPAT_RAW,       COMPAT_COLLAPSED, COMPAT_INTERACTIVE};
    struct compat_value *value = words->value;
    unsigned given = 0;
    for (size_t i = 0; i < COUNT_OF(columns); i++)
        given += value[columns[i]].on;
    if (given > 1)
        compat_usage(words, "Specify at most on of --inuse/--alloc options");
    given = 0;
    for (size_t i = 0; i < COUNT_OF(grains); i++)
        given += value[grains[i]].on;
    if (given > 1)
        compat_usage(words, "Only specify one output granularity option");
    given = 0;
    for (size_t i = 0; i < COUNT_OF(modes); i++)
        given += value[modes[i]].on;
    if (given > 1)
        compat_usage(words, "Only specify one output mode");
    if (given == 0)
        value[isatty(STDOUT_FILENO) ? COMPAT_INTERACTIVE : COMPAT_TEXT].on = true;
}

/* --thread=N and --thread=*: a report for each. */
static void show_threads(const struct compat_words *words)
{
    const char *wanted = compat_text(words, COMPAT_THREAD);
    size_t count;
    if (words->operands_count == 0)
        compat_usage(words, "Did not specify program");
    const char *path = words->operands[words->operands_count - 1];
    uint64_t *threads = perl_threads(path, &count);
    size_t shown = 0;
    for (size_t i = 0; i < count; i++) {
        char text[24];
        snprintf(text, sizeof text, "%llu", (unsigned long long)threads[i]);
        if (strcmp(wanted, "*") != 0 && strcmp(wanted, text) != 0)
            continue;
        show(words, text);
        shown++;
    }
    if (shown == 0) {
        fprintf(stderr, count > 0 ? "there is no thread %s in %s; it has" : "no thread %s in %s",
                wanted, path);
        for (size_t i = 0; i < count; i++)
            fprintf(stderr, " %llu", (unsigned long long)threads[i]);
        fputc('\n', stderr);
    }
    free(threads);
}

static void show(const struct compat_words *words, const char *thread)
{
    struct perl_profile loaded;
    struct perl_stacks stacks;
    perl_load(&loaded, words, thread);
    perl_stacks_make(&stacks, &loaded, words);
    print(&stacks, thread);
    perl_stacks_free(&stacks);
    profile_free(&loaded.profile);
    free(loaded.values);
}

static void print(struct perl_stacks *stacks, const char *thread)
{
    const struct compat_words *words = stacks->words;
    const struct compat_value *value = words->value;
    char number[40];
    perl_stacks_filter(stacks, compat_text(words, COMPAT_FOCUS), true);
    perl_stacks_filter(stacks, compat_text(words, COMPAT_IGNORE), false);
    if (value[COMPAT_INTERACTIVE].on) {
        perl_shell(stacks);
    } else if (value[COMPAT_TEXT].on) {
        if (stacks->total != 0)
            printf("Total%s%s%s: %s %s\n", thread ? " (t" : "", thread ? thread : "",
                   thread ? ")" : "", perl_number(stacks, stacks->total, number),
                   perl_units(stacks));
        if (value[COMPAT_STACKS].on)
            perl_print_stacks(stacks);
        perl_print_text(stacks, value[COMPAT_CUM].on, perl_by(words), -1);
    } else if (value[COMPAT_RAW].on) {
        perl_print_raw(stacks);
    } else if (value[COMPAT_COLLAPSED].on) {
        perl_print_collapsed(stacks);
    } else if (value[COMPAT_CALLGRIND].on) {
        perl_print_callgrind(stacks, stdout);
    } else if (value[COMPAT_LIST].on) {
        perl_source(stacks, COMPAT_LIST, value[COMPAT_LIST].text);
    } else if (value[COMPAT_DISASM].on) {
        perl_source(stacks, COMPAT_DISASM, value[COMPAT_DISASM].text);
    } else {
        print_picture(stacks);
    }
}

static void print_picture(const struct perl_stacks *stacks)
{
    static const enum compat_option pictures[] = {COMPAT_GV,  COMPAT_EVINCE, COMPAT_WEB, COMPAT_PS,
                                                  COMPAT_PDF, COMPAT_SVG,    COMPAT_GIF};
    for (size_t i = 0; i < COUNT_OF(pictures); i++) {
        if (stacks->words->value[pictures[i]].on) {
            perl_picture(stacks, pictures[i]);
            return;
        }
    }
    if (!perl_print_dot(stacks, stdout))
        compat_end(1);
}

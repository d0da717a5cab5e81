/* SPDX-License-Identifier: MIT */
/* See tool/compat.h: which of the old commands it is, and what each option of Perl's prints. */
#include "tool/compat.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "tool/arguments.h"
#include "tool/commands.h"

void compat_end(int status)
{
    if (fflush(stdout) != 0 && status == 0) {
        if (errno != EPIPE) /* who closed it has seen enough */
            fprintf(stderr, "standard output can't be written: %s\n", strerror(errno));
        status = 1;
    }
    exit(status);
}

static jmp_buf *shell;

void compat_resume(jmp_buf *where)
{
    shell = where;
}

void compat_stop(void)
{
    if (shell)
        longjmp(*shell, 1);
    compat_end(1);
}

void compat_fail(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fputc('\n', stderr);
    compat_stop();
}

void *compat_room(void *old, size_t count, size_t size)
{
    void *room = reallocarray(old, count > 0 ? count : 1, size);
    if (!room)
        compat_fail("out of memory");
    return room;
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

static void print_picture(const struct compat_stacks *stacks)
{
    static const enum compat_option pictures[] = {COMPAT_GV,  COMPAT_EVINCE, COMPAT_WEB, COMPAT_PS,
                                                  COMPAT_PDF, COMPAT_SVG,    COMPAT_GIF};
    for (size_t i = 0; i < COUNT_OF(pictures); i++) {
        if (stacks->words->value[pictures[i]].on) {
            compat_picture(stacks, pictures[i]);
            return;
        }
    }
    if (!compat_print_dot(stacks, stdout))
        compat_end(1);
}

static void print(struct compat_stacks *stacks, const char *thread)
{
    const struct compat_words *words = stacks->words;
    const struct compat_value *value = words->value;
    char number[40];
    compat_stacks_filter(stacks, compat_text(words, COMPAT_FOCUS), true);
    compat_stacks_filter(stacks, compat_text(words, COMPAT_IGNORE), false);
    if (value[COMPAT_INTERACTIVE].on) {
        compat_shell(stacks);
    } else if (value[COMPAT_TEXT].on) {
        if (stacks->total != 0)
            printf("Total%s%s%s: %s %s\n", thread ? " (t" : "", thread ? thread : "",
                   thread ? ")" : "", compat_number(stacks, stacks->total, number),
                   compat_units(stacks));
        if (value[COMPAT_STACKS].on)
            compat_print_stacks(stacks);
        compat_print_text(stacks, value[COMPAT_CUM].on, compat_by(words), -1);
    } else if (value[COMPAT_RAW].on) {
        compat_print_raw(stacks);
    } else if (value[COMPAT_COLLAPSED].on) {
        compat_print_collapsed(stacks);
    } else if (value[COMPAT_CALLGRIND].on) {
        compat_print_callgrind(stacks, stdout);
    } else if (value[COMPAT_LIST].on) {
        compat_source(stacks, COMPAT_LIST, value[COMPAT_LIST].text);
    } else if (value[COMPAT_DISASM].on) {
        compat_source(stacks, COMPAT_DISASM, value[COMPAT_DISASM].text);
    } else {
        print_picture(stacks);
    }
}

static void show(const struct compat_words *words, const char *thread)
{
    struct compat_profile loaded;
    struct compat_stacks stacks;
    compat_load(&loaded, words, thread);
    compat_stacks_make(&stacks, &loaded, words);
    print(&stacks, thread);
    compat_stacks_free(&stacks);
    profile_free(&loaded.profile);
    free(loaded.values);
}

/* --thread=N and --thread=*: a report for each. */
static void show_threads(const struct compat_words *words)
{
    const char *wanted = compat_text(words, COMPAT_THREAD);
    size_t count;
    if (words->operands_count == 0)
        compat_usage(words, "Did not specify program");
    const char *path = words->operands[words->operands_count - 1];
    uint64_t *threads = compat_threads(path, &count);
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

static void perl(enum compat_command command, char **arguments)
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
        compat_print_symbols(&words);
    else if (words.value[COMPAT_THREAD].on)
        show_threads(&words);
    else
        show(&words, NULL);
    free(words.operands);
    free(words.bases);
}

/* Whether a word is a file in Go's own format, which Perl's never could read: protobuf, in gzip or
 * bare. */
static bool has_go_profile(char **arguments)
{
    for (; *arguments; arguments++) {
        unsigned char start[2] = {0};
        FILE *file = (*arguments)[0] == '-' ? NULL : fopen(*arguments, "rbe");
        size_t got = file ? fread(start, 1, sizeof start, file) : 0;
        if (file)
            fclose(file);
        if (got == sizeof start && ((start[0] == 0x1f && start[1] == 0x8b) ||
                                    (start[0] == 0x0a && start[1] > 0 && start[1] < 16)))
            return true;
    }
    return false;
}

bool compat_jeprof(const struct arguments *arguments, struct error *error)
{
    (void)error;
    perl(COMPAT_JEPROF, arguments->operands);
    return true;
}

bool compat_google(const struct arguments *arguments, struct error *error)
{
    (void)error;
    perl(COMPAT_GOOGLE, arguments->operands);
    return true;
}

bool compat_pprof(const struct arguments *arguments, struct error *error)
{
    (void)error;
    if (compat_is_go(arguments->operands) || has_go_profile(arguments->operands))
        compat_go(arguments->operands);
    perl(COMPAT_GOOGLE, arguments->operands);
    return true;
}

/* SPDX-License-Identifier: MIT */
/*
 * The shell of the Perl commands. A command is recognised by how the line begins, as in the
 * original: `topper` is `top`. Words behind it narrow the profile for this line only, those with a
 * minus leave stacks out. A line that is wrong ends, the shell goes on.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/compat/perl/perl.h"
#include "tool/terminal/terminal.h"

/* What follows a command: words to look for, words to leave out, and two options. */
struct words {
    char focus[1000], ignore[1000];
    bool lines, cum;
};

static void help(const char *name);
static void run_line(const struct perl_stacks *stacks, char *line);
static void run(const struct perl_stacks *all, char *line);
static void run_source(const struct perl_stacks *all, enum compat_option how, char *rest);
static void take_words(struct words *words, char *text);
static void append(char *list, size_t size, const char *word);
static struct perl_stacks process(const struct perl_stacks *all, const struct words *words,
                                  bool focus, FILE *out);
static void narrow(struct perl_stacks *stacks, const char *pattern, bool keep, FILE *out);
static void run_picture(const struct perl_stacks *all, enum compat_option how, char *rest);
static char *after(char *line, const char *name);
static void run_top(const struct perl_stacks *all, char *rest);
static void run_callgrind(const struct perl_stacks *all, char *rest);

void perl_shell(const struct perl_stacks *stacks)
{
    const char *name = stacks->words->name;
    char prompt[20];
    char *text;
    snprintf(prompt, sizeof prompt, "(%s) ", name);
    fprintf(stderr, "Welcome to %s!  For help, type 'help'.\n", name);
    while ((text = compat_line(prompt, stderr))) {
        char *line = text + strspn(text, " \t");
        bool quit = strncmp(line, "quit", 4) == 0;
        if (strncmp(line, "help", 4) == 0)
            help(name);
        else if (!quit)
            run_line(stacks, line);
        free(text);
        if (quit)
            return;
    }
    fputc('\n', stderr);
}

static void help(const char *name)
{
    fprintf(stderr,
            "Commands of this shell, as in the old %s:\n"
            "  top[N], text[N] [--cum] [--lines] [-ignore]...   the N (10) largest\n"
            "  list, weblist, disasm REGEXP [-ignore]...        source or machine code\n"
            "  gv, web, evince [focus]... [-ignore]...          the graph of calls, in a viewer\n"
            "  dot, ps, pdf, svg, gif [focus]... > FILE         the same into a file\n"
            "  callgrind [FILE]                                 a file for kcachegrind\n"
            "  help, quit (or ^D)\n"
            "Words are regular expressions that any frame of a stack may fit. Behind a command,\n"
            "> FILE and | COMMAND take its output.\n",
            name);
}

/* A line; what is wrong with it ends it, not the shell. */
static void run_line(const struct perl_stacks *stacks, char *line)
{
    static struct compat_divert divert;
    jmp_buf again;
    if (!compat_divert(&divert, line, false))
        return;
    compat_resume(&again);
    if (setjmp(again) == 0)
        run(stacks, line);
    compat_resume(NULL);
    compat_divert_end(&divert);
}

static void run(const struct perl_stacks *all, char *line)
{
    static const struct {
        const char *name;
        enum compat_option how;
        void (*run)(const struct perl_stacks *all, enum compat_option how, char *rest);
    } commands[] = {{"list", COMPAT_LIST, run_source},     {"weblist", COMPAT_WEBLIST, run_source},
                    {"disasm", COMPAT_DISASM, run_source}, {"gv", COMPAT_GV, run_picture},
                    {"web", COMPAT_WEB, run_picture},      {"evince", COMPAT_EVINCE, run_picture},
                    {"gif", COMPAT_GIF, run_picture},      {"svg", COMPAT_SVG, run_picture},
                    {"pdf", COMPAT_PDF, run_picture},      {"ps", COMPAT_PS, run_picture},
                    {"dot", COMPAT_DOT, run_picture}};
    char *rest;
    if ((rest = after(line, "text")) || (rest = after(line, "top"))) {
        run_top(all, rest);
        return;
    }
    if ((rest = after(line, "callgrind"))) {
        run_callgrind(all, rest);
        return;
    }
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        rest = after(line, commands[i].name);
        if (rest && (commands[i].run != run_source || *rest)) {
            commands[i].run(all, commands[i].how, rest);
            return;
        }
    }
    if (*line)
        fputs("Unknown command: try 'help'.\n", stderr);
}

static void run_source(const struct perl_stacks *all, enum compat_option how, char *rest)
{
    struct words words;
    take_words(&words, rest);
    struct perl_stacks stacks =
        process(all, &words, false, how == COMPAT_WEBLIST ? stderr : stdout);
    perl_source(&stacks, how, words.focus);
    free(stacks.stacks);
}

static void take_words(struct words *words, char *text)
{
    char *next = NULL;
    *words = (struct words){0};
    for (char *word = strtok_r(text, " \t", &next); word; word = strtok_r(NULL, " \t", &next)) {
        const char *name = word + (word[0] == '-') + (word[0] == '-' && word[1] == '-');
        if (word[0] == '-' && strcmp(name, "lines") == 0)
            words->lines = true;
        else if (word[0] == '-' && strcmp(name, "cum") == 0)
            words->cum = true;
        else if (word[0] == '-')
            append(words->ignore, sizeof words->ignore, word + 1);
        else
            append(words->focus, sizeof words->focus, word);
    }
    if (words->ignore[0])
        fprintf(stderr, "Ignoring samples in call stacks that match '%s'\n", words->ignore);
}

static void append(char *list, size_t size, const char *word)
{
    size_t used = strlen(list);
    snprintf(list + used, size - used, "%s%s", used > 0 ? "|" : "", word);
}

/* The total, and what is left of it; `focus` is for the commands that use it so. */
static struct perl_stacks process(const struct perl_stacks *all, const struct words *words,
                                  bool focus, FILE *out)
{
    char total[40];
    struct perl_stacks stacks = perl_stacks_copy(all);
    fprintf(out, "Total: %s %s\n", perl_number(all, all->total, total), perl_units(all));
    narrow(&stacks, focus ? words->focus : "", true, out);
    narrow(&stacks, words->ignore, false, out);
    return stacks;
}

static void narrow(struct perl_stacks *stacks, const char *pattern, bool keep, FILE *out)
{
    char sum[40], total[40];
    if (pattern[0] == '\0')
        return;
    perl_stacks_filter(stacks, pattern, keep);
    double left = perl_stacks_sum(stacks);
    fprintf(out, "After %s '%s': %s %s of %s (%0.1f%%)\n", keep ? "focusing on" : "ignoring",
            pattern, perl_number(stacks, left, sum), perl_units(stacks),
            perl_number(stacks, stacks->total, total),
            stacks->total != 0 ? left * 100 / stacks->total : 0);
}

static void run_picture(const struct perl_stacks *all, enum compat_option how, char *rest)
{
    struct words words;
    if (how != COMPAT_GV && how != COMPAT_WEB && how != COMPAT_EVINCE && isatty(STDOUT_FILENO)) {
        fputs("a picture goes to a file: > FILE behind the command\n", stderr);
        return;
    }
    take_words(&words, rest); /* where the picture is what is printed, nothing else is */
    struct perl_stacks stacks = process(all, &words, true, isatty(STDOUT_FILENO) ? stdout : stderr);
    if (how == COMPAT_DOT)
        perl_print_dot(&stacks, stdout);
    else
        perl_picture(&stacks, how);
    free(stacks.stacks);
}

/* The text behind a command of that name, or NULL. Perl's look at how the line begins. */
static char *after(char *line, const char *name)
{
    size_t length = strlen(name);
    return strncmp(line, name, length) == 0 ? line + length + strspn(line + length, " \t") : NULL;
}

static void run_top(const struct perl_stacks *all, char *rest)
{
    char *end = rest + strspn(rest, " \t");
    struct words words;
    long rows = isdigit((unsigned char)*end) ? strtol(end, &end, 10) : 10;
    take_words(&words, end);
    struct perl_stacks stacks = process(all, &words, false, stdout);
    enum perl_by by = words.lines ? PERL_BY_LINE : perl_by(all->words);
    perl_print_text(&stacks, words.cum, by, rows > 0 ? (int)rows : 1);
    free(stacks.stacks);
}

static void run_callgrind(const struct perl_stacks *all, char *rest)
{
    char path[64] = "/tmp/memoir-callgrind.XXXXXX";
    rest[strcspn(rest, " \t")] = '\0';
    int handle = rest[0] ? -1 : mkstemp(path);
    const char *name = rest[0] ? rest : path;
    FILE *file = handle >= 0 ? fdopen(handle, "w") : output_open(name, false);
    fprintf(stderr, "Writing callgrind file to '%s'.\n", name);
    if (!file) {
        perror(name);
        return;
    }
    perl_print_callgrind(all, file);
    fclose(file);
    if (!rest[0])
        compat_open(all->words, "kcachegrind", name);
}

/* SPDX-License-Identifier: MIT */
/*
 * The shell of the Perl commands, and what Go's shares with it: lines with history where there is a
 * terminal and libedit, output into a file or a command.
 */
#include "tool/compat.h"
#include "tool/output.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* libedit's, looked for once. */
struct editor {
    bool looked;
    char *(*read)(const char *prompt);
    int (*keep)(const char *line);
};

static void editor_open(struct editor *editor)
{
    editor->looked = true;
    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
        return;
    void *library = dlopen("libedit.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return;
    *(void **)&editor->read = dlsym(library, "readline");
    *(void **)&editor->keep = dlsym(library, "add_history");
    if (!editor->keep)
        editor->read = NULL;
}

char *compat_line(const char *prompt, FILE *out)
{
    static struct editor editor;
    char *line = NULL;
    size_t room = 0;
    fflush(stdout);
    if (!editor.looked)
        editor_open(&editor);
    if (editor.read) {
        line = editor.read(prompt);
        if (line && line[strspn(line, " \t")] != '\0')
            editor.keep(line);
        return line;
    }
    fputs(prompt, out);
    fflush(out);
    ssize_t length = getline(&line, &room, stdin);
    if (length < 0) {
        free(line);
        return NULL;
    }
    size_t kept = 0;
    for (ssize_t i = 0; i < length; i++)
        if (line[i] != '\r' && line[i] != '\n')
            line[kept++] = line[i];
    line[kept] = '\0';
    return line;
}

bool compat_divert(struct compat_divert *divert, char *line, bool tell)
{
    *divert = (struct compat_divert){.kept = -1};
    char *at = line;
    while (*at && !((*at == '>' || *at == '|') && at > line && isspace((unsigned char)at[-1])))
        at++;
    if (*at == '\0')
        return true;
    bool command = *at == '|';
    *at++ = '\0';
    at += strspn(at, " \t");
    at[strcspn(at, command ? "" : " \t")] = '\0';
    if (*at == '\0') {
        fputs("there is nothing behind > or |\n", stderr);
        return false;
    }
    fflush(stdout);
    if (tell && !command)
        fprintf(stderr, "Generating report in %s\n", at);
    divert->file = command ? popen(at, "we") : output_open(at, false);
    divert->command = command;
    if (!divert->file) {
        const char *reason = strerror(errno);
        if (tell) /* as Go says it */
            fprintf(stderr, "open %s: %c%s\n", at, tolower((unsigned char)reason[0]), reason + 1);
        else
            fprintf(stderr, "%s: %s\n", at, reason);
        return false;
    }
    divert->kept = dup(STDOUT_FILENO);
    dup2(fileno(divert->file), STDOUT_FILENO);
    return true;
}

void compat_divert_end(struct compat_divert *divert)
{
    fflush(stdout);
    if (!divert->file)
        return;
    dup2(divert->kept, STDOUT_FILENO);
    close(divert->kept);
    if (divert->command)
        pclose(divert->file);
    else
        fclose(divert->file);
}

/* What follows a command: words to look for, words to leave out, and two options. */
struct words {
    char focus[1000], ignore[1000];
    bool lines, cum;
};

static void append(char *list, size_t size, const char *word)
{
    size_t used = strlen(list);
    snprintf(list + used, size - used, "%s%s", used > 0 ? "|" : "", word);
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

static void narrow(struct compat_stacks *stacks, const char *pattern, bool keep, FILE *out)
{
    char sum[40], total[40];
    if (pattern[0] == '\0')
        return;
    compat_stacks_filter(stacks, pattern, keep);
    double left = compat_stacks_sum(stacks);
    fprintf(out, "After %s '%s': %s %s of %s (%0.1f%%)\n", keep ? "focusing on" : "ignoring",
            pattern, compat_number(stacks, left, sum), compat_units(stacks),
            compat_number(stacks, stacks->total, total),
            stacks->total != 0 ? left * 100 / stacks->total : 0);
}

/* The total, and what is left of it; `focus` is for the commands that use it so. */
static struct compat_stacks process(const struct compat_stacks *all, const struct words *words,
                                    bool focus, FILE *out)
{
    char total[40];
    struct compat_stacks stacks = compat_stacks_copy(all);
    fprintf(out, "Total: %s %s\n", compat_number(all, all->total, total), compat_units(all));
    narrow(&stacks, focus ? words->focus : "", true, out);
    narrow(&stacks, words->ignore, false, out);
    return stacks;
}

static void run_top(const struct compat_stacks *all, char *rest)
{
    char *end = rest + strspn(rest, " \t");
    struct words words;
    long rows = isdigit((unsigned char)*end) ? strtol(end, &end, 10) : 10;
    take_words(&words, end);
    struct compat_stacks stacks = process(all, &words, false, stdout);
    enum compat_by by = words.lines ? COMPAT_BY_LINE : compat_by(all->words);
    compat_print_text(&stacks, words.cum, by, rows > 0 ? (int)rows : 1);
    free(stacks.stacks);
}

static void run_callgrind(const struct compat_stacks *all, char *rest)
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
    compat_print_callgrind(all, file);
    fclose(file);
    if (!rest[0])
        compat_open(all->words, "kcachegrind", name);
}

static void run_picture(const struct compat_stacks *all, enum compat_option how, char *rest)
{
    struct words words;
    if (how != COMPAT_GV && how != COMPAT_WEB && how != COMPAT_EVINCE && isatty(STDOUT_FILENO)) {
        fputs("a picture goes to a file: > FILE behind the command\n", stderr);
        return;
    }
    take_words(&words, rest); /* where the picture is what is printed, nothing else is */
    struct compat_stacks stacks =
        process(all, &words, true, isatty(STDOUT_FILENO) ? stdout : stderr);
    if (how == COMPAT_DOT)
        compat_print_dot(&stacks, stdout);
    else
        compat_picture(&stacks, how);
    free(stacks.stacks);
}

static void run_source(const struct compat_stacks *all, enum compat_option how, char *rest)
{
    struct words words;
    take_words(&words, rest);
    struct compat_stacks stacks =
        process(all, &words, false, how == COMPAT_WEBLIST ? stderr : stdout);
    compat_source(&stacks, how, words.focus);
    free(stacks.stacks);
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

/* The text behind a command of that name, or NULL. Perl's look at how the line begins. */
static char *after(char *line, const char *name)
{
    size_t length = strlen(name);
    return strncmp(line, name, length) == 0 ? line + length + strspn(line + length, " \t") : NULL;
}

static void run(const struct compat_stacks *all, char *line)
{
    static const struct {
        const char *name;
        enum compat_option how;
        void (*run)(const struct compat_stacks *all, enum compat_option how, char *rest);
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

/* A line; what is wrong with it ends it, not the shell. */
static void run_line(const struct compat_stacks *stacks, char *line)
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

void compat_shell(const struct compat_stacks *stacks)
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

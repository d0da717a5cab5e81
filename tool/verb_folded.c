/* SPDX-License-Identifier: MIT */
/*
 * `memoir flamegraph.pl` and `memoir difffolded.pl`: the command lines of the scripts that guides
 * pipe folded stacks through. The first draws with `memoir export`; the second joins two files of
 * stacks into one with two numbers a line, which the first draws as a difference.
 *
 * Some guides give them what `jeprof --text` prints. That has no stacks, only functions: each
 * becomes a stack of one frame, and a line says how to get the whole graph.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/compiler.h"
#include "tool/command/command.h"
#include "tool/memory/memory.h"
#include "tool/terminal/terminal.h"

struct stack {
    char *frames;
    double values[2]; /* before and after */
};

/* Stacks of one or several files. */
struct stacks {
    struct list list;
    double totals[2];
    char *texts[2]; /* what `frames` point into */
    bool table;     /* some came from a table */
};

struct drawing {
    const char *title, *width;
    bool inverted, reversed, negated;
    double factor;
};

static bool drawing_read(struct drawing *drawing, char ***words, struct error *error);
static char *text_whole(const char *path, struct error *error);
static bool stacks_add(struct stacks *stacks, char *text, unsigned column, bool keep_hex,
                       struct error *error);
static void stacks_join(struct stacks *stacks);
static void stacks_free(struct stacks *stacks);
static bool draw(const struct drawing *drawing, struct stacks *stacks, struct error *error);
static struct stack *stack_at(const struct stacks *stacks, size_t i);

bool verb_flamegraph(const struct arguments *arguments, struct error *error)
{
    struct drawing drawing = {.title = "Flame Graph", .factor = 1};
    struct stacks stacks = {0};
    char **words = arguments->operands;
    if (!drawing_read(&drawing, &words, error))
        return false;
    const char *path = words[0] ? words[0] : "-";
    if (words[0] && words[1]) {
        error_set(error, ERROR_USAGE, "'%s': one file of stacks, or none for standard input",
                  words[1]);
        return error_hint(error, "cat A B | memoir flamegraph.pl > flame.svg");
    }
    stacks.texts[0] = text_whole(path, error);
    bool done = stacks.texts[0] && stacks_add(&stacks, stacks.texts[0], 1, true, error);
    if (done && stacks.list.count == 0) {
        done = error_set(error, ERROR_INPUT, "%s: no stack counts found",
                         strcmp(path, "-") == 0 ? "standard input" : path);
        error_hint(error, "lines must look like main;work;read 123: jeprof --collapsed prints "
                          "them; or memoir export x.heap -o flame.svg");
    }
    if (done && stacks.table)
        terminal_warn("this table has no stacks, so the graph has one level; memoir export x.heap "
                      "-o flame.svg draws all of them");
    done = done && draw(&drawing, &stacks, error);
    stacks_free(&stacks);
    return done;
}

bool verb_difffolded(const struct arguments *arguments, struct error *error)
{
    struct stacks stacks = {0};
    bool same_total = false, no_hex = false, done = true;
    char **words = arguments->operands;
    for (; *words && (*words)[0] == '-' && (*words)[1] != '\0'; words++)
        for (const char *letter = *words + 1; *letter; letter++) {
            same_total |= *letter == 'n';
            no_hex |= *letter == 's';
            done &= *letter == 'n' || *letter == 's';
        }
    if (!done || !words[0] || !words[1] || words[2]) {
        error_set(error, ERROR_USAGE, "two files of folded stacks are needed, after -n or -s");
        return error_hint(error, "memoir difffolded.pl [-n] [-s] before.folded after.folded");
    }
    for (unsigned i = 0; i < 2 && done; i++) {
        stacks.texts[i] = text_whole(words[i], error);
        done = stacks.texts[i] && stacks_add(&stacks, stacks.texts[i], i, !no_hex, error);
    }
    if (done && stacks.table)
        terminal_warn("a table of jeprof has no stacks, only functions; memoir export after.heap "
                      "--base before.heap -o diff.svg draws the difference of all stacks");
    if (done)
        stacks_join(&stacks);
    double scale = 1;
    if (same_total && stacks.totals[0] > 0)
        scale = stacks.totals[1] / stacks.totals[0];
    for (size_t i = 0; done && i < stacks.list.count; i++) {
        const struct stack *stack = stack_at(&stacks, i);
        printf("%s %.0f %.0f\n", stack->frames, floor(stack->values[0] * scale), stack->values[1]);
    }
    stacks_free(&stacks);
    return done;
}

static struct stack *stack_at(const struct stacks *stacks, size_t i)
{
    return (struct stack *)stacks->list.items + i;
}

/* Options of the script that have an effect here; others set colours, fonts and labels, and are
 * accepted. */
static bool drawing_take(struct drawing *drawing, const char *name, const char *value)
{
    if (strcmp(name, "title") == 0)
        drawing->title = value;
    else if (strcmp(name, "width") == 0)
        drawing->width = value;
    else if (strcmp(name, "factor") == 0)
        drawing->factor = strtod(value, NULL);
    else
        return false;
    return true;
}

static bool drawing_switch(struct drawing *drawing, const char *name)
{
    static const char *const others[] = {"hash", "random", "cp", "flamechart"};
    if (strcmp(name, "inverted") == 0 || strcmp(name, "i") == 0)
        drawing->inverted = true;
    else if (strcmp(name, "reverse") == 0)
        drawing->reversed = true;
    else if (strcmp(name, "negate") == 0)
        drawing->negated = true;
    else
        for (size_t i = 0; i < COUNT_OF(others); i++)
            if (strcmp(name, others[i]) == 0)
                return true;
    return drawing->inverted || drawing->reversed || drawing->negated;
}

/* Moves *words behind the options. */
static bool drawing_read(struct drawing *drawing, char ***words, struct error *error)
{
    static const char *const others[] = {"subtitle", "height",    "minwidth", "fonttype",
                                         "fontsize", "colors",    "color",    "countname",
                                         "nametype", "bgcolors",  "notes",    "total",
                                         "encoding", "fontwidth", "nameattr"};
    for (; **words && (**words)[0] == '-' && (**words)[1] != '\0'; ++*words) {
        char name[32];
        const char *word = **words + ((**words)[1] == '-' ? 2 : 1), *value = strchr(word, '=');
        snprintf(name, sizeof name, "%.*s", value ? (int)(value - word) : 31, word);
        struct drawing one = {0};
        if (!value && drawing_switch(&one, name)) {
            drawing->inverted |= one.inverted;
            drawing->reversed |= one.reversed;
            drawing->negated |= one.negated;
            continue;
        }
        value = value ? value + 1 : (*words)[1] ? *++*words : NULL;
        bool known = value && drawing_take(drawing, name, value);
        for (size_t i = 0; value && !known && i < COUNT_OF(others); i++)
            known = strcmp(name, others[i]) == 0;
        if (!known) {
            error_set(error, ERROR_USAGE, "flamegraph.pl has no option --%s%s", name,
                      value ? "" : " without a value");
            return error_hint(error, "memoir help flamegraph.pl");
        }
    }
    return true;
}

/* Standard input for "-". Ends in 0, to be freed. */
static char *text_whole(const char *path, struct error *error)
{
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    char *text = NULL;
    size_t room = 0, length = 0, got = 1;
    while (file && got > 0 && list_reserve(&text, &room, length + BUFSIZ + 1, 1)) {
        got = fread(text + length, 1, BUFSIZ, file);
        length += got;
    }
    bool whole = file && got == 0 && !ferror(file);
    if (whole)
        text[length] = '\0';
    else if (!file || ferror(file))
        error_set(error, ERROR_INPUT, "%s can't be read: %s", path, strerror(errno));
    else
        error_memory(error);
    if (file && file != stdin)
        fclose(file);
    if (!whole)
        free(text);
    return whole ? text : NULL;
}

/* A row of `jeprof --text`: own bytes, percent, percent, bytes with callees, percent, function. */
static bool take_row(char *line, struct stack *stack, double *value)
{
    char *at = line;
    for (unsigned column = 0; column < 5; column++) {
        char *end = at;
        double number = strtod(at, &end);
        bool percent = column == 1 || column == 2 || column == 4;
        if (end == at || (*end == '%') != percent || !isspace((unsigned char)end[percent]))
            return false;
        if (column == 0)
            *value = number;
        at = end + percent;
    }
    stack->frames = at + strspn(at, " \t");
    for (char *mark = stack->frames; (mark = strchr(mark, ';')) != NULL;)
        *mark = ':';
    return stack->frames[0] != '\0';
}

/* A number at the end of the line, which is cut off. */
static bool take_number(char *line, double *value)
{
    char *end = line + strlen(line);
    while (end > line && isspace((unsigned char)end[-1]))
        *--end = '\0';
    char *start = end;
    while (start > line && (isdigit((unsigned char)start[-1]) || start[-1] == '.'))
        start--;
    if (start == end || start == line || !isspace((unsigned char)start[-1]))
        return false;
    *value = strtod(start, NULL);
    while (start > line && isspace((unsigned char)start[-1]))
        start--;
    *start = '\0';
    return start > line;
}

/* Digits of an address become dots, in their place. */
static void hex_hide(char *frames)
{
    char *to = frames;
    for (const char *from = frames; *from;) {
        bool address = from[0] == '0' && from[1] == 'x' && isxdigit((unsigned char)from[2]);
        if (!address) {
            *to++ = *from++;
            continue;
        }
        memmove(to, "0x", 2);
        for (to += 2, from += 2; isxdigit((unsigned char)*from); from++)
            ;
        if (to + 3 <= from) {
            memcpy(to, "...", 3);
            to += 3;
        }
    }
    *to = '\0';
}

/* The lines of a file, as numbers of that column; a line with two of them has both. Values of a
 * table in megabytes become bytes. */
static bool stacks_add(struct stacks *stacks, char *text, unsigned column, bool keep_hex,
                       struct error *error)
{
    double unit = 1;
    for (char *line = text, *next; line; line = next) {
        struct stack stack = {.frames = line};
        double value = 0;
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        if (strncmp(line, "Total: ", 7) == 0 && strstr(line, " MB"))
            unit = 1 << 20;
        bool row = take_row(line, &stack, &value);
        if (!row && (line[0] == '#' || !take_number(line, &value)))
            continue;
        stacks->table |= row;
        stack.values[column] = row ? fmax(0, value * unit) : value;
        if (!row && column == 1)
            take_number(line, &stack.values[0]);
        if (!keep_hex)
            hex_hide(stack.frames);
        stacks->totals[0] += stack.values[0];
        stacks->totals[1] += stack.values[1];
        if (!list_append(&stacks->list, sizeof stack, &stack, 1))
            return error_memory(error);
    }
    return true;
}

static int by_frames(const void *one, const void *other)
{
    return strcmp(((const struct stack *)one)->frames, ((const struct stack *)other)->frames);
}

/* Equal stacks become one. */
static void stacks_join(struct stacks *stacks)
{
    size_t kept = 0;
    if (stacks->list.count == 0)
        return;
    qsort(stacks->list.items, stacks->list.count, sizeof(struct stack), by_frames);
    for (size_t i = 1; i < stacks->list.count; i++) {
        const struct stack *stack = stack_at(stacks, i);
        struct stack *last = stack_at(stacks, kept);
        if (strcmp(stack->frames, last->frames) == 0) {
            last->values[0] += stack->values[0];
            last->values[1] += stack->values[1];
        } else {
            *stack_at(stacks, ++kept) = *stack;
        }
    }
    stacks->list.count = kept + 1;
}

static void stacks_free(struct stacks *stacks)
{
    list_free(&stacks->list);
    free(stacks->texts[0]);
    free(stacks->texts[1]);
}

/* One column of the stacks as a file in memory, which `path` leads to. */
static FILE *stacks_file(const struct stacks *stacks, unsigned column, double factor, char path[40])
{
    int memory = memfd_create("stacks.folded", MFD_CLOEXEC);
    FILE *file = memory < 0 ? NULL : fdopen(memory, "w");
    for (size_t i = 0; file && i < stacks->list.count; i++)
        fprintf(file, "%s %.0f\n", stack_at(stacks, i)->frames,
                stack_at(stacks, i)->values[column] * factor);
    if (!file || fflush(file) != 0)
        return NULL;
    snprintf(path, 40, "/proc/self/fd/%d", memory);
    return file;
}

/* By `memoir export`. */
static bool draw(const struct drawing *drawing, struct stacks *stacks, struct error *error)
{
    char paths[2][40];
    bool difference = stacks->totals[0] > 0;
    unsigned after = difference && drawing->negated ? 0 : 1;
    FILE *files[2] = {stacks_file(stacks, !after, drawing->factor, paths[0]),
                      stacks_file(stacks, after, drawing->factor, paths[1])};
    const struct {
        bool given;
        enum flag_id flag;
        const char *value;
    } flags[] = {{true, FLAG_PICTURE, "flame"},
                 {true, FLAG_OUTPUT, "-"},
                 {true, FLAG_TITLE, drawing->title},
                 {difference, FLAG_BASE, paths[0]},
                 {drawing->width, FLAG_WIDTH, drawing->width},
                 {drawing->inverted, FLAG_INVERTED, NULL},
                 {drawing->reversed, FLAG_REVERSED, NULL}};
    char *words[2 + 2 * COUNT_OF(flags)] = {paths[1]};
    size_t count = 1;
    for (size_t i = 0; i < COUNT_OF(flags); i++) {
        if (flags[i].given)
            words[count++] = (char *)commands_flag_name(flags[i].flag);
        if (flags[i].given && flags[i].value)
            words[count++] = (char *)flags[i].value;
    }
    struct arguments arguments = {0};
    const struct command *export = &commands[COMMAND_EXPORT];
    bool done = files[0] && files[1];
    if (!done)
        error_set(error, ERROR_INPUT, "can't create a file in memory: %s", strerror(errno));
    done =
        done && arguments_parse(&arguments, export, words, error) && export->run(&arguments, error);
    arguments_free(&arguments);
    for (unsigned i = 0; i < 2; i++)
        if (files[i])
            fclose(files[i]);
    return done;
}

/* SPDX-License-Identifier: MIT */
/*
 * Their command lines. Perl's are Getopt::Long's: options anywhere, one dash or two, names in any
 * case and as short as they are clear, `--no` before a switch. Go's are its flag package's: one
 * dash or two, -switch=false; it stops at the first operand, which we do not.
 */
#include "tool/compat/compat.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/compiler.h"

struct option {
    const char *name;
    char kind;
    const char *commands;
};

static const struct option options[COMPAT_OPTIONS] = {
#define OPTION(id, name, kind, commands) {name, kind, commands},
#include "tool/compat/compat_options.def"
#undef OPTION
};

static void start(struct compat_words *words, enum compat_command command, size_t count);
static bool take(struct compat_words *words, char ***at);
static int find(enum compat_command command, const char *name, size_t length, bool *off);
static size_t matches(enum compat_command command, const char *name, size_t length, bool no,
                      size_t found[COMPAT_OPTIONS]);
static bool option_of(const struct option *option, enum compat_command command);
static int compare_options(const void *a, const void *b);
static bool take_switch(struct compat_words *words, int option, bool off, const char *text);
static bool take_value(struct compat_words *words, int option, const char *text);
static bool take_number(struct compat_value *value, char kind, const char *text);

void compat_parse(struct compat_words *words, enum compat_command command, char **arguments)
{
    size_t count = 0;
    bool ok = true;
    while (arguments[count])
        count++;
    start(words, command, count);
    while (*arguments) {
        if (strcmp(*arguments, "--") == 0) {
            arguments++;
            break;
        }
        if ((*arguments)[0] == '-' && (*arguments)[1] != '\0')
            ok = take(words, &arguments) && ok;
        else
            words->operands[words->operands_count++] = *arguments++;
    }
    while (*arguments)
        words->operands[words->operands_count++] = *arguments++;
    if (words->value[COMPAT_HELP].on && ok) {
        compat_help(words, stdout);
        compat_end(0);
    }
    if (!ok && command == COMPAT_GO) {
        compat_help(words, stderr);
        compat_end(1);
    }
    if (!ok)
        compat_usage(words, "Invalid option(s)");
}

static void start(struct compat_words *words, enum compat_command command, size_t count)
{
    static const char *const names[] = {"jeprof", "pprof", "pprof"};
    memset(words, 0, sizeof *words);
    words->command = command;
    words->name = names[command];
    words->operands = compat_room(NULL, count + 1, sizeof *words->operands);
    words->bases = compat_room(NULL, 2, sizeof *words->bases);
    words->value[COMPAT_NODECOUNT].number = command == COMPAT_GO ? -1 : 80;
    words->value[COMPAT_NODEFRACTION].number = 0.005;
    words->value[COMPAT_EDGEFRACTION].number = 0.001;
    words->value[COMPAT_MAXDEGREE].number = 8;
    words->value[COMPAT_SECONDS].number = 30;
    words->value[COMPAT_DIVIDE_BY].number = 1;
    words->value[COMPAT_TRIM].on = true;
}

/* Takes the option at *at, with its value, and moves *at behind it. */
static bool take(struct compat_words *words, char ***at)
{
    const char *word = *(*at)++;
    const char *name = word + (word[1] == '-' ? 2 : 1);
    size_t length = strcspn(name, "=");
    const char *text = name[length] == '=' ? name + length + 1 : NULL;
    bool off;
    int option = find(words->command, name, length, &off);
    if (option < 0)
        return false;
    if (options[option].kind == '!')
        return take_switch(words, option, off, text);
    if (text && text[0] == '\0' && words->command != COMPAT_GO) {
        fprintf(stderr, "Option %s requires an argument\n", options[option].name);
        return false;
    }
    if (!text) {
        text = **at;
        if (!text) {
            fprintf(stderr,
                    words->command == COMPAT_GO ? "flag needs an argument: -%s\n"
                                                : "Option %s requires an argument\n",
                    options[option].name);
            return false;
        }
        ++*at;
    }
    return take_value(words, option, text);
}

/* The option of a name, or -1; *off: it is turned off. What is wrong is said. */
static int find(enum compat_command command, const char *name, size_t length, bool *off)
{
    size_t found[COMPAT_OPTIONS], count = matches(command, name, length, false, found);
    *off = false;
    if (count == 0 && command != COMPAT_GO && strncasecmp(name, "no", 2) == 0) {
        size_t skip = name[2] == '-' ? 3 : 2;
        if (length > skip)
            count = matches(command, name + skip, length - skip, true, found);
        *off = count == 1;
    }
    if (count == 1)
        return (int)found[0];
    if (command == COMPAT_GO) {
        fprintf(stderr, "flag provided but not defined: -%.*s\n", (int)length, name);
    } else if (count == 0) {
        fprintf(stderr, "Unknown option: %.*s\n", (int)length, name);
    } else {
        qsort(found, count, sizeof *found, compare_options);
        fprintf(stderr, "Option %.*s is ambiguous (", (int)length, name);
        for (size_t i = 0; i < count; i++)
            fprintf(stderr, "%s%s", i > 0 ? ", " : "", options[found[i]].name);
        fputs(")\n", stderr);
    }
    return -1;
}

/* The options whose name begins so; the one of exactly that name is alone. */
static size_t matches(enum compat_command command, const char *name, size_t length, bool no,
                      size_t found[COMPAT_OPTIONS])
{
    size_t count = 0;
    for (size_t i = 0; i < COMPAT_OPTIONS; i++) {
        const char *known = options[i].name;
        if (!option_of(&options[i], command) || (no && options[i].kind != '!') ||
            strncasecmp(known, name, length) != 0)
            continue;
        if (known[length] == '\0') {
            found[0] = i;
            return 1;
        }
        if (command != COMPAT_GO)
            found[count++] = i;
    }
    return count;
}

static bool option_of(const struct option *option, enum compat_command command)
{
    return strchr(option->commands, "JGP"[command]) != NULL;
}

static int compare_options(const void *a, const void *b)
{
    return strcmp(options[*(const size_t *)a].name, options[*(const size_t *)b].name);
}

/* A switch: -name, or of Go's -name=false. */
static bool take_switch(struct compat_words *words, int option, bool off, const char *text)
{
    if (!text) {
        words->value[option].on = !off;
        return true;
    }
    if (words->command != COMPAT_GO) {
        fprintf(stderr, "Option %s does not take an argument\n", options[option].name);
        return false;
    }
    bool yes =
        strcasecmp(text, "true") == 0 || strcmp(text, "1") == 0 || strcasecmp(text, "t") == 0;
    bool no =
        strcasecmp(text, "false") == 0 || strcmp(text, "0") == 0 || strcasecmp(text, "f") == 0;
    if (!yes && !no)
        fprintf(stderr, "invalid boolean value \"%s\" for -%s: parse error\n", text,
                options[option].name);
    words->value[option].on = yes;
    return yes || no;
}

static bool take_value(struct compat_words *words, int option, const char *text)
{
    struct compat_value *value = &words->value[option];
    char kind = options[option].kind;
    value->on = true;
    value->text = text;
    if (option == COMPAT_BASE || option == COMPAT_DIFF_BASE) {
        const char *last[] = {compat_text(words, COMPAT_BASE),
                              compat_text(words, COMPAT_DIFF_BASE)};
        words->bases_count = 0; /* the last one counts, in all of them */
        for (unsigned i = 0; i < 2; i++)
            if (last[i][0] != '\0')
                words->bases[words->bases_count++] = last[i];
        return true;
    }
    if ((kind != 'i' && kind != 'f') || take_number(value, kind, text))
        return true;
    if (words->command == COMPAT_GO)
        fprintf(stderr, "invalid value \"%s\" for flag -%s: parse error\n", text,
                options[option].name);
    else
        fprintf(stderr, "Value \"%s\" invalid for option %s (%s expected)\n", text,
                options[option].name, kind == 'i' ? "number" : "real number");
    return false;
}

/* False: the text is no number of that kind. */
static bool take_number(struct compat_value *value, char kind, const char *text)
{
    char *end;
    value->number = kind == 'i' ? (double)strtol(text, &end, 10) : strtod(text, &end);
    return end != text && *end == '\0';
}

bool compat_is_go(char **arguments)
{
    for (; *arguments && strcmp(*arguments, "--") != 0; arguments++) {
        const char *name = *arguments;
        size_t found[COMPAT_OPTIONS], dashes = strspn(name, "-");
        if (dashes == 0 || dashes > 2)
            continue;
        name += dashes;
        size_t length = strcspn(name, "=");
        if (length > 0 && matches(COMPAT_GOOGLE, name, length, false, found) == 0 &&
            matches(COMPAT_GO, name, length, false, found) == 1)
            return true;
        /* Perl's switches take no value. */
        if (name[length] == '=' && matches(COMPAT_GO, name, length, false, found) == 1 &&
            options[found[0]].kind == '!')
            return true;
    }
    return false;
}

const char *compat_text(const struct compat_words *words, enum compat_option option)
{
    const char *text = words->value[option].text;
    return text ? text : "";
}

void compat_usage(const struct compat_words *words, const char *message)
{
    fprintf(stderr, "%s\n\n", message);
    compat_help(words, stderr);
    if (words->command == COMPAT_JEPROF)
        fprintf(stderr, "\nFATAL ERROR: %s\n", message);
    compat_end(1);
}

void compat_help(const struct compat_words *words, FILE *file)
{
    static const char *const kinds[] = {
        ['!'] = "", ['s'] = "=TEXT", ['l'] = "=PROFILE", ['i'] = "=N", ['f'] = "=X"};
    const char *name = words->name;
    unsigned column = 0;
    fprintf(file, "Usage:\n   %s [options] <program> <profiles>\n   %s [options] <profile>\n", name,
            name);
    if (words->command != COMPAT_GO)
        fprintf(file, "   %s --symbols <program>   (maps and addresses on standard input)\n", name);
    fputs("Without an option that says what to print it is a shell.\n\nOptions:\n", file);
    for (size_t i = 0; i < COMPAT_OPTIONS; i++) {
        if (!option_of(&options[i], words->command))
            continue;
        const char *kind = kinds[(unsigned char)options[i].kind];
        const char *dash = words->command == COMPAT_GO ? "-" : "--";
        size_t width = strlen(dash) + strlen(options[i].name) + strlen(kind);
        if (column > 0 && column + width + 1 > 78) {
            fputc('\n', file);
            column = 0;
        }
        if (column == 0)
            fputs("  ", file);
        column += (unsigned)fprintf(file, " %s%s%s", dash, options[i].name, kind);
    }
    fputs("\n\nThis is memoir in the manner of the old command; what is different is listed in\n"
          "COMPATIBILITY.md. memoir help lists memoir's own commands, which do more.\n",
          file);
}

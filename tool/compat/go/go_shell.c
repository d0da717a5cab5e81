/* SPDX-License-Identifier: MIT */
/*
 * The shell of Go's pprof: reports by name, settings by name=value. A line that is wrong ends with
 * a message and the shell goes on: errors jump back here (compat_resume). Settings stay for later
 * lines, words behind a report are for that line only. All lines ask the one profile that was read
 * at the start; filters work on a copy.
 */
#include "tool/compat/go/go.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/compiler.h"
#include "tool/memory/memory.h"

static const struct {
    const char *name;
    enum compat_option report;
    bool pattern;       /* it needs one */
    const char *ending; /* of the file that it writes, unless it is told another */
    const char *words;  /* what it is */
} commands[] = {{"top", COMPAT_TOP, false, NULL, "the largest nodes"},
                {"text", COMPAT_TEXT, false, NULL, "the same as top"},
                {"tree", COMPAT_TREE, false, NULL, "nodes with their callers and callees"},
                {"peek", COMPAT_PEEK, true, NULL, "the same of functions that fit"},
                {"traces", COMPAT_TRACES, false, NULL, "all stacks with their values"},
                {"tags", COMPAT_TAGS, false, NULL, "values by label"},
                {"raw", COMPAT_RAW, false, NULL, "the profile as text"},
                {"comments", COMPAT_COMMENTS, false, NULL, "what was noted in the profile"},
                {"list", COMPAT_LIST, true, NULL, "sources of functions that fit"},
                {"weblist", COMPAT_WEBLIST, true, NULL, "the same as a page"},
                {"disasm", COMPAT_DISASM, true, NULL, "machine code of functions that fit"},
                {"dot", COMPAT_DOT, false, NULL, "the graph of calls, for graphviz"},
                {"svg", COMPAT_SVG, false, "svg", "the graph as a picture"},
                {"pdf", COMPAT_PDF, false, "pdf", "the same, PDF"},
                {"ps", COMPAT_PS, false, "ps", "the same, PostScript"},
                {"png", COMPAT_PNG, false, "png", "the same, PNG"},
                {"gif", COMPAT_GIF, false, "gif", "the same, GIF"},
                {"web", COMPAT_WEB, false, NULL, "the graph in a browser"},
                {"gv", COMPAT_GV, false, NULL, "the graph in gv"},
                {"evince", COMPAT_EVINCE, false, NULL, "the graph in evince"},
                {"eog", COMPAT_EOG, false, NULL, "the graph in eog"},
                {"proto", COMPAT_PROTO, false, "pb.gz", "the profile, filtered"},
                {"topproto", COMPAT_TOPPROTO, false, "pb.gz", "the rows of top as a profile"},
                {"callgrind", COMPAT_CALLGRIND, false, "callgraph.out", "a file for kcachegrind"},
                {"kcachegrind", COMPAT_KCACHEGRIND, false, "callgraph.out", "the same"}};

/* What can be set, in the order of `o`. Choices are switches of which one is on. */
static const struct setting {
    const char *name;
    enum compat_option option;
    char kind; /* 's' text, 'b' switch, 'n' number, 'c' choice */
} settings[] = {{"call_tree", COMPAT_CALL_TREE, 'b'},
                {"compact_labels", COMPAT_COMPACT_LABELS, 'b'},
                {"divide_by", COMPAT_DIVIDE_BY, 'n'},
                {"drop_negative", COMPAT_DROP_NEGATIVE, 'b'},
                {"edgefraction", COMPAT_EDGEFRACTION, 'n'},
                {"focus", COMPAT_FOCUS, 's'},
                {"granularity", COMPAT_FUNCTIONS, 'c'},
                {"hide", COMPAT_HIDE, 's'},
                {"ignore", COMPAT_IGNORE, 's'},
                {"intel_syntax", COMPAT_INTEL_SYNTAX, 'b'},
                {"mean", COMPAT_MEAN, 'b'},
                {"nodecount", COMPAT_NODECOUNT, 'n'},
                {"nodefraction", COMPAT_NODEFRACTION, 'n'},
                {"noinlines", COMPAT_NOINLINES, 'b'},
                {"normalize", COMPAT_NORMALIZE, 'b'},
                {"output", COMPAT_OUTPUT, 's'},
                {"prune_from", COMPAT_PRUNE_FROM, 's'},
                {"relative_percentages", COMPAT_RELATIVE_PERCENTAGES, 'b'},
                {"sample_index", COMPAT_SAMPLE_INDEX, 's'},
                {"show", COMPAT_SHOW, 's'},
                {"show_from", COMPAT_SHOW_FROM, 's'},
                {"sort", COMPAT_CUM, 'c'},
                {"source_path", COMPAT_SOURCE_PATH, 's'},
                {"tagfocus", COMPAT_TAGFOCUS, 's'},
                {"taghide", COMPAT_TAGHIDE, 's'},
                {"tagignore", COMPAT_TAGIGNORE, 's'},
                {"tagleaf", COMPAT_TAGLEAF, 's'},
                {"tagroot", COMPAT_TAGROOT, 's'},
                {"tagshow", COMPAT_TAGSHOW, 's'},
                {"trim", COMPAT_TRIM, 'b'},
                {"trim_path", COMPAT_TRIM_PATH, 's'},
                {"unit", COMPAT_UNIT, 's'}};

static const struct {
    const char *name;
    enum compat_option option;
} grains[] = {{"functions", COMPAT_FUNCTIONS},
              {"filefunctions", COMPAT_FILEFUNCTIONS},
              {"files", COMPAT_FILES},
              {"lines", COMPAT_LINES},
              {"addresses", COMPAT_ADDRESSES}};

struct shell {
    struct compat_words *words;
    const struct profile *profile;
    const char *program;
    struct arena texts; /* of settings */
};

static void greet(const struct compat_words *words, const struct profile *profile,
                  const char *program);
static char *into_file(char *text);
static void forget(struct compat_words *words);
static void help(const char *name);
static void show_settings(const struct shell *shell);
static void print_columns(const struct shell *shell, const char *chosen);
static void run_line(struct shell *shell, char *line);
static bool set(struct shell *shell, char *line);
static bool is_true(const char *text);
static bool is_among(const char *text, const char *const *words, size_t count);
static bool choose_grain(struct compat_words *words, const char *name);
static void set_value(struct shell *shell, const struct setting *setting, const char *value);
static bool is_false(const char *text);
static void set_number(struct compat_value *place, const char *text, bool whole);
static const char *remember(struct shell *shell, const char *text);
static bool choose_column(struct shell *shell, const char *line);
static void run(struct shell *shell, char *line);
static int find_command(char *name, struct compat_words *words);
static void take_word(struct compat_words *words, const char *word, char *focus, char *ignore,
                      size_t size);
static void join(char *list, size_t size, const char *word);

void go_shell(struct compat_words *words, const struct profile *profile, const char *program)
{
    struct shell shell = {.words = words, .profile = profile, .program = program};
    char *text;
    greet(words, profile, program);
    words->value[COMPAT_COMPACT_LABELS].on = true;
    while ((text = compat_line("(pprof) ", stdout))) {
        text = into_file(text);
        char *line = text + strspn(text, " \t");
        size_t length = strcspn(line, " \t");
        if ((length == 1 && *line == 'q') || (length == 4 && memcmp(line, "quit", 4) == 0) ||
            (length == 4 && memcmp(line, "exit", 4) == 0)) {
            free(text);
            break;
        }
        if (strcmp(line, ":") == 0)
            forget(words);
        else if (length == 4 && memcmp(line, "help", 4) == 0)
            help(line + 4 + strspn(line + 4, " \t"));
        else if ((length == 1 && *line == 'o') || (length == 7 && !memcmp(line, "options", 7)))
            show_settings(&shell);
        else if (*line != '\0')
            run_line(&shell, line);
        free(text);
    }
    arena_free(&shell.texts);
}

static void greet(const struct compat_words *words, const struct profile *profile,
                  const char *program)
{
    struct go_profile go;
    struct go_settings none = {0};
    go_profile_make(&go, words, profile, program, &none);
    go_print_head(&go, stderr);
    go_profile_free(&go);
    fputs("Entering interactive mode (type \"help\" for commands, \"o\" for options)\n", stderr);
}

/* What is no text goes to a new file, whose name is told. */
static char *into_file(char *text)
{
    const char *line = text + strspn(text, " \t");
    size_t length = strcspn(line, " \t");
    char *longer = NULL, path[64];
    if (strpbrk(line, ">|"))
        return text;
    for (size_t i = 0; i < COUNT_OF(commands); i++) {
        if (!commands[i].ending || strlen(commands[i].name) != length ||
            memcmp(commands[i].name, line, length) != 0)
            continue;
        unsigned number = 1;
        do
            snprintf(path, sizeof path, "profile%03u.%s", number, commands[i].ending);
        while (access(path, F_OK) == 0 && number++ < 9999);
        if (asprintf(&longer, "%s > %s", text, path) < 0)
            compat_out_of_memory();
        free(text);
        return longer;
    }
    return text;
}

static void forget(struct compat_words *words)
{
    static const enum compat_option filters[] = {COMPAT_FOCUS, COMPAT_IGNORE, COMPAT_HIDE,
                                                 COMPAT_TAGFOCUS, COMPAT_TAGIGNORE};
    for (size_t i = 0; i < COUNT_OF(filters); i++)
        words->value[filters[i]] = (struct compat_value){0};
}

static void help(const char *name)
{
    bool known = name[0] == '\0';
    if (known)
        fputs("Reports, as in Go's pprof:\n", stderr);
    for (size_t i = 0; i < COUNT_OF(commands); i++) {
        if (name[0] && strcmp(name, commands[i].name) != 0)
            continue;
        fprintf(stderr, "  %-11s %-7s %s\n", commands[i].name, commands[i].pattern ? "REGEXP" : "",
                commands[i].words);
        known = true;
    }
    for (size_t i = 0; i < COUNT_OF(settings); i++)
        if (name[0] && strcmp(name, settings[i].name) == 0) {
            fprintf(stderr, "  %s=%s\n", name, settings[i].kind == 'b' ? "true|false" : "VALUE");
            known = true;
        }
    if (!known) {
        fprintf(stderr, "Unknown command: %s\n", name);
        return;
    }
    fputs("Behind a report: a number of nodes, words to focus on, -words to ignore, -cum,\n"
          "> FILE, | COMMAND. name=value sets an option, o shows them all, : forgets the filters,\n"
          "quit or ^D ends.\n",
          stderr);
}

static void show_settings(const struct shell *shell)
{
    for (size_t i = 0; i < COUNT_OF(settings); i++) {
        const struct compat_value *value = &shell->words->value[settings[i].option];
        char text[64];
        const char *shown = text, *note = "";
        snprintf(text, sizeof text, "%g", value->number);
        if (settings[i].kind == 'b')
            shown = value->on ? "true" : "false";
        else if (settings[i].kind == 's')
            shown = value->text && value->text[0] ? value->text : "\"\"";
        else if (strcmp(settings[i].name, "sort") == 0) {
            shown = value->on ? "cum" : "flat";
            note = "//: [cum | flat]";
        } else if (settings[i].kind == 'c') {
            shown = "functions";
            note = "//: [addresses | filefunctions | files | functions | lines]";
            for (size_t k = 0; k < COUNT_OF(grains); k++)
                if (shell->words->value[grains[k].option].on)
                    shown = grains[k].name;
        } else if (settings[i].option == COMPAT_NODECOUNT && value->number < 0) {
            note = "//: default";
        }
        if (settings[i].option == COMPAT_SAMPLE_INDEX) {
            print_columns(shell, value->text ? value->text : "");
            continue;
        }
        if (settings[i].option == COMPAT_SOURCE_PATH)
            continue;
        if (settings[i].option == COMPAT_UNIT && !value->text)
            shown = "minimum";
        fprintf(stderr, "  %-25s = %-20s %s\n", settings[i].name, shown, note);
    }
}

/* The columns of the profile, and which is shown. */
static void print_columns(const struct shell *shell, const char *chosen)
{
    const struct profile *profile = shell->profile;
    unsigned type = profile->default_type;
    if (chosen[0])
        go_type_find(profile, chosen, &type);
    fprintf(stderr, "  %-25s = %-20s //: [", "sample_index",
            profile->types > 0 ? profile_text(profile, profile->type[type].name) : "\"\"");
    for (unsigned i = 0; i < profile->types; i++)
        fprintf(stderr, "%s%s", i > 0 ? " | " : "", profile_text(profile, profile->type[i].name));
    fputs("]\n", stderr);
}

/* A line; what is wrong with it ends it, not the shell. */
static void run_line(struct shell *shell, char *line)
{
    static struct compat_divert divert;
    jmp_buf again;
    if (set(shell, line) || !compat_divert(&divert, line, true))
        return;
    compat_resume(&again);
    if (setjmp(again) == 0)
        run(shell, line);
    compat_resume(NULL);
    compat_divert_end(&divert);
}

/* name=value, or the name of a switch or a choice alone. False: the line is none. */
static bool set(struct shell *shell, char *line)
{
    char *equals = strchr(line, '=');
    char name[64];
    size_t length = equals ? (size_t)(equals - line) : strlen(line);
    while (length > 0 && isspace((unsigned char)line[length - 1]))
        length--;
    snprintf(name, sizeof name, "%.*s", (int)length, line);
    char *value = equals ? equals + 1 + strspn(equals + 1, " \t") : NULL;
    if (value) {
        char *comment = strstr(value, "//:");
        if (comment)
            *comment = '\0';
        for (size_t end = strlen(value); end > 0 && isspace((unsigned char)value[end - 1]);)
            value[--end] = '\0';
    }
    if ((!value || is_true(value)) && choose_grain(shell->words, name))
        return true;
    if ((!value || is_true(value)) && (strcmp(name, "cum") == 0 || strcmp(name, "flat") == 0)) {
        shell->words->value[COMPAT_CUM].on = name[0] == 'c';
        return true;
    }
    for (size_t i = 0; i < COUNT_OF(settings); i++) {
        if (strcmp(settings[i].name, name) != 0)
            continue;
        if (!value && settings[i].kind != 'b')
            fprintf(stderr, "please specify a value, e.g. %s=<val>\n", name);
        else
            set_value(shell, &settings[i], value ? value : "");
        return true;
    }
    return !equals && choose_column(shell, name);
}

static bool is_true(const char *text)
{
    static const char *const words[] = {"", "true", "t", "yes", "y", "1"};
    return is_among(text, words, COUNT_OF(words));
}

static bool is_among(const char *text, const char *const *words, size_t count)
{
    bool found = false;
    for (size_t i = 0; i < count; i++)
        found |= strcasecmp(text, words[i]) == 0;
    return found;
}

static bool choose_grain(struct compat_words *words, const char *name)
{
    bool known = false;
    for (size_t i = 0; i < COUNT_OF(grains); i++)
        known |= strcmp(grains[i].name, name) == 0;
    for (size_t i = 0; i < COUNT_OF(grains) && known; i++)
        words->value[grains[i].option].on = strcmp(grains[i].name, name) == 0;
    return known;
}

static void set_value(struct shell *shell, const struct setting *setting, const char *value)
{
    struct compat_value *place = &shell->words->value[setting->option];
    if (setting->kind == 'b') {
        if (is_true(value) || is_false(value))
            place->on = is_true(value);
        else
            fprintf(stderr, "illegal value \"%s\" for bool variable\n", value);
    } else if (setting->kind == 'n') {
        set_number(place, value, setting->option == COMPAT_NODECOUNT);
    } else if (strcmp(setting->name, "granularity") == 0) {
        if (!choose_grain(shell->words, value))
            fprintf(stderr, "invalid \"granularity\" value \"%s\"\n", value);
    } else if (strcmp(setting->name, "sort") == 0) {
        if (strcmp(value, "cum") == 0 || strcmp(value, "flat") == 0)
            place->on = value[0] == 'c';
        else
            fprintf(stderr, "invalid \"sort\" value \"%s\"\n", value);
    } else if (setting->option != COMPAT_SAMPLE_INDEX || value[0] == '\0' ||
               go_type_find(shell->profile, value, &(unsigned){0})) {
        place->text = remember(shell, value);
        place->on = value[0] != '\0';
    }
}

static bool is_false(const char *text)
{
    static const char *const words[] = {"false", "f", "no", "n", "0"};
    return is_among(text, words, COUNT_OF(words));
}

/* A number; another word is refused in Go's words. */
static void set_number(struct compat_value *place, const char *text, bool whole)
{
    char *end;
    double number = whole ? (double)strtol(text, &end, 10) : strtod(text, &end);
    if (end == text || *end)
        fprintf(stderr, "strconv.%s: parsing \"%s\": invalid syntax\n",
                whole ? "Atoi" : "ParseFloat", text);
    else
        place->number = number;
}

static const char *remember(struct shell *shell, const char *text)
{
    const char *copy = arena_text(&shell->texts, text);
    if (!copy)
        compat_out_of_memory();
    return copy;
}

/* The name of a column alone, also behind "total_" or "mean_", chooses it. */
static bool choose_column(struct shell *shell, const char *line)
{
    bool total = strncmp(line, "total_", 6) == 0, mean = strncmp(line, "mean_", 5) == 0;
    const char *bare = line + (total ? 6 : mean ? 5 : 0);
    bool whole = profile_type_named(shell->profile, line) >= 0;
    if (!whole && (bare == line || profile_type_named(shell->profile, bare) < 0))
        return false;
    if (!whole)
        shell->words->value[COMPAT_MEAN].on = mean;
    shell->words->value[COMPAT_SAMPLE_INDEX].text = remember(shell, whole ? line : bare);
    return true;
}

static void run(struct shell *shell, char *line)
{
    struct compat_words words = *shell->words;
    struct go_settings chosen = {0};
    char focus[1000] = "", ignore[1000] = "", *next = NULL;
    char *word = strtok_r(line, " \t", &next);
    int command = find_command(word, &words);
    if (command < 0) {
        const char *equals = strchr(word, '=');
        fprintf(stderr, "unrecognized command: \"%.*s\"\n",
                equals ? (int)(equals - word) + 1 : (int)strlen(word), word);
        return;
    }
    chosen.report = commands[command].report;
    if (commands[command].pattern) {
        chosen.pattern = strtok_r(NULL, " \t", &next);
        if (!chosen.pattern) {
            fprintf(stderr, "command %s requires an argument\n", commands[command].name);
            return;
        }
    }
    while ((word = strtok_r(NULL, " \t", &next)))
        take_word(&words, word, focus, ignore, sizeof focus);
    bool tags = chosen.report == COMPAT_TAGS;
    if (focus[0])
        words.value[tags ? COMPAT_TAGFOCUS : COMPAT_FOCUS].text = focus;
    if (ignore[0])
        words.value[tags ? COMPAT_TAGIGNORE : COMPAT_IGNORE].text = ignore;
    if (words.value[COMPAT_NODECOUNT].number < 0 &&
        (chosen.report == COMPAT_TOP || chosen.report == COMPAT_TEXT))
        words.value[COMPAT_NODECOUNT].number = 10;
    go_run(&words, shell->profile, shell->program, &chosen);
}

/* Digits at the end of the command's name are a number of nodes. */
static int find_command(char *name, struct compat_words *words)
{
    size_t length = strlen(name);
    for (unsigned again = 0; again < 2; again++) {
        for (size_t i = 0; i < COUNT_OF(commands); i++)
            if (strlen(commands[i].name) == length && memcmp(commands[i].name, name, length) == 0)
                return (int)i;
        size_t digits = length;
        while (digits > 0 && isdigit((unsigned char)name[digits - 1]))
            digits--;
        if (digits == length || digits == 0)
            break;
        words->value[COMPAT_NODECOUNT].number = strtod(name + digits, NULL);
        length = digits;
    }
    return -1;
}

/* Words of this line only. */
static void take_word(struct compat_words *words, const char *word, char *focus, char *ignore,
                      size_t size)
{
    char *end;
    double number = strtod(word, &end);
    if (isdigit((unsigned char)word[0]) && *end == '\0')
        words->value[COMPAT_NODECOUNT].number = number;
    else if (strcmp(word, "-cum") == 0 || strcmp(word, "--cum") == 0)
        words->value[COMPAT_CUM].on = true;
    else if (word[0] == '-')
        join(ignore, size, word + 1);
    else
        join(focus, size, word);
}

static void join(char *list, size_t size, const char *word)
{
    size_t used = strlen(list);
    snprintf(list + used, size - used, "%s%s", used > 0 ? "|" : "", word);
}

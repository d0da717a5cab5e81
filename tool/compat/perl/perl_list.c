/* SPDX-License-Identifier: MIT */
/*
 * --list of the Perl commands: a function's source with numbers beside its lines. Where it begins
 * and ends is read from the lines of its machine code, and from the indentation of the source.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "tool/compat/compat.h"
#include "tool/compat/perl/perl_source.h"
#include "tool/profile/profile.h"
#include "tool/symbol/symbol.h"
#include "tool/terminal/terminal.h"

enum { MARGIN = 5 };

struct range {
    const char *file;
    uint32_t first, last;
    uint32_t last_code; /* of its machine code; `last` goes on while the source is indented */
};

static bool find_range(const struct symbol_code *code, struct range *range);
static void extend_range(struct range *range, FILE *file);
static int indentation(const char *line);
static uint32_t line_of(const struct perl_source *source, const struct symbol_code *code,
                        const struct range *range, uint32_t location);
static void print_lines(const struct perl_stacks *stacks, const struct range *range,
                        const double *numbers, FILE *file);

void perl_list(const struct perl_source *source, const struct symbol_code *code)
{
    const struct perl_stacks *stacks = source->stacks;
    const struct profile *profile = &stacks->from->profile;
    struct range range;
    char text[2][40];
    double flat = 0, cum = 0;
    if (!find_range(code, &range)) {
        char name[512];
        fprintf(stderr, "no filename found in %s\n", style_copy(name, sizeof name, code->name));
        return;
    }
    FILE *file = compat_named_file(range.file);
    if (!file) {
        fprintf(stderr, "%s: %s\n", range.file, strerror(errno));
        return;
    }
    extend_range(&range, file);
    size_t lines = (size_t)(range.last - range.first) + 1;
    double *numbers = compat_room(NULL, lines, 2 * sizeof *numbers);
    memset(numbers, 0, lines * 2 * sizeof *numbers);
    for (uint32_t i = 0; i < profile->locations.count; i++) {
        if (!perl_source_in(source, code, i))
            continue;
        size_t line = line_of(source, code, &range, i) - range.first;
        numbers[2 * line] += source->flat[i];
        numbers[2 * line + 1] += source->cum[i];
        flat += source->flat[i];
        cum += source->cum[i];
    }
    char *name = compat_short_name(code->name, stacks->words->value[COMPAT_NO_STRIP_TEMP].on);
    char shown[PATH_MAX];
    style_clean(name);
    style_copy(shown, sizeof shown, range.file + (strncmp(range.file, "./", 2) == 0 ? 2 : 0));
    printf("ROUTINE ====================== %s in %s\n", name, shown);
    printf("%6s %6s Total %s (flat / cumulative)\n", perl_number(stacks, flat, text[0]),
           perl_number(stacks, cum, text[1]), perl_units(stacks));
    print_lines(stacks, &range, numbers, file);
    free(name);
    free(numbers);
    fclose(file);
}

static bool find_range(const struct symbol_code *code, struct range *range)
{
    *range = (struct range){0};
    for (size_t i = 0; i < code->line_count; i++) {
        const struct symbol_code_line *line = &code->lines[i];
        if (line->line == 0)
            continue;
        if (!range->file) {
            range->file = line->file;
            range->first = line->line;
        }
        if (line->line > range->last && strcmp(line->file, range->file) == 0)
            range->last = line->line;
    }
    range->last_code = range->last;
    return range->file != NULL;
}

static void extend_range(struct range *range, FILE *file)
{
    char *line = NULL;
    size_t room = 0;
    int outer = -1;
    for (uint32_t number = 1; getline(&line, &room, file) >= 0; number++) {
        int indent = indentation(line);
        if (number >= range->first && outer < 0 && indent >= 0) {
            outer = indent;
            if (outer == 0)
                break;
        }
        if (number < range->last || indent < 0)
            continue;
        if (indent < outer)
            break;
        range->last = number + 1;
    }
    free(line);
    rewind(file);
}

/* Columns before the first sign that is none; -1: there is none. */
static int indentation(const char *line)
{
    size_t blank = strspn(line, " \t\r\n\f\v");
    return line[blank] == '\0' ? -1 : (int)blank;
}

/* The line of the function itself that an address belongs to; what is elsewhere belongs to the
 * next line of it that follows. */
static uint32_t line_of(const struct perl_source *source, const struct symbol_code *code,
                        const struct range *range, uint32_t location)
{
    const struct profile *profile = &source->stacks->from->profile;
    const struct profile_location *place = profile_location_at(profile, location);
    if (place->lines > 0) {
        const struct profile_line *outer = &profile_lines_of(profile, location)[place->lines - 1];
        const struct profile_function *function = profile_function_at(profile, outer->function);
        if (outer->line >= range->first && outer->line <= range->last &&
            strcmp(profile_text(profile, function->file), range->file) == 0)
            return outer->line;
    }
    uint64_t address = place->address - code->bias;
    for (size_t i = 0; i < code->line_count; i++) {
        const struct symbol_code_line *line = &code->lines[i];
        if (line->address >= address && line->line >= range->first && line->line <= range->last &&
            strcmp(line->file, range->file) == 0)
            return line->line;
    }
    return range->last;
}

static void print_lines(const struct perl_stacks *stacks, const struct range *range,
                        const double *numbers, FILE *file)
{
    char *line = NULL, text[2][40];
    size_t room = 0;
    for (uint32_t number = 1; getline(&line, &room, file) >= 0; number++) {
        if (number + MARGIN < range->first ||
            (number > range->last_code + MARGIN && number > range->last))
            continue;
        const double *pair = numbers + 2 * (size_t)(number - range->first);
        bool inside = number >= range->first && number <= range->last;
        if (number == range->first)
            puts("---");
        line[strcspn(line, "\r\n")] = '\0';
        terminal_clean(line, strlen(line));
        printf("%6s %6s %4u: %s\n", perl_number_or_dot(stacks, inside ? pair[0] : 0, text[0]),
               perl_number_or_dot(stacks, inside ? pair[1] : 0, text[1]), number, line);
        if (number == range->last)
            puts("---");
    }
    free(line);
}

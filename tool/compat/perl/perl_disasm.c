/* SPDX-License-Identifier: MIT */
/* --disasm of the Perl commands: a function's machine code, with its source between. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tool/compat/compat.h"
#include "tool/compat/perl/perl_source.h"
#include "tool/symbol/symbol.h"
#include "tool/terminal/terminal.h"

/* An instruction and what is charged to it. */
struct place {
    const char *file;
    uint32_t line;
    double flat, cum;
};

static struct place *find_places(const struct perl_source *source, const struct symbol_code *code,
                                 const struct disasm_instruction *instructions, size_t count);
static void print_code(const struct perl_source *source,
                       const struct disasm_instruction *instructions, const struct place *places,
                       size_t count);
static void print_file(const char *file);
static void print_line(const struct perl_stacks *stacks, const struct place *sum);

void perl_disasm(const struct perl_source *source, const struct symbol_code *code)
{
    const struct perl_stacks *stacks = source->stacks;
    struct disasm_code piece = {.bytes = code->bytes,
                                .size = code->size,
                                .address = code->start,
                                .machine = code->machine,
                                .syntax = DISASM_ATT};
    struct disasm_instruction *instructions = NULL;
    struct error error = {0};
    size_t count = 0;
    char text[2][40];
    double flat = 0, cum = 0;
    if (!disasm(&piece, &instructions, &count, &error))
        compat_fail("%s", error.text);
    struct place *places = find_places(source, code, instructions, count);
    for (size_t i = 0; i < count; i++) {
        flat += places[i].flat;
        cum += places[i].cum;
    }
    char *name = compat_short_name(code->name, stacks->words->value[COMPAT_NO_STRIP_TEMP].on);
    style_clean(name);
    printf("ROUTINE ====================== %s\n", name);
    printf("%6s %6s %s (flat, cumulative) %.1f%% of total\n", perl_number(stacks, flat, text[0]),
           perl_number(stacks, cum, text[1]), perl_units(stacks),
           source->total != 0 ? cum * 100 / source->total : 0);
    print_code(source, instructions, places, count);
    free(name);
    free(places);
    free(instructions);
}

/* Line and numbers of each instruction. */
static struct place *find_places(const struct perl_source *source, const struct symbol_code *code,
                                 const struct disasm_instruction *instructions, size_t count)
{
    const struct profile *profile = &source->stacks->from->profile;
    struct place *places = compat_room(NULL, count, sizeof *places);
    size_t line = 0;
    for (size_t i = 0; i < count; i++) {
        while (line + 1 < code->line_count &&
               code->lines[line + 1].address <= instructions[i].address)
            line++;
        bool known = code->line_count > 0 && code->lines[line].address <= instructions[i].address;
        places[i] = (struct place){known ? code->lines[line].file : "",
                                   known ? code->lines[line].line : 0, 0, 0};
    }
    for (uint32_t i = 0; i < profile->locations.count; i++) {
        const struct profile_location *location = profile_location_at(profile, i);
        uint64_t address = location->address - !(location->flags & LOCATION_EXACT) - code->bias;
        if (!perl_source_in(source, code, i))
            continue;
        for (size_t k = 0; k < count; k++)
            if (address >= instructions[k].address &&
                address - instructions[k].address < instructions[k].size) {
                places[k].flat += source->flat[i];
                places[k].cum += source->cum[i];
            }
    }
    return places;
}

static void print_code(const struct perl_source *source,
                       const struct disasm_instruction *instructions, const struct place *places,
                       size_t count)
{
    const char *file = "";
    char text[2][40];
    for (size_t first = 0, end; first < count; first = end) {
        struct place sum = {places[first].file, places[first].line, 0, 0};
        if (strcmp(sum.file, file) != 0)
            print_file(file = sum.file);
        for (end = first; end < count && places[end].line == sum.line; end++) {
            sum.flat += places[end].flat;
            sum.cum += places[end].cum;
        }
        print_line(source->stacks, &sum);
        for (size_t i = first; i < end; i++)
            printf("%6s %6s    %8" PRIx64 ": %6s\n",
                   perl_number_or_dot(source->stacks, places[i].flat, text[0]),
                   perl_number_or_dot(source->stacks, places[i].cum, text[1]),
                   instructions[i].address, instructions[i].text);
    }
}

static void print_file(const char *file)
{
    if (strncmp(file, "./", 2) == 0)
        file += 2;
    size_t length = strlen(file);
    printf("-------------------- %s%s\n", length >= 58 ? "..." : "",
           length >= 58 ? file + length - 55 : file);
}

/* The line of a file, without what stands before its first sign. */
static void print_line(const struct perl_stacks *stacks, const struct place *sum)
{
    FILE *file = compat_named_file(sum->file);
    char *line = NULL, text[2][40];
    size_t room = 0;
    ssize_t length = -1;
    for (uint32_t i = 0; file && i < sum->line; i++)
        length = getline(&line, &room, file);
    if (length >= 0 && sum->line > 0) {
        const char *shown = line + strspn(line, " \t");
        line[strcspn(line, "\r\n")] = '\0';
        terminal_clean(line, strlen(line));
        printf("%6s %6s %5" PRIu32 ": %s\n", perl_number_or_dot(stacks, sum->flat, text[0]),
               perl_number_or_dot(stacks, sum->cum, text[1]), sum->line, shown);
    }
    free(line);
    if (file)
        fclose(file);
}

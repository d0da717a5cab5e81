/* SPDX-License-Identifier: MIT */
/* See tool/compat/perl/perl_source.h: which functions, what each address counts, and pages of
 * it. */
#include "tool/compat/perl/perl_source.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool/compat/compat.h"
#include "tool/profile/profile.h"
#include "tool/symbol/symbol.h"

bool perl_source_in(const struct perl_source *source, const struct symbol_code *code,
                    uint32_t location)
{
    const struct profile_location *place =
        profile_location_at(&source->stacks->from->profile, location);
    uint64_t address = place->address - !(place->flags & LOCATION_EXACT) - code->bias;
    return source->present[location] && address >= code->start &&
           address - code->start < code->size;
}

static void count(struct perl_source *source)
{
    const struct perl_stacks *stacks = source->stacks;
    size_t locations = stacks->from->profile.locations.count;
    size_t *seen = compat_room(NULL, locations, sizeof *seen);
    source->flat = compat_room(NULL, locations, 2 * sizeof *source->flat);
    source->cum = source->flat + locations;
    memset(source->flat, 0, locations * 2 * sizeof *source->flat);
    source->present = compat_room(NULL, locations, sizeof *source->present);
    memset(source->present, 0, locations * sizeof *source->present);
    memset(seen, 0, locations * sizeof *seen);
    for (size_t i = 0; i < stacks->count; i++) {
        const struct perl_stack *stack = &stacks->stacks[i];
        for (uint32_t k = 0; k < stack->count; k++) {
            uint32_t location = stacks->path[stack->first + k];
            source->present[location] = true;
            if (k == 0) {
                source->flat[location] += stack->value;
                source->total += stack->value;
            }
            if (seen[location] != i + 1)
                source->cum[location] += stack->value;
            seen[location] = i + 1;
        }
    }
    free(seen);
}

static bool fits(void *context, const char *name)
{
    return compat_pattern_fits(context, name);
}

static int compare_codes(const void *a, const void *b)
{
    const struct symbol_code *left = a, *right = b;
    int order = strcmp(left->name, right->name);
    return order != 0 ? order : (left->start > right->start) - (left->start < right->start);
}

static void print(const struct perl_stacks *stacks, enum compat_option how, const char *pattern)
{
    struct perl_source source = {.stacks = stacks};
    struct symbol_code *codes = NULL;
    size_t found = 0;
    /* The profile is not changed by it but for what is found out. */
    struct profile *profile = (struct profile *)&stacks->from->profile;
    struct compat_pattern *wanted = compat_pattern(pattern);
    bool done = symbol_codes(profile, &stacks->from->symbols, fits, wanted, &codes, &found);
    compat_pattern_free(wanted);
    if (!done)
        compat_out_of_memory();
    count(&source);
    if (found > 0)
        qsort(codes, found, sizeof *codes, compare_codes);
    for (size_t i = 0; i < found; i++) {
        bool any = false;
        for (uint32_t k = 0; k < profile->locations.count && !any; k++)
            any = perl_source_in(&source, &codes[i], k);
        if (any && how == COMPAT_DISASM)
            perl_disasm(&source, &codes[i]);
        else if (any)
            perl_list(&source, &codes[i]);
    }
    symbol_codes_free(codes, found);
    free(source.present);
    free(source.flat);
}

/* The same as a page. */
static void print_page(const struct perl_stacks *stacks, const char *pattern)
{
    char path[] = "/tmp/memoir-list-XXXXXX.html", text[] = "/tmp/memoir-text-XXXXXX";
    struct stat output; /* a file gets the page, which is not shown then */
    bool file = fstat(STDOUT_FILENO, &output) == 0 && S_ISREG(output.st_mode);
    int handle = file ? dup(STDOUT_FILENO) : mkstemps(path, 5), kept = dup(STDOUT_FILENO),
        lines = mkstemp(text);
    FILE *page = handle >= 0 ? fdopen(handle, "w") : NULL;
    if (!page || kept < 0 || lines < 0) {
        perror(path);
        compat_end(1);
    }
    unlink(text);
    fflush(stdout);
    dup2(lines, STDOUT_FILENO);
    print(stacks, COMPAT_LIST, pattern);
    fflush(stdout);
    dup2(kept, STDOUT_FILENO);
    close(kept);
    lseek(lines, 0, SEEK_SET);
    FILE *listing = fdopen(lines, "r");
    fputs("<!DOCTYPE html><meta charset=utf-8><title>memoir</title><pre>\n", page);
    for (int c; listing && (c = getc(listing)) != EOF;) {
        if (c == '<' || c == '>' || c == '&')
            fprintf(page, "&#%d;", c);
        else
            putc(c, page);
    }
    fputs("</pre>\n", page);
    if (listing)
        fclose(listing);
    fclose(page);
    if (!file)
        compat_open(stacks->words, NULL, path);
}

void perl_source(const struct perl_stacks *stacks, enum compat_option how, const char *pattern)
{
    if (how == COMPAT_WEBLIST)
        print_page(stacks, pattern);
    else
        print(stacks, how, pattern);
}

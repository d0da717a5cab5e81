/* SPDX-License-Identifier: MIT */
/* -disasm of Go's pprof. */
#include "tool/compat/go/go.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tool/symbol/symbol.h"
#include "tool/terminal/terminal.h"

static bool fits(void *context, const char *name);
static int compare_codes(const void *a, const void *b);
static void sum_nodes(const struct go_graph *graph, uint64_t start, uint64_t end, int64_t *flat,
                      int64_t *cum);
static void print_code(const struct go_profile *go, const struct go_graph *graph,
                       const struct symbol_code *code, int64_t flat, int64_t cum);
static const char *or_dot(const struct go_profile *go, int64_t value, char text[64]);

bool go_print_disasm(struct go_profile *go, const struct go_graph *graph, const char *pattern)
{
    struct compat_pattern *wanted = compat_pattern(pattern);
    struct symbol_options options = {.program = go->program[0] ? go->program : NULL};
    struct symbol_code *codes = NULL;
    size_t count = 0, printed = 0;
    char text[64];
    /* The profile is not changed by it but for what is found out. */
    if (!symbol_codes((struct profile *)go->from, &options, fits, wanted, &codes, &count))
        compat_out_of_memory();
    compat_pattern_free(wanted);
    if (count > 0)
        qsort(codes, count, sizeof *codes, compare_codes);
    for (size_t i = 0; i < count; i++) {
        const struct symbol_code *code = &codes[i];
        uint64_t start = code->start + code->bias;
        int64_t flat, cum;
        sum_nodes(graph, start, start + code->size, &flat, &cum);
        if (flat == 0 && cum == 0)
            continue;
        if (printed++ == 0)
            printf("Total: %s\n", go_format(go, go->total, text));
        print_code(go, graph, code, flat, cum);
    }
    symbol_codes_free(codes, count);
    if (printed == 0)
        fprintf(stderr, "no matches found for regexp: %s\n", pattern);
    return printed > 0;
}

static bool fits(void *context, const char *name)
{
    return compat_pattern_fits(context, name);
}

static int compare_codes(const void *a, const void *b)
{
    return strcmp(((const struct symbol_code *)a)->name, ((const struct symbol_code *)b)->name);
}

/* What the addresses from `start` to `end` of the process count. */
static void sum_nodes(const struct go_graph *graph, uint64_t start, uint64_t end, int64_t *flat,
                      int64_t *cum)
{
    *flat = *cum = 0;
    for (size_t i = 0; i < graph->count; i++) {
        const struct go_node *node = &graph->nodes[graph->order[i]];
        if (node->address < start || node->address >= end)
            continue;
        *flat += go_flat(node);
        *cum += go_cum(node);
    }
}

static void print_code(const struct go_profile *go, const struct go_graph *graph,
                       const struct symbol_code *code, int64_t flat, int64_t cum)
{
    struct disasm_code piece = {.bytes = code->bytes,
                                .size = code->size,
                                .address = code->start,
                                .machine = code->machine,
                                .syntax = go->words->value[COMPAT_INTEL_SYNTAX].on ? DISASM_INTEL
                                                                                   : DISASM_ATT};
    struct disasm_instruction *instructions = NULL;
    struct error error = {0};
    size_t count = 0, line = 0, shown = SIZE_MAX;
    char text[2][64], percent[32];
    if (!disasm(&piece, &instructions, &count, &error))
        compat_fail("%s", error.text);
    char name[1024];
    printf("ROUTINE ======================== %s\n%10s %10s (flat, cum) %s of Total\n",
           style_copy(name, sizeof name, code->name), go_format(go, flat, text[0]),
           go_format(go, cum, text[1]), go_percentage(cum, go->total, percent));
    for (size_t i = 0; i < count; i++) {
        uint64_t at = instructions[i].address + code->bias;
        sum_nodes(graph, at, at + instructions[i].size, &flat, &cum);
        while (line + 1 < code->line_count &&
               code->lines[line + 1].address <= instructions[i].address)
            line++;
        printf("%10s %10s %10" PRIx64 ": ", or_dot(go, flat, text[0]), or_dot(go, cum, text[1]),
               instructions[i].address);
        if (line < code->line_count && line != shown && code->lines[line].line > 0)
            printf("%-40s;%s %s:%" PRIu32 "\n", instructions[i].text, code->name,
                   name_base(code->lines[line].file), code->lines[line].line);
        else
            printf("%s\n", instructions[i].text);
        shown = line;
    }
    free(instructions);
}

static const char *or_dot(const struct go_profile *go, int64_t value, char text[64])
{
    return value == 0 ? "." : go_format(go, value, text);
}

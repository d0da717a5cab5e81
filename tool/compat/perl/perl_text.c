/* SPDX-License-Identifier: MIT */
/*
 * What the Perl commands print of a profile as text, but for graphs: rows, collapsed stacks, raw
 * profiles, callgrind. Lines come from stacks, are sorted and added up as text, because that is how
 * the original tells them apart. Callgrind's names are numbered when they are first used, which
 * keeps large files small.
 */
#include "tool/compat/perl/perl.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Lines that may come more than once: sorted and added up. */
struct line {
    char *text;
    double value;
};

struct leak {
    uint32_t stack; /* of the profile */
    double objects, bytes;
};

/* A call of callgrind's: the place and, where it is one, the place that is called. */
struct call {
    char *file, *function, *to_file, *to_function; /* to_file NULL: its own cost */
    unsigned long line, to_line;
    double value;
};

struct compressed {
    struct line *names;
    size_t count, room;
};

static int by_total(const void *a, const void *b);
static int compare_numbers(double a, double b);
static int by_flat(const void *a, const void *b);
static char *collapse(const struct perl_stacks *stacks, const struct perl_stack *stack);
static size_t lines_add_up(struct line *lines, size_t count);
static int compare_lines(const void *a, const void *b);
static int compare_stacks(const void *a, const void *b);
static void print_place(const struct perl_stacks *stacks, uint32_t location, FILE *file);
static void print_leaks(const struct perl_stacks *stacks);
static int compare_bytes(const void *a, const void *b);
static void print_raw_symbols(const struct perl_stacks *stacks);
static void put_word(uint64_t word);
static struct line *gather_calls(const struct perl_stacks *stacks, size_t *count);
static bool call_of(struct call *call, struct line *line);
static bool split_place(char *text, char **file, unsigned long *line, char **function);
static int compare_calls(const void *a, const void *b);
static void print_compressed(FILE *file, const char *key, const char *name,
                             struct compressed *known);

void perl_print_text(const struct perl_stacks *stacks, bool total, enum perl_by by, int rows)
{
    struct perl_nodes nodes;
    char text[5][40];
    double running = 0;
    perl_nodes_make(&nodes, stacks, by);
    if (nodes.count > 0)
        qsort(nodes.nodes, nodes.count, sizeof *nodes.nodes, total ? by_total : by_flat);
    for (size_t i = 0; i < nodes.count && (rows < 0 || i < (size_t)rows); i++) {
        const struct perl_node *node = &nodes.nodes[i];
        running += node->flat;
        if (node->flat == 0 && node->total == 0)
            continue;
        printf("%8s %6s %6s %8s %6s %s\n", perl_number(stacks, node->flat, text[0]),
               perl_percent(node->flat, nodes.total, text[1]),
               perl_percent(running, nodes.total, text[2]),
               perl_number(stacks, node->total, text[3]),
               perl_percent(node->total, nodes.total, text[4]), node->name);
    }
    perl_nodes_free(&nodes);
}

static int by_total(const void *a, const void *b)
{
    const struct perl_node *left = a, *right = b;
    int order = compare_numbers(right->total, left->total);
    return order != 0 ? order : strcmp(left->name, right->name);
}

static int compare_numbers(double a, double b)
{
    return (a > b) - (a < b);
}

static int by_flat(const void *a, const void *b)
{
    const struct perl_node *left = a, *right = b;
    int order = compare_numbers(right->flat, left->flat);
    return order != 0 ? order : strcmp(left->name, right->name);
}

void perl_print_collapsed(const struct perl_stacks *stacks)
{
    struct line *lines = compat_room(NULL, stacks->count, sizeof *lines);
    for (size_t i = 0; i < stacks->count; i++)
        lines[i] = (struct line){collapse(stacks, &stacks->stacks[i]), stacks->stacks[i].value};
    size_t count = lines_add_up(lines, stacks->count);
    for (size_t i = 0; i < count; i++) {
        printf("%s %lld\n", lines[i].text, (long long)lines[i].value);
        free(lines[i].text);
    }
    free(lines);
}

/* Root first, full names; what is inlined says so. */
static char *collapse(const struct perl_stacks *stacks, const struct perl_stack *stack)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    if (!file)
        compat_out_of_memory();
    for (uint32_t k = stack->count; k > 0; k--) {
        uint32_t location = stacks->path[stack->first + k - 1];
        uint32_t first = stacks->first_name[location], end = stacks->first_name[location + 1];
        for (uint32_t i = end; i > first; i--)
            fprintf(file, "%s%s%s", k < stack->count || i < end ? ";" : "",
                    stacks->names[i - 1].full, i < end ? "[inline]" : "");
    }
    if (fclose(file) != 0)
        compat_out_of_memory();
    return text;
}

static size_t lines_add_up(struct line *lines, size_t count)
{
    size_t kept = 0;
    if (count > 0)
        qsort(lines, count, sizeof *lines, compare_lines);
    for (size_t i = 0; i < count; i++) {
        if (kept > 0 && strcmp(lines[kept - 1].text, lines[i].text) == 0) {
            lines[kept - 1].value += lines[i].value;
            free(lines[i].text);
        } else {
            lines[kept++] = lines[i];
        }
    }
    return kept;
}

static int compare_lines(const void *a, const void *b)
{
    const struct line *left = a, *right = b;
    return strcmp(left->text, right->text);
}

void perl_print_stacks(const struct perl_stacks *stacks)
{
    struct perl_stacks sorted = perl_stacks_copy(stacks);
    char address[20];
    if (sorted.count > 0)
        qsort(sorted.stacks, sorted.count, sizeof *sorted.stacks, compare_stacks);
    fputs("Stacks:\n\n", stdout);
    for (size_t i = 0; i < sorted.count; i++) {
        const struct perl_stack *stack = &sorted.stacks[i];
        printf("%-8lld ", (long long)stack->value);
        for (uint32_t k = 0; k < stack->count; k++) {
            uint32_t location = sorted.path[stack->first + k];
            perl_address(sorted.from, location, k == 0 && !stack->cut, sorted.words->command,
                         address);
            printf("%s(%s) ", k > 0 ? "\n         " : "", address);
            print_place(&sorted, location, stdout);
        }
        fputs("\n\n", stdout);
    }
    free(sorted.stacks);
    print_leaks(stacks);
}

/* Largest first. */
static int compare_stacks(const void *a, const void *b)
{
    const struct perl_stack *left = a, *right = b;
    int order = compare_numbers(right->value, left->value);
    return order != 0 ? order : (left->first > right->first) - (left->first < right->first);
}

/* file:line:function of the caller's side of an address. */
static void print_place(const struct perl_stacks *stacks, uint32_t location, FILE *file)
{
    const struct perl_name *name = &stacks->names[stacks->first_name[location + 1] - 1];
    bool named = profile_location_at(&stacks->from->profile, location)->lines > 0;
    fprintf(file, "%s:%s", strcmp(name->place, "?") == 0 ? "??:0" : name->place,
            named ? name->name : "unknown");
}

/* What --stacks says once more, of heaps: all stacks as they were recorded, filtered by nothing. */
static void print_leaks(const struct perl_stacks *stacks)
{
    const struct profile *profile = &stacks->from->profile;
    int bytes = profile_type_named(profile, TYPE_INUSE_SPACE), objects = -1;
    size_t count = profile->samples.count;
    char address[20];
    if (bytes >= 0)
        objects = profile_type_partner(profile, (unsigned)bytes);
    if (objects < 0)
        return;
    struct leak *leaks = compat_room(NULL, count, sizeof *leaks);
    for (size_t i = 0; i < count; i++)
        leaks[i] = (struct leak){profile->samples.stacks[i],
                                 perl_sample(stacks->from, (unsigned)objects, i),
                                 perl_sample(stacks->from, (unsigned)bytes, i)};
    if (count > 0)
        qsort(leaks, count, sizeof *leaks, compare_bytes);
    for (size_t i = 0; i < count; i++) {
        uint32_t frames;
        const uint32_t *path = profile_frames_of(profile, leaks[i].stack, &frames);
        printf("Leak of %.0f bytes in %.0f objects allocated from:\n", leaks[i].bytes,
               leaks[i].objects);
        for (uint32_t k = 0; k < frames; k++) {
            const struct perl_name *name = &stacks->names[stacks->first_name[path[k] + 1] - 1];
            perl_address(stacks->from, path[k], k == 0, stacks->words->command, address);
            printf("\t@ %s %s %s\n", address, name->name, name->place);
        }
    }
    putchar('\n');
    free(leaks);
}

static int compare_bytes(const void *a, const void *b)
{
    const struct leak *left = a, *right = b;
    int order = compare_numbers(right->bytes, left->bytes);
    return order != 0 ? order : (left->stack > right->stack) - (left->stack < right->stack);
}

void perl_print_raw(const struct perl_stacks *stacks)
{
    const struct compat_words *words = stacks->words;
    bool one = words->operands_count <= 2 && words->bases_count == 0;
    FILE *file = NULL;
    print_raw_symbols(stacks);
    if (words->command == COMPAT_JEPROF && one && stacks->from->kind == PROFILE_HEAP)
        file = fopen(words->operands[words->operands_count - 1], "rbe");
    if (file) {
        char bytes[4096];
        fputs("--- heap\n", stdout);
        for (size_t got; (got = fread(bytes, 1, sizeof bytes, file)) > 0;)
            fwrite(bytes, 1, got, stdout);
        fclose(file);
        return;
    }
    fputs("--- profile\n", stdout);
    put_word(0);
    put_word(3);
    put_word(0);
    put_word(1);
    put_word(0);
    for (size_t i = 0; i < stacks->count; i++) {
        const struct perl_stack *stack = &stacks->stacks[i];
        if (stack->count == 0)
            continue;
        put_word((uint64_t)stack->value);
        put_word(stack->count);
        for (uint32_t k = 0; k < stack->count; k++)
            put_word(perl_code(stacks->from, stacks->path[stack->first + k], k == 0 && !stack->cut,
                               words->command));
    }
}

/* The names, then the profile: a file that needs no program. */
static void print_raw_symbols(const struct perl_stacks *stacks)
{
    const struct profile *profile = &stacks->from->profile;
    printf("--- symbol\nbinary=%s\n", stacks->from->program);
    for (uint32_t i = 0; i < profile->locations.count; i++) {
        uint32_t first = stacks->first_name[i], end = stacks->first_name[i + 1];
        const struct profile_location *place = profile_location_at(profile, i);
        for (unsigned back = 0; back < 2 && place->lines > 0 && place->address > 0; back++) {
            printf("0x%0*" PRIx64, (int)stacks->from->digits, place->address - back);
            for (uint32_t n = end; n > first; n--)
                printf("%s%s", n < end ? "--" : " ", stacks->names[n - 1].full);
            putchar('\n');
        }
    }
    fputs("---\n", stdout);
}

static void put_word(uint64_t word)
{
    fwrite(&word, sizeof word, 1, stdout);
}

void perl_print_callgrind(const struct perl_stacks *stacks, FILE *file)
{
    size_t count, calls_count = 0;
    struct line *lines = gather_calls(stacks, &count);
    struct compressed files = {0}, functions = {0};
    count = lines_add_up(lines, count);
    struct call *calls = compat_room(NULL, count, sizeof *calls);
    for (size_t i = 0; i < count; i++)
        calls_count += call_of(&calls[calls_count], &lines[i]);
    if (calls_count > 0)
        qsort(calls, calls_count, sizeof *calls, compare_calls);
    fputs("events: Hits\n\n", file);
    for (size_t i = 0; i < calls_count; i++) {
        const struct call *call = &calls[i];
        print_compressed(file, "fl", call->file, &files);
        print_compressed(file, "fn", call->function, &functions);
        if (call->to_file) {
            print_compressed(file, "cfl", call->to_file, &files);
            print_compressed(file, "cfn", call->to_function, &functions);
            fprintf(file, "calls=%lld %lu\n", (long long)call->value, call->to_line);
        }
        fprintf(file, "%lu %lld\n\n", call->line, (long long)call->value);
    }
    for (size_t i = 0; i < count; i++)
        free(lines[i].text);
    free(lines);
    free(calls);
    free(files.names);
    free(functions.names);
}

/* Each call of each stack as a line "caller -> callee". */
static struct line *gather_calls(const struct perl_stacks *stacks, size_t *count)
{
    struct line *lines = NULL;
    size_t room = 0;
    *count = 0;
    for (size_t i = 0; i < stacks->count; i++) {
        const struct perl_stack *stack = &stacks->stacks[i];
        for (uint32_t k = 0; k < stack->count; k++) {
            char *text = NULL;
            size_t size;
            FILE *file = open_memstream(&text, &size);
            if (!file)
                compat_out_of_memory();
            print_place(stacks, stacks->path[stack->first + k], file);
            if (k > 0) {
                fputs(" -> ", file);
                print_place(stacks, stacks->path[stack->first + k - 1], file);
            }
            if (fclose(file) != 0)
                compat_out_of_memory();
            compat_reserve(&lines, &room, *count + 1, sizeof *lines);
            lines[(*count)++] = (struct line){text, stack->value};
        }
    }
    return lines;
}

static bool call_of(struct call *call, struct line *line)
{
    char *arrow = strstr(line->text, " -> ");
    *call = (struct call){.value = line->value};
    if (arrow) {
        *arrow = '\0';
        if (!split_place(arrow + 4, &call->to_file, &call->to_line, &call->to_function))
            call->to_file = NULL;
    }
    if (!split_place(line->text, &call->file, &call->line, &call->function))
        return false;
    call->function[strcspn(call->function, " ")] = '\0';
    return true;
}

/* "file:line:function"; false: it is no such. */
static bool split_place(char *text, char **file, unsigned long *line, char **function)
{
    char *colon = strchr(text, ':');
    if (!colon || colon == text)
        return false;
    *colon = '\0';
    *file = text;
    char *end;
    *line = strtoul(colon + 1, &end, 10);
    if (end == colon + 1 || *end != ':')
        return false;
    *function = end + 1;
    return true;
}

static int compare_calls(const void *a, const void *b)
{
    const struct call *left = a, *right = b;
    int order = strcmp(left->file, right->file);
    if (order != 0)
        return order;
    if (left->line != right->line)
        return left->line < right->line ? -1 : 1;
    order = strcmp(left->function, right->function);
    if (order != 0)
        return order;
    if (!left->to_file || !right->to_file)
        return (left->to_file != NULL) - (right->to_file != NULL);
    order = strcmp(left->to_file, right->to_file);
    if (order != 0)
        return order;
    if (left->to_line != right->to_line)
        return left->to_line < right->to_line ? -1 : 1;
    return strcmp(left->to_function, right->to_function);
}

/* A name gets a number the first time. */
static void print_compressed(FILE *file, const char *key, const char *name,
                             struct compressed *known)
{
    if (strlen(name) <= 3) {
        fprintf(file, "%s=%s\n", key, name);
        return;
    }
    for (size_t i = 0; i < known->count; i++)
        if (strcmp(known->names[i].text, name) == 0) {
            fprintf(file, "%s=(%zu)\n", key, i + 1);
            return;
        }
    compat_reserve(&known->names, &known->room, known->count + 1, sizeof *known->names);
    known->names[known->count++] = (struct line){.text = (char *)name};
    fprintf(file, "%s=(%zu) %s\n", key, known->count, name);
}

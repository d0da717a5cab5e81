/* SPDX-License-Identifier: MIT */
/*
 * `memoir disasm`: the machine code of functions, with what each instruction allocated itself and
 * with what it called, and the source between them.
 *
 * An address in a stack is that behind a call, unless the profile knows better: it counts at the
 * instruction before it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tool/command/command.h"
#include "tool/session.h"
#include "tool/symbol/symbol.h"

enum { GAP = 24, AROUND = 6, SOURCE_LINE = 512 };

/* An instruction of the process, and what went through it. */
struct place {
    uint64_t address;
    int64_t self, total;
    size_t last_stack; /* counted last, plus 1 */
};

struct places {
    struct place *items; /* by address */
    size_t count;
    uint64_t *codes; /* by frame of the view: its instruction; 0: none */
};

struct function {
    const struct symbol_code *code;
    const struct symbol_code *before; /* the same, byte for byte, in the base; NULL: none */
    int64_t self, total;
    size_t last_stack;
};

struct disassembly {
    const struct arguments *arguments;
    const struct request *request;
    const struct view *view;
    struct style style;
    struct places places, base_places;
    struct symbol_code *base_codes;
    size_t base_count;
    struct json json;
    struct source_file file; /* open now */
    char *file_name;
};

/* Which functions: those that fit, or the one of this very name ("libz.so.1+0x1f0"). */
struct wanted {
    struct pattern pattern;
    const char *text;
};

static void disasm_adjust(struct request *request);
static bool disasm_render(struct request *request, struct error *error);
static bool answer_make(struct disassembly *answer, struct request *request, struct error *error);
static bool places_make(struct places *places, const struct view *view);
static int address_compare(const void *left, const void *right);
static void places_count(const struct places *places, const struct view *view);
static struct place *place_find(const struct places *places, uint64_t address);
static void value_add(int64_t *sum, int64_t value);
static bool name_fits(void *context, const char *name);
static bool base_make(struct disassembly *answer, struct request *request, struct wanted *wanted);
static bool functions_show(struct disassembly *answer, const struct symbol_code *codes,
                           size_t count, struct error *error);
static struct function *functions_make(const struct disassembly *answer,
                                       const struct symbol_code *codes, size_t count);
static const struct symbol_code *base_code(const struct disassembly *answer,
                                           const struct symbol_code *code);
static size_t places_from(const struct places *places, uint64_t from);
static int function_compare(const void *left, const void *right);
static bool target_name(const void *context, uint64_t address, char *text, size_t size);
static void function_json(struct disassembly *answer, const struct function *function,
                          const struct disasm_instruction *instructions, size_t count);
static void sums_find(const struct disassembly *answer, const struct function *function,
                      const struct disasm_instruction *instruction, struct place sums[2]);
static struct place places_sum(const struct places *places, uint64_t from, uint64_t to);
static const struct symbol_code_line *line_at(const struct symbol_code *code, uint64_t address);
static void function_text(struct disassembly *answer, const struct function *function,
                          const struct disasm_instruction *instructions, size_t count);
static bool *instructions_choose(const struct disassembly *answer, const struct function *function,
                                 const struct disasm_instruction *instructions, size_t count);
static void source_print(struct disassembly *answer, const struct symbol_code_line *line);
static void number_print(const struct disassembly *answer, int64_t value);

bool verb_disasm(const struct arguments *arguments, struct error *error)
{
    static const struct answer answer = {
        .moment = true, .function = true, .adjust = disasm_adjust, .render = disasm_render};
    return session_ask(arguments, &answer, NULL, error);
}

static void disasm_adjust(struct request *request)
{
    request->options.by = VIEW_ADDRESS;
    if (!arguments_value(request->arguments, FLAG_FRAMES))
        request->options.frames = VIEW_LEAF;
}

static bool disasm_render(struct request *request, struct error *error)
{
    struct disassembly answer = {
        .arguments = request->arguments, .request = request, .view = &request->view};
    return answer_make(&answer, request, error);
}

static bool answer_make(struct disassembly *answer, struct request *request, struct error *error)
{
    struct wanted wanted = {.text = request->rest[0]};
    struct view_error reason = {.text = ""};
    struct symbol_code *codes = NULL;
    size_t count = 0;
    bool done = pattern_make(&wanted.pattern, "the function", request->rest[0], &reason) ||
                error_set(error, ERROR_USAGE, "%s", reason.text);
    if (done && (!places_make(&answer->places, answer->view) ||
                 !symbol_codes(request->profile, request_symbol_options(request), name_fits,
                               &wanted, &codes, &count) ||
                 !base_make(answer, request, &wanted)))
        done = error_memory(error);
    if (done && count == 0) {
        error_set(error, ERROR_INPUT, "no function with code matches '%s' in %s", request->rest[0],
                  request->name);
        done = error_hint(error,
                          "memoir symbols %s   lists the programs and libraries that were found",
                          request->name);
    }
    if (done && request_open(request, error)) {
        answer->style = request->style;
        done = functions_show(answer, codes, count, error);
        done = request_close(request, done, error);
    } else {
        done = false;
    }
    symbol_codes_free(codes, count);
    symbol_codes_free(answer->base_codes, answer->base_count);
    source_file_free(&answer->file);
    free(answer->file_name);
    free(answer->places.items);
    free(answer->places.codes);
    free(answer->base_places.items);
    free(answer->base_places.codes);
    pattern_free(&wanted.pattern);
    return done;
}

static bool places_make(struct places *places, const struct view *view)
{
    const struct profile *profile = view->profile;
    size_t all = profile->locations.count, exact_count = 0;
    uint64_t *exact = malloc((all + 1) * sizeof *exact);
    places->codes = calloc(view->frames_count + 1, sizeof *places->codes);
    places->items = calloc(view->frames_count + 1, sizeof *places->items);
    bool made = exact && places->codes && places->items;
    for (uint32_t i = 0; made && i < all; i++) {
        const struct profile_location *location = profile_location_at(profile, i);
        if (location->flags & LOCATION_EXACT)
            exact[exact_count++] = location->address;
    }
    if (made)
        qsort(exact, exact_count, sizeof *exact, address_compare);
    for (size_t i = 0; made && i < view->frames_count; i++) {
        uint64_t address = view->frames[i].address;
        if (address == 0)
            continue;
        bool is_exact = bsearch(&address, exact, exact_count, sizeof address, address_compare);
        places->codes[i] = is_exact ? address : address - 1;
        places->items[places->count++].address = places->codes[i];
    }
    if (made) {
        size_t kept = 0;
        qsort(places->items, places->count, sizeof *places->items, address_compare);
        for (size_t i = 0; i < places->count; i++)
            if (kept == 0 || places->items[kept - 1].address != places->items[i].address)
                places->items[kept++] = places->items[i];
        places->count = kept;
        places_count(places, view);
    }
    free(exact);
    return made;
}

static int address_compare(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

/* Frames that are one location share its address: a stack counts once. */
static void places_count(const struct places *places, const struct view *view)
{
    for (size_t i = 0; i < view->stacks_count; i++) {
        struct view_stack stack = view_stack(view, i);
        int64_t value = view_sum(view, i).value;
        for (uint32_t step = 0; step < stack.count; step++) {
            uint64_t code = places->codes[stack.frames[step]];
            struct place *place = code != 0 ? place_find(places, code) : NULL;
            if (!place)
                continue;
            if (step == 0)
                value_add(&place->self, value);
            if (place->last_stack != i + 1)
                value_add(&place->total, value);
            place->last_stack = i + 1;
        }
    }
}

static struct place *place_find(const struct places *places, uint64_t address)
{
    struct place wanted = {.address = address};
    return bsearch(&wanted, places->items, places->count, sizeof wanted, address_compare);
}

/* Numbers come from files that may be damaged: a sum stays at the largest number. */
static void value_add(int64_t *sum, int64_t value)
{
    if (__builtin_add_overflow(*sum, value, sum))
        *sum = value > 0 ? INT64_MAX : -INT64_MAX;
}

static bool name_fits(void *context, const char *name)
{
    const struct wanted *wanted = context;
    return strcmp(name, wanted->text) == 0 || pattern_fits(&wanted->pattern, name);
}

/* The base, whose process had other addresses, for itself. */
static bool base_make(struct disassembly *answer, struct request *request, struct wanted *wanted)
{
    struct view view = {0};
    struct view_options options = request->options;
    struct view_error reason;
    const char *type = profile_text(request->profile, request->profile->type[options.type].name);
    int found = request->base ? profile_type_named(request->base, type) : -1;
    if (found < 0)
        return true;
    options.type = (unsigned)found;
    options.base = NULL;
    bool done = view_make(&view, request->base, &options, &reason) &&
                places_make(&answer->base_places, &view) &&
                symbol_codes(request->base, request_symbol_options(request), name_fits, wanted,
                             &answer->base_codes, &answer->base_count);
    view_free(&view);
    return done;
}

static bool functions_show(struct disassembly *answer, const struct symbol_code *codes,
                           size_t count, struct error *error)
{
    bool is_json = answer->style.format == STYLE_JSON;
    struct function *functions = functions_make(answer, codes, count);
    bool done = functions != NULL;
    if (!done)
        error_memory(error);
    if (is_json) {
        json_start(&answer->json, answer->style.out, true);
        json_object(&answer->json, NULL);
        json_text(&answer->json, "schema", "memoir.disasm/1");
        json_text(&answer->json, "input", answer->request->name);
        json_text(&answer->json, "unit", answer->view->unit_name);
        json_number(&answer->json, "total", answer->view->total.value);
        json_array(&answer->json, "functions");
    }
    for (size_t i = 0; done && i < count; i++) {
        const struct symbol_code *code = functions[i].code;
        struct disasm_instruction *instructions = NULL;
        size_t many = 0;
        struct disasm_code piece = {.bytes = code->bytes,
                                    .size = code->size,
                                    .address = code->start,
                                    .machine = code->machine,
                                    .syntax = DISASM_INTEL,
                                    .name = target_name,
                                    .context = code};
        done = disasm(&piece, &instructions, &many, error);
        if (done && is_json)
            function_json(answer, &functions[i], instructions, many);
        else if (done)
            function_text(answer, &functions[i], instructions, many);
        free(instructions);
    }
    if (is_json) {
        json_end(&answer->json);
        json_end(&answer->json);
    }
    free(functions);
    return done;
}

/* The functions with their numbers, in which a stack counts once, the largest first. */
static struct function *functions_make(const struct disassembly *answer,
                                       const struct symbol_code *codes, size_t count)
{
    const struct places *places = &answer->places;
    const struct view *view = answer->view;
    struct function *functions = calloc(count + 1, sizeof *functions);
    size_t *owners = calloc(places->count + 1, sizeof *owners); /* of places, plus 1 */
    for (size_t i = 0; functions && owners && i < count; i++) {
        uint64_t from = codes[i].start + codes[i].bias;
        functions[i].code = &codes[i];
        functions[i].before = base_code(answer, &codes[i]);
        for (size_t at = places_from(places, from);
             at < places->count && places->items[at].address - from < codes[i].size; at++)
            owners[at] = i + 1;
    }
    for (size_t i = 0; functions && owners && i < view->stacks_count; i++) {
        struct view_stack stack = view_stack(view, i);
        int64_t value = view_sum(view, i).value;
        for (uint32_t step = 0; step < stack.count; step++) {
            uint64_t code = places->codes[stack.frames[step]];
            const struct place *place = code != 0 ? place_find(places, code) : NULL;
            size_t owner = place ? owners[place - places->items] : 0;
            if (owner == 0)
                continue;
            struct function *function = &functions[owner - 1];
            if (step == 0)
                value_add(&function->self, value);
            if (function->last_stack != i + 1)
                value_add(&function->total, value);
            function->last_stack = i + 1;
        }
    }
    if (functions && owners)
        qsort(functions, count, sizeof *functions, function_compare);
    bool made = functions && owners;
    free(owners);
    if (!made)
        free(functions);
    return made ? functions : NULL;
}

/* The same function in the base: the addresses of another build mean other instructions. */
static const struct symbol_code *base_code(const struct disassembly *answer,
                                           const struct symbol_code *code)
{
    for (size_t i = 0; i < answer->base_count; i++) {
        const struct symbol_code *before = &answer->base_codes[i];
        if (before->start == code->start && before->size == code->size &&
            strcmp(before->name, code->name) == 0 &&
            memcmp(before->bytes, code->bytes, code->size) == 0)
            return before;
    }
    return NULL;
}

/* The first that is not below an address. */
static size_t places_from(const struct places *places, uint64_t from)
{
    size_t low = 0, high = places->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (places->items[middle].address < from)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int function_compare(const void *left, const void *right)
{
    const struct function *a = left, *b = right;
    if (a->total != b->total)
        return a->total > b->total ? -1 : 1;
    return a->code->start < b->code->start ? -1 : a->code->start > b->code->start;
}

static bool target_name(const void *context, uint64_t address, char *text, size_t size)
{
    return symbol_code_name(context, address, text, size);
}

static void function_json(struct disassembly *answer, const struct function *function,
                          const struct disasm_instruction *instructions, size_t count)
{
    const struct symbol_code *code = function->code;
    struct json *json = &answer->json;
    char text[32];
    json_object(json, NULL);
    json_text(json, "name", code->name);
    snprintf(text, sizeof text, "0x%" PRIx64, code->start);
    json_text(json, "address", text);
    json_number(json, "size", (int64_t)code->size);
    json_number(json, "self", function->self);
    json_number(json, "total", function->total);
    json_array(json, "instructions");
    for (size_t i = 0; i < count; i++) {
        struct place sums[2];
        sums_find(answer, function, &instructions[i], sums);
        const struct symbol_code_line *line = line_at(code, instructions[i].address);
        json_object(json, NULL);
        snprintf(text, sizeof text, "0x%" PRIx64, instructions[i].address);
        json_text(json, "address", text);
        json_text(json, "text", instructions[i].text);
        json_number(json, "self", sums[0].self);
        json_number(json, "total", sums[0].total);
        if (answer->request->base) {
            json_number(json, "base_self", sums[1].self);
            json_number(json, "base_total", sums[1].total);
        }
        json_text(json, "file", line ? line->file : "");
        json_number(json, "line", line ? line->line : 0);
        json_end(json);
    }
    json_end(json);
    json_end(json);
}

/* What is at an instruction: now, and in the base. */
static void sums_find(const struct disassembly *answer, const struct function *function,
                      const struct disasm_instruction *instruction, struct place sums[2])
{
    uint64_t start = instruction->address + function->code->bias;
    sums[0] = places_sum(&answer->places, start, start + instruction->size);
    sums[1] = (struct place){0};
    if (!function->before)
        return;
    start = instruction->address + function->before->bias;
    sums[1] = places_sum(&answer->base_places, start, start + instruction->size);
}

/* What is from an address of the process up to another. */
static struct place places_sum(const struct places *places, uint64_t from, uint64_t to)
{
    struct place sum = {.address = from};
    for (size_t low = places_from(places, from);
         low < places->count && places->items[low].address < to; low++) {
        value_add(&sum.self, places->items[low].self);
        value_add(&sum.total, places->items[low].total);
    }
    return sum;
}

static const struct symbol_code_line *line_at(const struct symbol_code *code, uint64_t address)
{
    const struct symbol_code_line *line = NULL;
    for (size_t i = 0; i < code->line_count && code->lines[i].address <= address; i++)
        line = &code->lines[i];
    return line;
}

static void function_text(struct disassembly *answer, const struct function *function,
                          const struct disasm_instruction *instructions, size_t count)
{
    const struct symbol_code *code = function->code;
    FILE *out = answer->style.out;
    char name[1024], value[32], share[16];
    const struct symbol_code_line *last = NULL;
    bool *shown = instructions_choose(answer, function, instructions, count);
    bool two = answer->request->base;
    size_t left_out = 0;
    style_cell(&answer->style, name, sizeof name, code->name, answer->style.width);
    fputc('\n', out);
    style_paint(&answer->style, "1", name);
    fprintf(out, "   %s in all, %s%s\n%11s%s%11s%s\n",
            style_value(value, (double)function->total, answer->view->unit),
            style_share(share, (double)function->total, (double)answer->view->total.value),
            two && !function->before ? ", different code in the base" : "", "self",
            two ? "        was" : "", "total", two ? "        was" : "");
    for (size_t i = 0; shown && i <= count; i++) {
        if (i < count && !shown[i]) {
            left_out++;
            continue;
        }
        if (left_out > 0)
            fprintf(out, "%24s(%zu instructions without a number: -v shows them)\n", "", left_out);
        left_out = 0;
        if (i == count)
            break;
        const struct symbol_code_line *line = line_at(code, instructions[i].address);
        if (line && line->line > 0 &&
            (!last || last->line != line->line || strcmp(last->file, line->file) != 0))
            source_print(answer, line);
        last = line ? line : last;
        struct place sums[2];
        sums_find(answer, function, &instructions[i], sums);
        number_print(answer, sums[0].self);
        if (two)
            number_print(answer, sums[1].self);
        number_print(answer, sums[0].total);
        if (two)
            number_print(answer, sums[1].total);
        fprintf(out, "  %10" PRIx64 ":   %s\n", instructions[i].address, instructions[i].text);
    }
    free(shown);
}

/* Which instructions are worth a line: those with numbers, and some around them. */
static bool *instructions_choose(const struct disassembly *answer, const struct function *function,
                                 const struct disasm_instruction *instructions, size_t count)
{
    bool *shown = calloc(count + 1, sizeof *shown);
    bool all = arguments_value(answer->arguments, FLAG_VERBOSE) != NULL || count <= 2 * GAP;
    for (size_t i = 0; shown && i < count; i++) {
        struct place sums[2];
        sums_find(answer, function, &instructions[i], sums);
        if (!all && sums[0].total == 0 && sums[1].total == 0)
            continue;
        for (size_t k = i > AROUND ? i - AROUND : 0; k < count && k <= i + AROUND; k++)
            shown[k] = true;
    }
    return shown;
}

/* The line that the next instructions come from. */
static void source_print(struct disassembly *answer, const struct symbol_code_line *line)
{
    FILE *out = answer->style.out;
    char text[SOURCE_LINE], place[SOURCE_LINE + 400];
    if (!answer->file_name || strcmp(answer->file_name, line->file) != 0) {
        source_file_free(&answer->file);
        free(answer->file_name);
        answer->file_name = strdup(line->file);
        source_file_open(&answer->file, line->file,
                         arguments_value(answer->arguments, FLAG_SOURCE_PATH), "", 0);
    }
    source_file_line(&answer->file, line->line, text, sizeof text);
    snprintf(place, sizeof place, "%.300s:%u  %s", name_base(line->file), line->line,
             text + strspn(text, " "));
    style_clean(place);
    if (answer->style.fits)
        style_cut(place, sizeof place, answer->style.width > 44 ? answer->style.width - 24 : 20);
    fprintf(out, "%24s", "");
    style_dim(&answer->style, place);
    fputc('\n', out);
}

static void number_print(const struct disassembly *answer, int64_t value)
{
    char text[32] = ".";
    double whole = (double)answer->view->total.value;
    if (value != 0)
        style_value(text, (double)value, answer->view->unit);
    style_heat(&answer->style, value != 0 && whole > 0 ? (double)value / whole : 0.02, text, 11);
}

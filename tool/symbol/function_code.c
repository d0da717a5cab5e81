/* SPDX-License-Identifier: MIT */
/*
 * The machine code of functions, as the symbol table knows them: see symbol_codes. A function is
 * taken whole, from its symbol to its end, since a disassembly of parts would begin in the middle
 * of instructions. Lines come from DWARF in one pass over the function; texts move while they are
 * collected, so that places in them are kept as distances until the end.
 */
#include "tool/symbol/function_code.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/memory/memory.h"
#include "tool/symbol/answers.h"
#include "tool/symbol/debug_info.h"
#include "tool/symbol/demangle.h"
#include "tool/symbol/elf/elf.h"
#include "tool/symbol/modules.h"

enum { CODE_MAX = 1 << 26 }; /* a bound for damaged symbol tables */

struct codes {
    struct symbol_code *items;
    size_t count, room;
    bool (*fits)(void *context, const char *name);
    void *context;
    bool failed; /* memory is out */
};

/* The symbols of a file, which the codes of that file share: the last one frees them. */
struct symbol_names {
    size_t users;
    struct table table;
    struct image *image, *debug, *mini; /* that the names live in */
};

/* The lines of one function, on their way: files are places in the text. */
struct lines {
    struct symbol_code *code;
    struct answers *text;
    size_t room;
};

static void module_codes(struct codes *codes, struct module *module,
                         const struct symbol_options *options);
static int address_order(const void *left, const void *right);
static void functions_add(struct codes *codes, struct module *module, struct symbol_names *names,
                          const uint64_t *found, size_t count);
static bool function_find(const struct module *module, const struct symbol_names *names,
                          const struct starts *starts, uint64_t address,
                          struct table_symbol *function, char text[static 512]);
static void code_add(struct codes *codes, const struct module *module, struct symbol_names *names,
                     Dwarf *dwarf, const struct table_symbol *symbol, uint64_t bias);
static void code_free(struct symbol_code *code);
static void names_drop(struct symbol_names *names);
static bool bytes_read(struct symbol_code *code, const struct image *image);
static void line_take(void *context, uint64_t address, uint32_t line, const char *file);

bool symbol_code_name(const struct symbol_code *code, uint64_t address, char *text, size_t size)
{
    const struct table_symbol *symbol = table_find(&code->names->table, address);
    char ending[32] = "";
    bool own = symbol && symbol->start == code->start && address - code->start < code->size;
    if (!symbol || (!own && address != symbol->start && address - symbol->start >= symbol->size))
        return false;
    char *readable = own ? strdup(code->name) : symbol_demangle(symbol->name);
    if (address > symbol->start)
        snprintf(ending, sizeof ending, "+0x%lx", address - symbol->start);
    snprintf(text, size, "%.*s%s%s", (int)(size > 40 ? size - 40 : 1),
             readable ? readable : symbol->name, symbol->stub ? "@plt" : "", ending);
    free(readable);
    return true;
}

bool symbol_codes(const struct profile *profile, const struct symbol_options *options,
                  bool (*fits)(void *context, const char *name), void *context,
                  struct symbol_code **items, size_t *count)
{
    struct symbol_options all = *options;
    struct codes codes = {.fits = fits, .context = context};
    struct modules modules;
    all.again = true;
    codes.failed = !modules_collect(&modules, profile, &all);
    for (size_t i = 0; !codes.failed && i < modules.count; i++)
        if (modules.items[i].wanted_count > 0)
            module_codes(&codes, &modules.items[i], options);
    modules_free(&modules);
    *items = codes.items;
    *count = codes.count;
    return !codes.failed;
}

static void module_codes(struct codes *codes, struct module *module,
                         const struct symbol_options *options)
{
    module_find(module, options);
    uint64_t *found = malloc((module->wanted_count + 1) * sizeof *found);
    struct symbol_names *names = calloc(1, sizeof *names);
    module->owns = calloc(module->wanted_count + 1, sizeof *module->owns);
    codes->failed |= !found || !names || !module->owns;
    if (names)
        names->users = 1;
    if (module->image && !codes->failed) {
        codes->failed |= !table_read(&names->table, module_symbols(module), module->image);
        size_t count = module_owns(module, module->image, found);
        qsort(found, count, sizeof *found, address_order);
        functions_add(codes, module, names, found, count);
        names->image = module->image;
        names->debug = module->debug;
        names->mini = module->mini;
        module->image = module->debug = module->mini = NULL;
    }
    names_drop(names);
    free(found);
}

static int address_order(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

/* The functions of a module whose addresses are `found`, in order. */
static void functions_add(struct codes *codes, struct module *module, struct symbol_names *names,
                          const uint64_t *found, size_t count)
{
    const struct image *debug = module->debug ? module->debug : module->image;
    Dwarf *dwarf = debug->has_dwarf ? dwarf_begin_elf(debug->elf, DWARF_C_READ, NULL) : NULL;
    struct table_symbol function;
    struct starts starts;
    uint64_t bias = 0, last = 0;
    char text[512];
    starts_open(&starts, module->image);
    for (size_t i = 0; i < module->wanted_count; i++)
        if (module->owns[i] != 0)
            bias = module->wanted[i] - module->owns[i];
    for (size_t i = 0; i < count; i++) {
        if (!function_find(module, names, &starts, found[i], &function, text) ||
            (i > 0 && function.start == last))
            continue;
        last = function.start;
        code_add(codes, module, names, dwarf, &function, bias);
    }
    if (dwarf)
        dwarf_end(dwarf);
}

/* The function at an address: a symbol, or what the unwind tables know of, named by its place. */
static bool function_find(const struct module *module, const struct symbol_names *names,
                          const struct starts *starts, uint64_t address,
                          struct table_symbol *function, char text[static 512])
{
    const struct table_symbol *symbol = table_find(&names->table, address);
    const char *slash = strrchr(module->path, '/');
    if (symbol && address - symbol->start < symbol->size) {
        *function = *symbol;
        return !symbol->stub;
    }
    *function = (struct table_symbol){.name = text};
    if (!starts_find(starts, address, &function->start, &function->size))
        return false;
    if (symbol && !symbol->stub && symbol->start == function->start)
        function->name = symbol->name;
    snprintf(text, 512, "%.400s+0x%lx", slash ? slash + 1 : module->path,
             image_offset(module->image, function->start));
    return true;
}

static void code_add(struct codes *codes, const struct module *module, struct symbol_names *names,
                     Dwarf *dwarf, const struct table_symbol *symbol, uint64_t bias)
{
    struct symbol_code code = {.start = symbol->start,
                               .size = symbol->size < CODE_MAX ? symbol->size : CODE_MAX,
                               .bias = bias,
                               .machine = module->image->machine,
                               .names = names};
    names->users++;
    code.name = symbol_demangle(symbol->name);
    if (!code.name)
        code.name = strdup(symbol->name);
    struct answers *text = code.keep = calloc(1, sizeof *text);
    if (!code.name || !text) {
        codes->failed = true;
        code_free(&code);
        return;
    }
    answers_start(text);
    bool wanted =
        codes->fits(codes->context, code.name) || codes->fits(codes->context, symbol->name);
    if (!wanted || !bytes_read(&code, module->image)) {
        code_free(&code);
        return;
    }
    struct lines lines = {&code, text, 0};
    if (dwarf)
        debug_info_lines(dwarf, code.start, code.start + code.size, line_take, &lines);
    for (size_t i = 0; i < code.line_count; i++)
        code.lines[i].file = text->text + (uintptr_t)code.lines[i].file;
    if (!list_reserve(&codes->items, &codes->room, codes->count + 1, sizeof *codes->items)) {
        codes->failed = true;
        code_free(&code);
        return;
    }
    codes->items[codes->count++] = code;
    codes->failed |= text->failed;
}

static void code_free(struct symbol_code *code)
{
    free(code->name);
    free(code->bytes);
    free(code->lines);
    if (code->keep)
        answers_free(code->keep);
    free(code->keep);
    names_drop(code->names);
}

static void names_drop(struct symbol_names *names)
{
    if (!names || --names->users > 0)
        return;
    table_free(&names->table);
    image_close(names->mini);
    image_close(names->debug);
    image_close(names->image);
    free(names);
}

static bool bytes_read(struct symbol_code *code, const struct image *image)
{
    for (size_t i = 0; i < image->segments_count; i++) {
        const struct image_segment *segment = &image->segments[i];
        if (code->start < segment->address || code->start - segment->address > segment->file_size ||
            code->size > segment->file_size - (code->start - segment->address))
            continue;
        Elf_Data *data = elf_getdata_rawchunk(
            image->elf, (int64_t)(segment->offset + (code->start - segment->address)), code->size,
            ELF_T_BYTE);
        if (!data || data->d_size != code->size)
            return false;
        code->bytes = malloc(code->size);
        if (code->bytes)
            memcpy(code->bytes, data->d_buf, code->size);
        return code->bytes;
    }
    return false;
}

static void line_take(void *context, uint64_t address, uint32_t line, const char *file)
{
    struct lines *lines = context;
    struct symbol_code *code = lines->code;
    if (!list_reserve(&code->lines, &lines->room, code->line_count + 1, sizeof *code->lines)) {
        lines->text->failed = true;
        return;
    }
    /* The text moves as it grows: for now the pointer is a distance. */
    uintptr_t place = answers_text(lines->text, file);
    code->lines[code->line_count++] = (struct symbol_code_line){
        address, line, (const char *)place}; /* NOLINT(performance-no-int-to-ptr) */
}

void symbol_codes_free(struct symbol_code *codes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        code_free(&codes[i]);
    free(codes);
}

/* SPDX-License-Identifier: MIT */
/*
 * See tool/symbol/module.h. Names are asked for in this order, and each source only for what the
 * ones before left open: the cache, DWARF (of the file or of its debug file), the symbol table.
 * Where all of them fail, the nearest exported symbol is a name that is marked as a guess.
 */
#include "tool/symbol/module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/symbol/cache.h"
#include "tool/symbol/debug_info.h"
#include "tool/symbol/demangle.h"
#include "tool/symbol/elf/elf.h"
#include "tool/symbol/entry.h"

void module_free(struct module *module)
{
    image_close(module->bundle);
    image_close(module->mini);
    image_close(module->debug);
    image_close(module->image);
    answers_free(&module->answers);
    free(module->other);
    free(module->maps);
    free(module->wanted);
    free(module->returns);
    free(module->owns);
}

/* Which map an address is in, or NULL. */
static const struct module_map *map_of(const struct module *module, uint64_t address)
{
    for (size_t i = 0; i < module->maps_count; i++)
        if (address >= module->maps[i].start && address < module->maps[i].limit)
            return &module->maps[i];
    return NULL;
}

const struct image *module_symbols(const struct module *module)
{
    const struct image *image = module->image ? module->image : module->debug;
    return module->debug && module->debug->has_symtab ? module->debug
           : module->mini                             ? module->mini
                                                      : image;
}

/* The addresses to ask for, where the file has them. */
static size_t owns_find(struct module *module, const struct image *image, uint64_t *found)
{
    size_t count = 0;
    module_owns(module, image, found);
    entry_mend(module);
    for (size_t i = 0; i < module->wanted_count; i++)
        if (module->owns[i] != 0)
            found[count++] = module->owns[i];
    return count;
}

size_t module_owns(struct module *module, const struct image *image, uint64_t *found)
{
    size_t count = 0;
    for (size_t i = 0; i < module->wanted_count; i++) {
        const struct module_map *map = map_of(module, module->wanted[i]);
        if (map ? image_address(image, map->start, map->offset, module->wanted[i], &module->owns[i])
                : image_fixed(image, module->wanted[i], &module->owns[i]))
            found[count++] = module->owns[i];
        else
            module->owns[i] = 0;
    }
    return count;
}

/*
 * Whether a symbol says anything of an address that is behind its end. It does of a function that
 * follows soon: what a compiler cut out of a function, and the helpers that stand beside it. Any
 * further away it would be the name of something else.
 */
static bool symbol_is_near(const struct table_symbol *symbol, const struct starts *starts,
                           uint64_t address)
{
    /* Functions in between, by the unwind tables; without those, a page. */
    enum { FUNCTIONS_MAX = 2, BYTES_MAX = 4096 };
    if (starts->count == 0)
        return address - symbol->start < BYTES_MAX;
    return starts_before(starts, address) - starts_before(starts, symbol->start) <= FUNCTIONS_MAX;
}

/* The frame of a symbol; `distance` is from its start to the function that is meant. */
static struct answer_frame symbol_frame(struct answers *answers, const struct table_symbol *symbol,
                                        uint64_t distance)
{
    char *readable = symbol_demangle(symbol->name), ending[32] = "", *text[2] = {NULL, NULL};
    const char *names[2] = {symbol->name, readable ? readable : symbol->name};
    if (symbol->stub)
        snprintf(ending, sizeof ending, "@plt");
    else if (distance > 0)
        snprintf(ending, sizeof ending, "+0x%lx", distance);
    for (unsigned i = 0; i < 2 && ending[0] != '\0'; i++) {
        if (asprintf(&text[i], "%s%s", names[i], ending) < 0)
            text[i] = NULL;
        else
            names[i] = text[i];
    }
    struct answer_frame frame = {.system_name = answers_text(answers, names[0]),
                                 .name = answers_text(answers, names[1])};
    free(text[0]);
    free(text[1]);
    free(readable);
    return frame;
}

static void symbol_answer(struct answers *answers, struct answer *answer, const struct table *table,
                          const struct starts *starts)
{
    const struct table_symbol *symbol = table_find(table, answer->address);
    uint64_t start = answer->address, size, from = symbol ? symbol->start : 0;
    bool inside = symbol && table_holds(table, symbol, answer->address);
    bool known = !inside && starts_find(starts, answer->address, &start, &size);
    inside |= known && symbol && !symbol->stub && from == start;
    /* What lies behind the stubs has nothing to do with them. */
    if (!inside && (!symbol || symbol->stub || !symbol_is_near(symbol, starts, answer->address))) {
        uint64_t behind = answer->address - start;
        answer->behind = behind <= UINT32_MAX ? (uint32_t)behind : 0;
        return;
    }
    struct answer_frame frame =
        symbol_frame(answers, symbol, known && !inside && start > from ? start - from : 0);
    answers_add(answers, answer, &frame);
    answer->state = inside ? ANSWER_SYMBOL : ANSWER_NEAREST;
}

/* Asks the files for what is open. Answers whether all of them were there. */
static bool files_ask(struct module *module, const struct image *image,
                      const struct symbol_options *options)
{
    const struct image *names = module->debug ? module->debug : image;
    struct answers *answers = &module->answers;
    struct starts starts;
    struct table table;
    starts_open(&starts, image);
    if (!table_read(&table, module_symbols(module), image))
        answers->failed = true;
    Dwarf *dwarf = names->has_dwarf ? dwarf_begin_elf(names->elf, DWARF_C_READ, NULL) : NULL;
    struct debug_options debug_options = {options->no_inlines, &module->looked, names,
                                          module->bundle};
    bool whole = true;
    if (dwarf && !answers->failed)
        whole = debug_info_answer(answers, dwarf, &table, &debug_options);
    for (size_t i = 0; i < answers->count; i++)
        if (answers->items[i].state == ANSWER_OPEN)
            symbol_answer(answers, &answers->items[i], &table, &starts);
    module->quality = dwarf                                    ? SYMBOL_FULL
                      : table.count > 0 && !table.exports_only ? SYMBOL_TABLE
                      : table.count > 0                        ? SYMBOL_EXPORTS
                                                               : SYMBOL_NOTHING;
    if (dwarf)
        dwarf_end(dwarf);
    table_free(&table);
    return whole;
}

void module_answer(struct module *module, const struct symbol_options *options)
{
    const struct image *image = module->image ? module->image : module->debug;
    struct answers *answers = &module->answers;
    answers_start(answers);
    if (module->wanted_count == 0) {
        module->quality = module->given > 0 ? SYMBOL_GIVEN : SYMBOL_NOTHING;
        return;
    }
    module->quality = module->other ? SYMBOL_MISMATCH : SYMBOL_NOTHING;
    if (!image)
        return;
    uint64_t *found = malloc((module->wanted_count + 1) * sizeof *found);
    module->owns = calloc(module->wanted_count + 1, sizeof *module->owns);
    if (!found || !module->owns)
        answers->failed = true;
    else
        answers_want(answers, found, owns_find(module, image, found));
    free(found);
    if (answers->failed)
        return;
    struct cache *cache = malloc(sizeof *cache);
    bool open = !cache, whole = true;
    if (cache)
        cache_start(cache, module, options);
    for (size_t i = 0; i < answers->count; i++)
        open |= !answers->items[i].known;
    if (open)
        whole = files_ask(module, image, options);
    module->split_missing = !whole && module->quality == SYMBOL_FULL;
    if (cache)
        cache_end(cache, module, whole && !answers->failed);
    free(cache);
}

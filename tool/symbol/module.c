/* SPDX-License-Identifier: MIT */
/* See tool/symbol/module.h. */
#include "tool/symbol/module.h"

#include "tool/symbol/cache.h"
#include "tool/symbol/debug.h"
#include "tool/symbol/symbol.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void module_free(struct module *module)
{
    image_close(module->debug);
    image_close(module->image);
    answers_free(&module->answers);
    free(module->other);
    free(module->maps);
    free(module->wanted);
    free(module->owns);
}

const struct module_map *module_map_of(const struct module *module, uint64_t address)
{
    for (size_t i = 0; i < module->maps_count; i++)
        if (address >= module->maps[i].start && address < module->maps[i].limit)
            return &module->maps[i];
    return NULL;
}

size_t module_owns(struct module *module, const struct image *image, uint64_t *found)
{
    size_t count = 0;
    for (size_t i = 0; i < module->wanted_count; i++) {
        const struct module_map *map = module_map_of(module, module->wanted[i]);
        if (map ? image_address(image, map->start, map->offset, module->wanted[i], &module->owns[i])
                : image_fixed(image, module->wanted[i], &module->owns[i]))
            found[count++] = module->owns[i];
        else
            module->owns[i] = 0;
    }
    return count;
}

static void symbol_answer(struct answers *answers, struct answer *answer, const struct table *table)
{
    const struct table_symbol *symbol = table_find(table, answer->address);
    struct answer_frame frame = {0};
    if (!symbol || (symbol->stub && answer->address - symbol->start >= symbol->size))
        return; /* what lies behind the stubs has nothing to do with them */
    const char *name = symbol->name;
    char *readable = symbol_demangle(name), stub[1024];
    frame.system_name = frame.name = answers_text(answers, name);
    if (readable)
        frame.name = answers_text(answers, readable);
    if (symbol->stub) {
        snprintf(stub, sizeof stub, "%s@plt", name);
        frame.system_name = answers_text(answers, stub);
        snprintf(stub, sizeof stub, "%s@plt", readable ? readable : name);
        frame.name = answers_text(answers, stub);
    }
    free(readable);
    answers_add(answers, answer, &frame);
    uint64_t behind = answer->address - symbol->start;
    bool inside = symbol->size > 0 ? behind < symbol->size : !table->exports_only;
    answer->state = inside ? ANSWER_SYMBOL : ANSWER_NEAREST;
}

/* Asks the files for what is open. Answers whether all of them were there. */
static bool files_ask(struct module *module, const struct image *image,
                      const struct symbol_options *options)
{
    const struct image *names = module->debug ? module->debug : image;
    struct answers *answers = &module->answers;
    struct table table;
    if (!table_read(&table, names->has_symtab ? names : image, image))
        answers->failed = true;
    Dwarf *dwarf = names->has_dwarf ? dwarf_begin_elf(names->elf, DWARF_C_READ, NULL) : NULL;
    struct debug_options debug_options = {options->no_inlines, &module->looked};
    bool whole = true;
    if (dwarf && !answers->failed)
        whole = debug_answer(answers, dwarf, &table, &debug_options);
    for (size_t i = 0; i < answers->count; i++)
        if (answers->items[i].state == ANSWER_OPEN)
            symbol_answer(answers, &answers->items[i], &table);
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
        answers_want(answers, found, module_owns(module, image, found));
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
    if (cache)
        cache_end(cache, module, whole && !answers->failed);
    free(cache);
}

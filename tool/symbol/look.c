/* SPDX-License-Identifier: MIT */
/* One file, looked at for itself: see symbol_look. */
#include "tool/symbol/look.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/symbol/module.h"

static bool table_has_malloc(const struct table *table);

void symbol_look(const char *path, const struct symbol_options *options, struct symbol_look *look)
{
    struct symbol_options here = *options;
    uint64_t wanted = 0;
    struct module module = {.path = path, .build_id = "", .wanted = &wanted, .wanted_count = 1};
    struct table table;
    memset(look, 0, sizeof *look);
    here.program = NULL;
    here.pid = 0;
    module_find(&module, &here);
    if (module.image) {
        const struct image *names = module.debug ? module.debug : module.image;
        look->elf = true;
        look->quality = names->has_dwarf                   ? SYMBOL_FULL
                        : names->has_symtab || module.mini ? SYMBOL_TABLE
                        : module.image->has_dynsym         ? SYMBOL_EXPORTS
                                                           : SYMBOL_NOTHING;
        snprintf(look->build_id, sizeof look->build_id, "%s", module.image->build_id);
        if (module.debug)
            look->debug_file = strdup(module.debug->path);
        if (table_read(&table, module.image, module.image)) {
            look->own_malloc = table_has_malloc(&table);
            table_free(&table);
        }
    }
    module.wanted = NULL;
    module_free(&module);
}

static bool table_has_malloc(const struct table *table)
{
    for (size_t i = 0; i < table->count; i++)
        if (strcmp(table->symbols[i].name, "malloc") == 0 && !table->symbols[i].stub)
            return true;
    return false;
}

/* SPDX-License-Identifier: MIT */
/*
 * See tool/symbol/elf/symbol_table.h. Of several symbols at one address one stays, chosen by rank,
 * size and name, so that the answer does not depend on the order in the file; its size is that of
 * another where it has none. Stubs of calls into other files are symbols, too.
 */
#include "tool/symbol/elf/symbol_table.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "tool/memory/memory.h"

enum { SYMBOLS_MAX = 1 << 26 }; /* 1.6 GB of them: a larger table is a damaged one */

/* A table that grows. */
struct growing {
    struct table *table;
    size_t room;
};

static bool all_wanted(void *context, uint64_t start);
static bool symbol_take(void *context, const struct table_symbol *symbol);
static bool symbol_add(struct table *table, size_t *room, const struct table_symbol *symbol);
static bool stub_take(void *context, struct table_symbol *stub);
static int symbol_order(const void *left, const void *right);
static bool in_code(const struct image *image, uint64_t address);
static uint8_t symbol_rank(const GElf_Sym *symbol, const char *name);

bool table_read(struct table *table, const struct image *image, const struct image *code)
{
    struct growing growing = {table, 0};
    struct table_scan scan = {all_wanted, symbol_take, &growing};
    size_t kept = 0;
    memset(table, 0, sizeof *table);
    if (!table_scan(image, SHT_SYMTAB, &scan))
        return false;
    table->exports_only = table->count == 0;
    if (table->exports_only && !table_scan(image, SHT_DYNSYM, &scan))
        return false;
    if (image->partial && !table_scan(code, SHT_DYNSYM, &scan))
        return false;
    if (!code->empty && !stubs_read(code, stub_take, &growing))
        return false;
    if (table->count == 0)
        return true;
    qsort(table->symbols, table->count, sizeof *table->symbols, symbol_order);
    for (size_t i = 1; i < table->count; i++) {
        if (table->symbols[i].start == table->symbols[kept].start) {
            if (table->symbols[kept].size == 0)
                table->symbols[kept].size = table->symbols[i].size;
            continue;
        }
        table->symbols[++kept] = table->symbols[i];
    }
    table->count = kept + 1;
    return true;
}

static bool all_wanted(void *context, uint64_t start)
{
    (void)context, (void)start;
    return true;
}

static bool symbol_take(void *context, const struct table_symbol *symbol)
{
    struct growing *growing = context;
    return symbol_add(growing->table, &growing->room, symbol);
}

static bool symbol_add(struct table *table, size_t *room, const struct table_symbol *symbol)
{
    if (!list_reserve(&table->symbols, room, table->count + 1, sizeof *table->symbols))
        return false;
    table->symbols[table->count++] = *symbol;
    return true;
}

static bool stub_take(void *context, struct table_symbol *stub)
{
    return symbol_take(context, stub);
}

static int symbol_order(const void *left, const void *right)
{
    const struct table_symbol *a = left, *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank > b->rank ? -1 : 1;
    if (a->size != b->size)
        return a->size > b->size ? -1 : 1;
    return strcmp(a->name, b->name);
}

void table_free(struct table *table)
{
    free(table->symbols);
    memset(table, 0, sizeof *table);
}

const struct table_symbol *table_find(const struct table *table, uint64_t address)
{
    size_t low = 0, high = table->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table->symbols[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low == 0 ? NULL : &table->symbols[low - 1];
}

bool table_holds(const struct table *table, const struct table_symbol *symbol, uint64_t address)
{
    return symbol->size > 0 ? address - symbol->start < symbol->size
                            : !table->exports_only && !symbol->stub;
}

bool table_scan(const struct image *image, uint32_t type, const struct table_scan *scan)
{
    Elf_Scn *section = NULL;
    GElf_Shdr head;
    while ((section = elf_nextscn(image->elf, section)) != NULL)
        if (gelf_getshdr(section, &head) && head.sh_type == type && head.sh_entsize > 0)
            break;
    Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
    if (!data)
        return true;
    size_t count = head.sh_size / head.sh_entsize;
    for (size_t i = 1; i < count && i < SYMBOLS_MAX; i++) {
        GElf_Sym symbol;
        if (!gelf_getsym(data, (int)i, &symbol))
            break;
        unsigned kind = GELF_ST_TYPE(symbol.st_info);
        if ((kind != STT_FUNC && kind != STT_GNU_IFUNC && kind != STT_NOTYPE) ||
            symbol.st_shndx == SHN_UNDEF || symbol.st_shndx == SHN_ABS || symbol.st_name == 0 ||
            !scan->wanted(scan->context, symbol.st_value))
            continue;
        const char *name = elf_strptr(image->elf, head.sh_link, symbol.st_name);
        if (!name || name[0] == '\0' || name[0] == '$' || !in_code(image, symbol.st_value) ||
            (kind == STT_NOTYPE && strncmp(name, ".L", 2) == 0))
            continue;
        struct table_symbol kept = {symbol.st_value, symbol.st_size, name,
                                    symbol_rank(&symbol, name), false};
        if (!scan->take(scan->context, &kept))
            return false;
    }
    return true;
}

static bool in_code(const struct image *image, uint64_t address)
{
    for (size_t i = 0; i < image->segments_count; i++) {
        const struct image_segment *segment = &image->segments[i];
        if (segment->executable && address >= segment->address &&
            address - segment->address < segment->size)
            return true;
    }
    return false;
}

/* Of several names at one address people know the one with the fewest underscores in front, and a
 * global rather than a weak or a local one. */
static uint8_t symbol_rank(const GElf_Sym *symbol, const char *name)
{
    unsigned bind = GELF_ST_BIND(symbol->st_info);
    size_t underscores = strncmp(name, "_Z", 2) == 0 ? 0 : strspn(name, "_");
    return (uint8_t)((GELF_ST_TYPE(symbol->st_info) != STT_NOTYPE) << 5 |
                     (underscores > 3 ? 0 : 3 - underscores) << 2 |
                     (bind == STB_GLOBAL ? 2 : bind == STB_WEAK));
}

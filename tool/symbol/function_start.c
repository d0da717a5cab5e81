/* SPDX-License-Identifier: MIT */
/* See symbol_starts in tool/symbol/function_start.h. Large files have 100,000 symbols and more,
 * of which a report asks for a few: the tables are read once and not sorted. */
#include "tool/symbol/function_start.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "tool/symbol/elf/elf.h"

/* An address of a file, and the last function that begins at it or before, but behind the address
 * in front of it in the list. */
struct wish {
    uint64_t address, start;
    struct symbol_at *place;
    bool known;
};

struct wishes {
    struct wish *items; /* by address */
    size_t count;
    bool any; /* functions were seen */
};

static int compare_paths(const void *a, const void *b);
static void grant(struct wishes *wishes, const struct image *image);
static bool is_wanted(void *context, uint64_t start);
static struct wish *wish_behind(const struct wishes *wishes, uint64_t start);
static bool take(void *context, const struct table_symbol *symbol);
static int compare_wishes(const void *a, const void *b);

bool symbol_starts(struct symbol_at *places, size_t count)
{
    struct symbol_at **sorted = calloc(count + 1, sizeof(struct symbol_at *));
    struct wish *items = calloc(count + 1, sizeof *items);
    for (size_t i = 0; i < count && sorted; i++) {
        sorted[i] = &places[i];
        places[i].found = 0;
    }
    if (sorted && items && count > 0)
        qsort(sorted, count, sizeof(struct symbol_at *), compare_paths);
    for (size_t first = 0, end; first < count && sorted && items; first = end) {
        struct wishes wishes = {.items = items};
        struct image *image = image_open(sorted[first]->path);
        for (end = first; end < count && strcmp(sorted[end]->path, sorted[first]->path) == 0;
             end++) {
            struct wish *wish = &items[wishes.count];
            struct symbol_at *at = sorted[end];
            *wish = (struct wish){.place = at};
            wishes.count +=
                image && image_address(image, at->start, at->offset, at->address, &wish->address);
        }
        if (image) {
            grant(&wishes, image);
            image_close(image);
        }
    }
    bool ok = sorted && items;
    free(sorted);
    free(items);
    return ok;
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp((*(struct symbol_at *const *)a)->path, (*(struct symbol_at *const *)b)->path);
}

/* All wishes are of one file. */
static void grant(struct wishes *wishes, const struct image *image)
{
    struct table_scan scan = {is_wanted, take, wishes};
    if (wishes->count > 0)
        qsort(wishes->items, wishes->count, sizeof *wishes->items, compare_wishes);
    table_scan(image, SHT_SYMTAB, &scan);
    if (!wishes->any || image->partial)
        table_scan(image, SHT_DYNSYM, &scan);
    for (size_t i = 0; i < wishes->count; i++) {
        struct wish *wish = &wishes->items[i];
        if (!wish->known && i > 0)
            *wish = (struct wish){wish->address, wish[-1].start, wish->place, wish[-1].known};
        if (wish->known)
            wish->place->found = wish->start;
    }
}

static bool is_wanted(void *context, uint64_t start)
{
    struct wishes *wishes = context;
    const struct wish *wish = wish_behind(wishes, start);
    wishes->any = true;
    return wish && (!wish->known || start > wish->start);
}

/* The first wish whose address is not before the start; NULL: none. */
static struct wish *wish_behind(const struct wishes *wishes, uint64_t start)
{
    size_t low = 0, high = wishes->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (wishes->items[middle].address < start)
            low = middle + 1;
        else
            high = middle;
    }
    return low < wishes->count ? &wishes->items[low] : NULL;
}

static bool take(void *context, const struct table_symbol *symbol)
{
    struct wish *wish = wish_behind(context, symbol->start);
    wish->start = symbol->start;
    wish->known = true;
    return true;
}

static int compare_wishes(const void *a, const void *b)
{
    const struct wish *left = a, *right = b;
    return (left->address > right->address) - (left->address < right->address);
}

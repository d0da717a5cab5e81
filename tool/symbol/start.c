/* SPDX-License-Identifier: MIT */
/* See symbol_start in tool/symbol/resolve.h. */
#include "tool/symbol/resolve.h"
#include "tool/symbol/table.h"

uint64_t symbol_start(const char *path, uint64_t start, uint64_t offset, uint64_t address)
{
    struct image *image = image_open(path);
    struct table table = {0};
    const struct table_symbol *symbol = NULL;
    uint64_t own, found = 0;
    if (image && image_address(image, start, offset, address, &own) &&
        table_read(&table, image, image))
        symbol = table_find(&table, own);
    while (symbol && symbol->stub) /* they are in no table that others read */
        symbol = symbol > table.symbols ? symbol - 1 : NULL;
    if (symbol)
        found = symbol->start;
    table_free(&table);
    if (image)
        image_close(image);
    return found;
}

/* SPDX-License-Identifier: MIT */
/*
 * See lib/leak/looks.h. The first word of an object with virtual functions leads to its class's
 * table of them; the word before that table to the class's type information (0 in code without
 * any), and that one's second word to the class's name. All of it is read through the kernel: a
 * word may look like the address of such a table and be none.
 */
#include "lib/leak/looks.h"

#include <string.h>

#include "base/os.h"

static void bytes_find(struct scan_looks *looks, const struct scan_row *row);
static void class_find(struct scan_looks *looks, uintptr_t table, int memory);

bool looks_is_constant(const struct looks_constants *constants, uintptr_t address)
{
    unsigned low = 0, high = constants->count;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (address >= constants->ranges[middle].end)
            low = middle + 1;
        else
            high = middle;
    }
    return low < constants->count && address >= constants->ranges[low].start;
}

void looks_find(struct scan_result *result, const struct looks_constants *constants)
{
    int memory = result->used_count == 0 ? -1 : os_memory_open();
    for (unsigned i = 0; i < result->used_count && i < SCAN_LOOKS_MAX; i++) {
        const struct scan_row *row = &result->rows[result->used[i]];
        if (row->example == 0)
            continue;
        bytes_find(&result->looks[i], row);
        if (memory != -1 && looks_is_constant(constants, row->example_word))
            class_find(&result->looks[i], row->example_word, memory);
    }
    os_memory_close(memory);
}

static void bytes_find(struct scan_looks *looks, const struct scan_row *row)
{
    size_t size = row->size < SCAN_BYTES_MAX ? row->size : SCAN_BYTES_MAX;
    memcpy(looks->bytes, (const void *)row->example, size);
    looks->bytes_count = (uint32_t)size;
}

static uintptr_t word_at(int memory, uintptr_t address)
{
    uintptr_t word = 0;
    bool read = address % sizeof word == 0 &&
                os_memory_read(memory, &word, sizeof word, address) == (ssize_t)sizeof word;
    return read ? word : 0;
}

static void class_find(struct scan_looks *looks, uintptr_t table, int memory)
{
    char *name = looks->class;
    uintptr_t type = word_at(memory, table - sizeof(uintptr_t));
    uintptr_t text = type == 0 ? 0 : word_at(memory, type + sizeof(uintptr_t));
    ssize_t got = text == 0 ? 0 : os_memory_read(memory, name, SCAN_CLASS_MAX - 1, text);
    size_t length = 0;
    while (got > 0 && length < (size_t)got && name[length] > ' ' && name[length] < 127)
        length++;
    /* A name that is longer, or has other bytes in it, is left out. */
    if (got <= 0 || length == (size_t)got || name[length] != '\0')
        length = 0;
    memset(name + length, 0, SCAN_CLASS_MAX - length);
}

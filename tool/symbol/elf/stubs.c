/* SPDX-License-Identifier: MIT */
/*
 * The stubs through which a file calls functions of others. A stub jumps to where a slot of the
 * global offset table says, and a relocation names the function of that slot.
 */
#include "tool/symbol/elf/symbol_table.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "tool/memory/memory.h"

enum { STUB_SIZE = 16, SLOTS_MAX = 1 << 20 }; /* SLOTS_MAX: a bound for damaged files */

struct slot {
    uint64_t address;
    const char *name;
};

struct slots {
    struct slot *items;
    size_t count, room;
};

static bool slots_take(struct slots *slots, const struct image *image, Elf_Scn *section,
                       const GElf_Shdr *head);
static int slot_order(const void *left, const void *right);
static uint64_t stub_slot(unsigned machine, const unsigned char *code, size_t size,
                          uint64_t address);

bool stubs_read(const struct image *image, bool (*take)(void *context, struct table_symbol *stub),
                void *context)
{
    static const char *const places[] = {".plt", ".plt.sec", ".plt.got"};
    struct slots slots = {0};
    Elf_Scn *section = NULL;
    GElf_Shdr head;
    bool ok = true;
    while (ok && (section = elf_nextscn(image->elf, section)) != NULL)
        if (gelf_getshdr(section, &head) && head.sh_type == SHT_RELA)
            ok = slots_take(&slots, image, section, &head);
    if (slots.count > 0)
        qsort(slots.items, slots.count, sizeof *slots.items, slot_order);
    for (size_t i = 0; ok && slots.count > 0 && i < sizeof places / sizeof *places; i++) {
        uint64_t start;
        Elf_Data *code = image_section(image, places[i], &start);
        /* Entries of .plt.got may be half as long; those are found at every second step. */
        size_t step = i == 2 ? STUB_SIZE / 2 : STUB_SIZE;
        for (size_t at = 0; ok && code && at + step <= code->d_size; at += step) {
            const unsigned char *bytes = (const unsigned char *)code->d_buf + at;
            struct slot key = {stub_slot(image->machine, bytes, step, start + at), NULL};
            const struct slot *slot =
                bsearch(&key, slots.items, slots.count, sizeof key, slot_order);
            struct table_symbol stub = {start + at, step, slot ? slot->name : "", 0, true};
            if (slot)
                ok = take(context, &stub);
        }
    }
    free(slots.items);
    return ok;
}

/* The names of one section of relocations. False when memory is out. */
static bool slots_take(struct slots *slots, const struct image *image, Elf_Scn *section,
                       const GElf_Shdr *head)
{
    GElf_Shdr symbols_head;
    Elf_Scn *symbols = elf_getscn(image->elf, head->sh_link);
    Elf_Data *names = symbols ? elf_getdata(symbols, NULL) : NULL;
    Elf_Data *data = elf_getdata(section, NULL);
    if (!names || !data || head->sh_entsize == 0 || !gelf_getshdr(symbols, &symbols_head))
        return true;
    size_t count = head->sh_size / head->sh_entsize;
    for (size_t i = 0; i < count && slots->count < SLOTS_MAX; i++) {
        GElf_Rela relocation;
        GElf_Sym symbol;
        if (!gelf_getrela(data, (int)i, &relocation) || GELF_R_SYM(relocation.r_info) == 0 ||
            !gelf_getsym(names, (int)GELF_R_SYM(relocation.r_info), &symbol))
            continue;
        const char *name = elf_strptr(image->elf, symbols_head.sh_link, symbol.st_name);
        if (!name || name[0] == '\0')
            continue;
        if (!list_reserve(&slots->items, &slots->room, slots->count + 1, sizeof *slots->items))
            return false;
        slots->items[slots->count++] = (struct slot){relocation.r_offset, name};
    }
    return true;
}

static int slot_order(const void *left, const void *right)
{
    const struct slot *a = left, *b = right;
    return a->address < b->address ? -1 : a->address > b->address;
}

/* The slot that the stub at `address` jumps through; 0: none that we know the code of. */
static uint64_t stub_slot(unsigned machine, const unsigned char *code, size_t size,
                          uint64_t address)
{
    uint32_t words[STUB_SIZE / 4] = {0};
    memcpy(words, code, size);
    for (unsigned i = 0; machine == EM_X86_64 && i + 6 <= size; i++) {
        int32_t distance;
        memcpy(&distance, code + i + 2, sizeof distance);
        if (code[i] == 0xff && code[i + 1] == 0x25) /* jmp *distance(%rip) */
            return address + i + 6 + (uint64_t)(int64_t)distance;
    }
    for (unsigned i = 0; machine == EM_AARCH64 && i + 1 < STUB_SIZE / 4; i++) {
        if ((words[i] & 0x9f00001f) != 0x90000010 || (words[i + 1] & 0xffc003ff) != 0xf9400211)
            continue; /* adrp x16, page; ldr x17, [x16, offset] */
        uint64_t page = (words[i] >> 29 & 3) | (uint64_t)(words[i] >> 5 & 0x7ffff) << 2;
        uint64_t pages = page & 0x100000 ? page | ~UINT64_C(0x1fffff) : page;
        return ((address + 4 * i) & ~UINT64_C(0xfff)) + (pages << 12) +
               ((uint64_t)(words[i + 1] >> 10 & 0xfff) << 3);
    }
    return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * See tool/symbol/reach.h. Every step is checked against the end of the bytes. DWARF 4 and 5 keep
 * ranges in different sections with different encodings (pairs of addresses, and lists of entries
 * that refer to a table); both are turned into calls of one function for each range.
 */
#include "tool/symbol/reach.h"

#include <dwarf.h>

#include "base/cfi_expression.h"

static const unsigned char *rest_of(const struct image *program, const char *name, uint64_t from,
                                    size_t *size);
static uint64_t number_of(Dwarf_Die *die, unsigned name, unsigned name_before);
static bool attribute_address(const struct reach *reach, const Dwarf_Attribute *attribute,
                              uint64_t *address);
static uint64_t attribute_raw(const struct reach *reach, const Dwarf_Attribute *attribute);
static bool address_at(const struct reach *reach, uint64_t number, uint64_t *address);
static void pairs_each(const struct reach *reach, uint64_t offset,
                       void (*take)(void *context, uint64_t start, uint64_t end), void *context);
static void list_each(const struct reach *reach, uint64_t offset,
                      void (*take)(void *context, uint64_t start, uint64_t end), void *context);
static bool entry_read(const struct reach *reach, struct bytes *bytes, uint64_t *base,
                       uint64_t *start, uint64_t *end);
static uint64_t list_place(const struct reach *reach, uint64_t number);

void reach_open(struct reach *reach, const struct image *program, Dwarf_Die *head, Dwarf_Die *tree,
                const struct bundle *bundle)
{
    Dwarf_Half version = 0;
    Dwarf_Die again;
    Dwarf_Addr base;
    uint8_t address_size = 0, offset_size = 0;
    memset(reach, 0, sizeof *reach);
    dwarf_cu_die(tree->cu, &again, &version, NULL, &address_size, &offset_size, NULL, NULL);
    reach->version = version;
    reach->address_size = address_size;
    reach->offset_size = offset_size;
    if (dwarf_lowpc(head, &base) == 0)
        reach->base = base;
    reach->addresses =
        rest_of(program, ".debug_addr", number_of(head, DW_AT_addr_base, DW_AT_GNU_addr_base),
                &reach->addresses_size);
    reach->lists = bundle->lists;
    reach->lists_size = bundle->lists_size;
    if (version < 5)
        reach->lists = rest_of(program, ".debug_ranges",
                               number_of(head, DW_AT_GNU_ranges_base, DW_AT_GNU_ranges_base),
                               &reach->lists_size);
}

/* A section of the program from an offset on. */
static const unsigned char *rest_of(const struct image *program, const char *name, uint64_t from,
                                    size_t *size)
{
    Elf_Data *data = image_section(program, name, NULL);
    *size = 0;
    if (!data || from > data->d_size)
        return NULL;
    *size = data->d_size - from;
    return (const unsigned char *)data->d_buf + from;
}

static uint64_t number_of(Dwarf_Die *die, unsigned name, unsigned name_before)
{
    Dwarf_Attribute attribute;
    Dwarf_Word number = 0;
    if (dwarf_attr(die, name, &attribute) || dwarf_attr(die, name_before, &attribute))
        dwarf_formudata(&attribute, &number);
    return number;
}

void reach_each(const struct reach *reach, Dwarf_Die *die,
                void (*take)(void *context, uint64_t start, uint64_t end), void *context)
{
    Dwarf_Attribute low, high, ranges;
    uint64_t start, end, value;
    if (reach->address_size == 0 || reach->offset_size == 0)
        return;
    if (dwarf_attr(die, DW_AT_low_pc, &low) && dwarf_attr(die, DW_AT_high_pc, &high)) {
        Dwarf_Word length;
        bool ok = attribute_address(reach, &low, &start);
        if (dwarf_formudata(&high, &length) == 0)
            end = start + length;
        else
            ok &= attribute_address(reach, &high, &end);
        if (ok && start < end)
            take(context, start, end);
    } else if (dwarf_attr(die, DW_AT_ranges, &ranges) && reach->lists) {
        value = attribute_raw(reach, &ranges);
        if (reach->version < 5)
            pairs_each(reach, value, take, context);
        else
            list_each(reach, ranges.form == DW_FORM_rnglistx ? list_place(reach, value) : value,
                      take, context);
    }
}

static bool attribute_address(const struct reach *reach, const Dwarf_Attribute *attribute,
                              uint64_t *address)
{
    *address = attribute_raw(reach, attribute);
    return attribute->form == DW_FORM_addr || address_at(reach, *address, address);
}

/* The value of an attribute as it stands in the file. */
static uint64_t attribute_raw(const struct reach *reach, const Dwarf_Attribute *attribute)
{
    enum { LONGEST = 10 };
    struct bytes bytes = {attribute->valp, attribute->valp + LONGEST, false};
    switch (attribute->form) {
    case DW_FORM_addr:
        return bytes_fixed(&bytes, reach->address_size);
    case DW_FORM_addrx1:
    case DW_FORM_data1:
        return bytes_fixed(&bytes, 1);
    case DW_FORM_addrx2:
    case DW_FORM_data2:
        return bytes_fixed(&bytes, 2);
    case DW_FORM_addrx3:
        return bytes_fixed(&bytes, 3);
    case DW_FORM_addrx4:
    case DW_FORM_data4:
        return bytes_fixed(&bytes, 4);
    case DW_FORM_data8:
        return bytes_fixed(&bytes, 8);
    case DW_FORM_sec_offset:
        return bytes_fixed(&bytes, reach->offset_size);
    default:
        return bytes_uleb(&bytes);
    }
}

/* The address of a number. */
static bool address_at(const struct reach *reach, uint64_t number, uint64_t *address)
{
    uint64_t size = reach->address_size;
    *address = 0;
    if (size == 0 || number >= reach->addresses_size / size)
        return false;
    memcpy(address, reach->addresses + number * size, size);
    return true;
}

/* DWARF 4: pairs of addresses; both 0 is the end, and the highest of all announces a base. */
static void pairs_each(const struct reach *reach, uint64_t offset,
                       void (*take)(void *context, uint64_t start, uint64_t end), void *context)
{
    uint64_t highest = reach->address_size == 4 ? UINT32_MAX : UINT64_MAX, base = reach->base;
    if (offset > reach->lists_size)
        return;
    struct bytes bytes = {reach->lists + offset, reach->lists + reach->lists_size, false};
    for (;;) {
        uint64_t start = bytes_fixed(&bytes, reach->address_size);
        uint64_t end = bytes_fixed(&bytes, reach->address_size);
        if (bytes.bad || (start == 0 && end == 0))
            return;
        if (start == highest)
            base = end;
        else if (start < end)
            take(context, base + start, base + end);
    }
}

static void list_each(const struct reach *reach, uint64_t offset,
                      void (*take)(void *context, uint64_t start, uint64_t end), void *context)
{
    uint64_t start, end, base = reach->base;
    if (offset > reach->lists_size)
        return;
    struct bytes bytes = {reach->lists + offset, reach->lists + reach->lists_size, false};
    while (entry_read(reach, &bytes, &base, &start, &end) && !bytes.bad)
        if (start < end)
            take(context, start, end);
}

/* One entry of a list of DWARF 5. False: it is the end. */
static bool entry_read(const struct reach *reach, struct bytes *bytes, uint64_t *base,
                       uint64_t *start, uint64_t *end)
{
    unsigned kind = (unsigned)bytes_fixed(bytes, 1);
    *start = *end = 0;
    switch (kind) {
    case DW_RLE_base_addressx:
        return address_at(reach, bytes_uleb(bytes), base);
    case DW_RLE_base_address:
        *base = bytes_fixed(bytes, reach->address_size);
        return true;
    case DW_RLE_offset_pair:
        *start = *base + bytes_uleb(bytes);
        *end = *base + bytes_uleb(bytes);
        return true;
    case DW_RLE_startx_endx:
        return address_at(reach, bytes_uleb(bytes), start) &&
               address_at(reach, bytes_uleb(bytes), end);
    case DW_RLE_startx_length:
        if (!address_at(reach, bytes_uleb(bytes), start))
            return false;
        *end = *start + bytes_uleb(bytes);
        return true;
    case DW_RLE_start_end:
        *start = bytes_fixed(bytes, reach->address_size);
        *end = bytes_fixed(bytes, reach->address_size);
        return true;
    case DW_RLE_start_length:
        *start = bytes_fixed(bytes, reach->address_size);
        *end = *start + bytes_uleb(bytes);
        return true;
    default:
        return false;
    }
}

/* Where a list begins that is known by its number: a table of offsets stands before the lists, and
 * they are counted from its beginning. */
static uint64_t list_place(const struct reach *reach, uint64_t number)
{
    uint64_t table = reach->offset_size == 8 ? 20 : 12, offset = 0;
    if (reach->lists_size < table || number >= (reach->lists_size - table) / reach->offset_size)
        return reach->lists_size;
    memcpy(&offset, reach->lists + table + number * reach->offset_size, reach->offset_size);
    return offset < reach->lists_size - table ? table + offset : reach->lists_size;
}

/* SPDX-License-Identifier: MIT */
/*
 * See tool/symbol/dwarf_tree.h. Every step is checked against the end of the unit. An entry whose
 * attributes all have a fixed size is stepped over by one addition, which is most of them. Shapes
 * are read with libdw, whose count of attributes is wrong for one form: they are asked for until
 * there is no more.
 */
#include "tool/symbol/dwarf_tree.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "tool/memory/memory.h"

/* CODES_MAX: a bound for damaged files; units have some hundred shapes. */
enum { CODES_MAX = 1 << 20, FORM_LEB = 0xf0, FORM_TEXT, FORM_BLOCK, FORM_OTHER };

struct tree_attribute {
    uint16_t name, form;
    uint8_t size; /* of its bytes; or FORM_... */
};

struct tree_shape {
    uint32_t first, count; /* in attributes */
    int32_t size;          /* of all; -1: differs */
    uint16_t tag;
    bool children, telling; /* has addresses or a sibling */
};

static bool shapes_read(struct tree *tree, Dwarf_Die *root);
static bool shape_read(struct tree *tree, Dwarf_Abbrev *abbrev, size_t *room);
static uint8_t form_size(const struct tree *tree, unsigned form);
static bool attribute_add(struct tree *tree, size_t *room, const struct tree_attribute *attribute);
static bool leb_read(const unsigned char **at, const unsigned char *end, uint64_t *value);
static bool step_over(const unsigned char **at, const unsigned char *end, uint64_t size);
static void attribute_take(const struct tree *tree, struct tree_die *die,
                           const struct tree_attribute *attribute, const unsigned char *at);
static bool number_read(const unsigned char **at, const unsigned char *end, unsigned size,
                        uint64_t *value);
static bool value_skip(const struct tree *tree, const unsigned char **at, unsigned form,
                       uint8_t size);

bool tree_open(struct tree *tree, Dwarf_Die *root)
{
    Dwarf_Half version;
    uint8_t address_size, offset_size;
    Dwarf_Die again;
    uint64_t length = 0;
    memset(tree, 0, sizeof *tree);
    Dwarf_Off in_unit = dwarf_cuoffset(root);
    if (in_unit < 11 || in_unit > 64 ||
        !dwarf_cu_die(root->cu, &again, &version, NULL, &address_size, &offset_size, NULL, NULL))
        return false;
    tree->cu = root->cu;
    tree->version = version;
    tree->address_size = address_size;
    tree->offset_size = offset_size;
    tree->at = root->addr;
    tree->unit = tree->at - in_unit;
    if (offset_size == 8)
        memcpy(&length, tree->unit + 4, 8);
    else
        memcpy(&length, tree->unit, 4);
    /* libdw has checked that the unit lies within its section. */
    tree->end = tree->unit + length + (offset_size == 8 ? 12 : 4);
    return shapes_read(tree, root);
}

static bool shapes_read(struct tree *tree, Dwarf_Die *root)
{
    size_t length = 0, room = 0;
    Dwarf_Off offset = 0;
    Dwarf_Abbrev *abbrev;
    for (; (abbrev = dwarf_getabbrev(root, offset, &length)) != NULL && abbrev != DWARF_END_ABBREV;
         offset += length) {
        unsigned code = dwarf_getabbrevcode(abbrev);
        if (code > CODES_MAX || length == 0)
            return false;
        if (code >= tree->shapes_count) {
            size_t before = tree->shapes_count;
            if (!list_reserve(&tree->shapes, &tree->shapes_count, (size_t)code + 1,
                              sizeof *tree->shapes))
                return false;
            memset(tree->shapes + before, 0, (tree->shapes_count - before) * sizeof *tree->shapes);
        }
        if (!shape_read(tree, abbrev, &room))
            return false;
    }
    return tree->shapes_count > 0;
}

/* dwarf_getattrcnt miscounts where there is a DW_FORM_implicit_const (elfutils 0.188): the
 * attributes are asked for until there is no more. */
static bool shape_read(struct tree *tree, Dwarf_Abbrev *abbrev, size_t *room)
{
    struct tree_shape *shape = &tree->shapes[dwarf_getabbrevcode(abbrev)];
    unsigned name, form;
    *shape = (struct tree_shape){.first = (uint32_t)tree->attributes_count,
                                 .tag = (uint16_t)dwarf_getabbrevtag(abbrev),
                                 .children = dwarf_abbrevhaschildren(abbrev)};
    for (; dwarf_getabbrevattr(abbrev, shape->count, &name, &form, NULL) == 0; shape->count++) {
        uint8_t size = form_size(tree, form);
        struct tree_attribute attribute = {(uint16_t)name, (uint16_t)form, size};
        if (!attribute_add(tree, room, &attribute))
            return false;
        shape->size = size >= FORM_LEB || shape->size < 0 ? -1 : shape->size + size;
        shape->telling |= name == DW_AT_low_pc || name == DW_AT_ranges || name == DW_AT_sibling;
    }
    return true;
}

/* How long a value is. */
static uint8_t form_size(const struct tree *tree, unsigned form)
{
    switch (form) {
    case DW_FORM_addr:
        return (uint8_t)tree->address_size;
    case DW_FORM_flag_present:
    case DW_FORM_implicit_const:
        return 0;
    case DW_FORM_data1:
    case DW_FORM_ref1:
    case DW_FORM_flag:
    case DW_FORM_strx1:
    case DW_FORM_addrx1:
        return 1;
    case DW_FORM_data2:
    case DW_FORM_ref2:
    case DW_FORM_strx2:
    case DW_FORM_addrx2:
        return 2;
    case DW_FORM_strx3:
    case DW_FORM_addrx3:
        return 3;
    case DW_FORM_data4:
    case DW_FORM_ref4:
    case DW_FORM_strx4:
    case DW_FORM_addrx4:
    case DW_FORM_ref_sup4:
        return 4;
    case DW_FORM_data8:
    case DW_FORM_ref8:
    case DW_FORM_ref_sig8:
    case DW_FORM_ref_sup8:
        return 8;
    case DW_FORM_data16:
        return 16;
    case DW_FORM_ref_addr:
        return (uint8_t)(tree->version < 3 ? tree->address_size : tree->offset_size);
    case DW_FORM_sec_offset:
    case DW_FORM_strp:
    case DW_FORM_line_strp:
    case DW_FORM_strp_sup:
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_GNU_strp_alt:
        return (uint8_t)tree->offset_size;
    case DW_FORM_sdata:
    case DW_FORM_udata:
    case DW_FORM_ref_udata:
    case DW_FORM_strx:
    case DW_FORM_addrx:
    case DW_FORM_loclistx:
    case DW_FORM_rnglistx:
    case DW_FORM_GNU_str_index:
    case DW_FORM_GNU_addr_index:
        return FORM_LEB;
    case DW_FORM_string:
        return FORM_TEXT;
    case DW_FORM_block1:
    case DW_FORM_block2:
    case DW_FORM_block4:
    case DW_FORM_block:
    case DW_FORM_exprloc:
        return FORM_BLOCK;
    default:
        return FORM_OTHER; /* DW_FORM_indirect, and what is not known */
    }
}

static bool attribute_add(struct tree *tree, size_t *room, const struct tree_attribute *attribute)
{
    if (!list_reserve(&tree->attributes, room, tree->attributes_count + 1,
                      sizeof *tree->attributes))
        return false;
    tree->attributes[tree->attributes_count++] = *attribute;
    return true;
}

void tree_close(struct tree *tree)
{
    free(tree->shapes);
    free(tree->attributes);
    memset(tree, 0, sizeof *tree);
}

bool tree_next(struct tree *tree, struct tree_die *die)
{
    const unsigned char *start = tree->at;
    uint64_t code = 0;
    for (; tree->at < tree->end; start = tree->at) {
        if (!leb_read(&tree->at, tree->end, &code))
            return false;
        if (code != 0)
            break;
        if (tree->level-- <= 1)
            return false;
    }
    if (code == 0 || code >= tree->shapes_count || tree->shapes[code].tag == 0)
        return false;
    const struct tree_shape *shape = &tree->shapes[code];
    memset(die, 0, sizeof *die);
    die->die.addr = (void *)start;
    die->die.cu = tree->cu;
    die->tag = shape->tag;
    die->children = shape->children;
    die->level = tree->level;
    if (shape->size >= 0 && !shape->telling) {
        if (!step_over(&tree->at, tree->end, (uint64_t)shape->size))
            return false;
    } else {
        const struct tree_attribute *attributes = &tree->attributes[shape->first];
        for (uint32_t i = 0; i < shape->count; i++) {
            if (shape->telling)
                attribute_take(tree, die, &attributes[i], tree->at);
            if (!value_skip(tree, &tree->at, attributes[i].form, attributes[i].size))
                return false;
        }
    }
    if (die->simple && die->behind == 0)
        die->simple = false;
    if (shape->children && ++tree->level >= TREE_LEVELS)
        return false;
    return tree->level > 0 || !shape->children;
}

static bool leb_read(const unsigned char **at, const unsigned char *end, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; *at < end; shift += 7) {
        unsigned char byte = *(*at)++;
        if (shift < 64)
            *value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

static bool step_over(const unsigned char **at, const unsigned char *end, uint64_t size)
{
    if ((uint64_t)(end - *at) < size)
        return false;
    *at += size;
    return true;
}

/* What of an entry is of interest. */
static void attribute_take(const struct tree *tree, struct tree_die *die,
                           const struct tree_attribute *attribute, const unsigned char *at)
{
    uint64_t value = 0;
    bool number = attribute->size <= 8 && number_read(&at, tree->end, attribute->size, &value);
    switch (attribute->name) {
    case DW_AT_low_pc:
        die->has_pc = true;
        die->simple |= attribute->form == DW_FORM_addr && number;
        die->low = value;
        break;
    case DW_AT_high_pc:
        if (attribute->form == DW_FORM_udata)
            number = leb_read(&at, tree->end, &value);
        die->behind = attribute->form == DW_FORM_addr ? value : die->low + value;
        die->simple &= number && attribute->form != DW_FORM_implicit_const;
        break;
    case DW_AT_ranges:
        die->has_pc = true;
        die->simple = false;
        break;
    case DW_AT_sibling:
        if (attribute->form == DW_FORM_ref_udata)
            number = leb_read(&at, tree->end, &value);
        if (number && attribute->form != DW_FORM_ref_addr &&
            value < (uint64_t)(tree->end - tree->unit))
            die->sibling = tree->unit + value;
        break;
    default:
        break;
    }
}

static bool number_read(const unsigned char **at, const unsigned char *end, unsigned size,
                        uint64_t *value)
{
    *value = 0;
    if ((size_t)(end - *at) < size || size > 8)
        return false;
    memcpy(value, *at, size);
    *at += size;
    return true;
}

/* Behind a value whose length its form does not tell. */
static bool value_skip(const struct tree *tree, const unsigned char **at, unsigned form,
                       uint8_t size)
{
    uint64_t number;
    const unsigned char *zero;
    switch (size) {
    case FORM_LEB:
        return leb_read(at, tree->end, &number);
    case FORM_TEXT:
        zero = memchr(*at, 0, (size_t)(tree->end - *at));
        *at = zero ? zero + 1 : tree->end;
        return zero;
    case FORM_BLOCK:
        if (form == DW_FORM_block1 || form == DW_FORM_block2 || form == DW_FORM_block4
                ? !number_read(at, tree->end,
                               form == DW_FORM_block1   ? 1
                               : form == DW_FORM_block2 ? 2
                                                        : 4,
                               &number)
                : !leb_read(at, tree->end, &number))
            return false;
        return step_over(at, tree->end, number);
    case FORM_OTHER:
        if (form != DW_FORM_indirect || !leb_read(at, tree->end, &number) ||
            number == DW_FORM_indirect || number == DW_FORM_implicit_const)
            return false;
        return value_skip(tree, at, (unsigned)number, form_size(tree, (unsigned)number));
    default:
        return step_over(at, tree->end, size);
    }
}

void tree_skip(struct tree *tree, const struct tree_die *die)
{
    if (!die->children || !die->sibling || die->sibling < tree->at)
        return;
    tree->at = die->sibling;
    tree->level = die->level;
}

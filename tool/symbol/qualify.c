/* SPDX-License-Identifier: MIT */
/*
 * See tool/symbol/qualify.h. One pass over a unit notes where namespaces and classes begin and end,
 * in the order of the file; the innermost one around an entry is found by bisection. Units are read
 * when the first name of theirs is asked for, which most are not.
 */
#include "tool/symbol/qualify.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/memory/memory.h"
#include "tool/symbol/dwarf_tree.h"
#include "tool/terminal/terminal.h"

/* Steps from an entry to its declaration, of which there are one or two; damaged ones may
 * circle. */
enum { OUTSIDE = UINT32_MAX, NAME_SIZE = 16384, STEPS_MAX = 16 };

/* An entry that has others in it. */
struct around {
    const unsigned char *start, *end;
    uint32_t outer;
    uint16_t tag;
};

struct qualify_unit {
    Dwarf_CU *cu;
    struct around *around; /* in the order of the file */
    size_t count, room;
};

static void die_origin(Dwarf_Die *die);
static struct qualify_unit *unit_of(struct qualify *qualify, Dwarf_CU *cu);
static void unit_read(struct qualify_unit *unit);
static bool is_around(unsigned tag);
static bool around_add(struct qualify_unit *unit, const struct tree_die *die, uint32_t outer);
static uint32_t around_find(const struct qualify_unit *unit, const unsigned char *place);
static char *text_before(char *text, const char *buffer, const char *name, const char *between);
static unsigned bytes_of(const char *text);

char *qualify_name(struct qualify *qualify, Dwarf_Die *function)
{
    Dwarf_Die die = *function;
    die_origin(&die);
    const char *own = dwarf_diename(&die);
    struct qualify_unit *unit = own ? unit_of(qualify, die.cu) : NULL;
    uint32_t outer = unit ? around_find(unit, die.addr) : OUTSIDE;
    if (outer == OUTSIDE)
        return NULL;
    char *buffer = malloc(NAME_SIZE), *found = NULL;
    if (buffer) {
        buffer[NAME_SIZE - 1] = '\0';
        char *text = text_before(buffer + NAME_SIZE - 1, buffer, own, "");
        for (; outer != OUTSIDE; outer = unit->around[outer].outer) {
            const struct around *around = &unit->around[outer];
            Dwarf_Die part = {.addr = (void *)around->start, .cu = unit->cu};
            if (around->tag == DW_TAG_subprogram)
                die_origin(&part);
            const char *name = dwarf_diename(&part);
            if (!name)
                name = around->tag == DW_TAG_namespace  ? "(anonymous namespace)"
                       : strcmp(own, "operator()") == 0 ? "{lambda}"
                                                        : "(anonymous)";
            text = text_before(text, buffer, name, "::");
        }
        found = strdup(text);
    }
    free(buffer);
    return found;
}

/* What an entry is an instance or the definition of, as far as that goes. */
static void die_origin(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    Dwarf_Die next;
    for (unsigned i = 0; i < STEPS_MAX; i++) {
        if (!dwarf_attr(die, DW_AT_abstract_origin, &attribute) &&
            !dwarf_attr(die, DW_AT_specification, &attribute))
            return;
        if (!dwarf_formref_die(&attribute, &next))
            return;
        *die = next;
    }
}

static struct qualify_unit *unit_of(struct qualify *qualify, Dwarf_CU *cu)
{
    for (size_t i = 0; i < qualify->count; i++)
        if (qualify->units[i].cu == cu)
            return &qualify->units[i];
    if (!list_reserve(&qualify->units, &qualify->room, qualify->count + 1, sizeof *qualify->units))
        return NULL;
    struct qualify_unit *unit = &qualify->units[qualify->count++];
    memset(unit, 0, sizeof *unit);
    unit->cu = cu;
    unit_read(unit);
    return unit;
}

/* All that stands around others; each ends where an entry of its own level comes. */
static void unit_read(struct qualify_unit *unit)
{
    struct tree tree;
    struct tree_die die;
    Dwarf_Die root;
    uint32_t open[TREE_LEVELS + 1]; /* by level: the entry whose children are there */
    unsigned last = 0;
    if (!dwarf_cu_die(unit->cu, &root, NULL, NULL, NULL, NULL, NULL, NULL))
        return;
    bool ok = tree_open(&tree, &root);
    open[0] = OUTSIDE;
    while (ok && tree_next(&tree, &die)) {
        for (; last > die.level; last--)
            if (open[last] != OUTSIDE && open[last] != open[last - 1])
                unit->around[open[last]].end = die.die.addr;
        uint32_t outer = open[die.level];
        last = die.level;
        if (!die.children)
            continue;
        open[++last] = outer;
        if (is_around(die.tag)) {
            if (!around_add(unit, &die, outer))
                break;
            open[last] = (uint32_t)unit->count - 1;
        } else if (die.tag != DW_TAG_compile_unit && die.tag != DW_TAG_partial_unit &&
                   die.tag != DW_TAG_lexical_block) {
            tree_skip(&tree, &die);
            last = tree.level;
        }
    }
    for (size_t i = 0; i < unit->count; i++)
        if (!unit->around[i].end)
            unit->around[i].end = tree.end;
    tree_close(&tree);
}

static bool is_around(unsigned tag)
{
    return tag == DW_TAG_namespace || tag == DW_TAG_structure_type || tag == DW_TAG_class_type ||
           tag == DW_TAG_union_type || tag == DW_TAG_subprogram;
}

static bool around_add(struct qualify_unit *unit, const struct tree_die *die, uint32_t outer)
{
    if (!list_reserve(&unit->around, &unit->room, unit->count + 1, sizeof *unit->around))
        return false;
    unit->around[unit->count++] = (struct around){die->die.addr, NULL, outer, (uint16_t)die->tag};
    return true;
}

/* The innermost entry around a place. */
static uint32_t around_find(const struct qualify_unit *unit, const unsigned char *place)
{
    size_t low = 0, high = unit->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (unit->around[middle].start < place)
            low = middle + 1;
        else
            high = middle;
    }
    uint32_t found = low == 0 ? OUTSIDE : (uint32_t)low - 1;
    while (found != OUTSIDE && unit->around[found].end <= place)
        found = unit->around[found].outer;
    return found;
}

/* Puts a name and what follows it in front of a text that ends at the end of its buffer. Of one
 * that is long, arguments go. */
static char *text_before(char *text, const char *buffer, const char *name, const char *between)
{
    enum { PART_MAX = NAME_SIZE / 8 };
    size_t length = strlen(name), more = strlen(between);
    char *shorter = length > PART_MAX ? strdup(name) : NULL;
    if (shorter) {
        name_shorten(shorter, PART_MAX, bytes_of, "...");
        name = shorter;
        length = strlen(name);
    }
    if ((size_t)(text - buffer) >= length + more) {
        text -= more;
        memcpy(text, between, more); /* NOLINT(bugprone-not-null-terminated-result) */
        text -= length;
        memcpy(text, name, length); /* NOLINT(bugprone-not-null-terminated-result) */
    }
    free(shorter);
    return text;
}

static unsigned bytes_of(const char *text)
{
    return (unsigned)strlen(text);
}

void qualify_free(struct qualify *qualify)
{
    for (size_t i = 0; i < qualify->count; i++)
        free(qualify->units[i].around);
    free(qualify->units);
    memset(qualify, 0, sizeof *qualify);
}

/* SPDX-License-Identifier: MIT */
/*
 * See tool/symbol/debug_info.h. The addresses are sorted, and every unit is walked at most once,
 * for all addresses in it together: first the ranges of the unit, then those of its functions, and
 * only in functions that have an address of ours the tree of what was inlined. What is inlined
 * lies within what it is inlined into, so that the last one found is the innermost.
 */
#include "tool/symbol/debug_info.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "tool/memory/memory.h"
#include "tool/symbol/demangle.h"
#include "tool/symbol/dwarf_tree.h"
#include "tool/symbol/qualify.h"
#include "tool/symbol/reach.h"

enum { NO_FRAME = UINT32_MAX };

/* A function at an address, or one that was inlined into `outer`. */
struct scope {
    uint32_t outer;
    Dwarf_Die die;
    uint64_t start; /* of a function; 0: inlined */
};

struct unit {
    struct answers *answers;
    const struct table *table;
    const struct debug_options *options;
    Dwarf_CU *cu;
    bool split;
    Dwarf_Die head; /* the unit's own: ranges and lines */
    Dwarf_Die tree; /* its functions, perhaps in another file (.dwo, .dwp) */
    struct bundle bundle;
    struct reach reach;
    bool bundled; /* the tree is in the bundle */
    struct scope *scopes;
    size_t scopes_count, scopes_room;
    uint32_t *inner; /* by answer: the innermost scope */
    struct qualify qualify;
    bool mangled; /* of a language whose names the linker sees changed */
};

static bool unit_look(struct unit *unit);
static void unit_walk(struct unit *unit);
static void unit_answer(struct unit *unit, size_t number);

bool debug_info_answer(struct answers *answers, Dwarf *dwarf, const struct table *table,
                       const struct debug_options *options)
{
    struct unit unit = {.answers = answers, .table = table, .options = options};
    bool whole = true;
    unit.bundle.image = options->bundle;
    unit.inner = malloc((answers->count + 1) * sizeof *unit.inner);
    if (!unit.inner) {
        answers->failed = true;
        return false;
    }
    memset(unit.inner, 0xff, (answers->count + 1) * sizeof *unit.inner);
    for (;;) {
        uint8_t type;
        if (dwarf_get_units(dwarf, unit.cu, &unit.cu, NULL, &type, &unit.head, NULL) != 0)
            break;
        unit.split = type == DW_UT_skeleton;
        if (type == DW_UT_compile || unit.split)
            whole &= unit_look(&unit);
    }
    bundle_close(&unit.bundle);
    qualify_free(&unit.qualify);
    free(unit.scopes);
    free(unit.inner);
    return whole;
}

/* Finds the tree. False: it is in a file that is not here; then there are only lines. */
static bool unit_open(struct unit *unit)
{
    uint64_t id;
    Dwarf_Die other;
    unit->tree = unit->head;
    unit->bundled = false;
    unit->scopes_count = 0;
    if (!unit->split)
        return true;
    if (dwarf_cu_info(unit->cu, NULL, NULL, NULL, &other, &id, NULL, NULL) != 0)
        return false;
    if (!other.addr) {
        if (!bundle_unit(&unit->bundle, id, &other))
            return false;
        qualify_free(&unit->qualify); /* a unit of the bundle is gone when the next one comes */
        reach_open(&unit->reach, unit->options->image, &unit->head, &other, &unit->bundle);
        unit->bundled = true;
    }
    unit->tree = other;
    return true;
}

/* False: there is an address of ours in it, and the functions are in a file that is not here. */
static bool unit_look(struct unit *unit)
{
    struct answers *answers = unit->answers;
    Dwarf_Addr base, start, end;
    ptrdiff_t at = 0;
    bool none = true, found = true;
    while ((at = dwarf_ranges(&unit->head, at, &base, &start, &end)) > 0) {
        size_t first = answers_at(answers, start), behind = first;
        while (behind < answers->count && answers->items[behind].address < end)
            behind++;
        if (first == behind)
            continue;
        if (none) {
            found = unit_open(unit);
            int language = dwarf_srclang(&unit->tree);
            unit->mangled = language == DW_LANG_C_plus_plus || language == DW_LANG_C_plus_plus_03 ||
                            language == DW_LANG_C_plus_plus_11 ||
                            language == DW_LANG_C_plus_plus_14;
            unit_walk(unit);
        }
        none = false;
        for (size_t i = first; i < behind; i++)
            if (answers->items[i].state == ANSWER_OPEN)
                unit_answer(unit, i);
    }
    return found;
}

/* A function that is looked at: whether it becomes a scope. */
struct entering {
    struct unit *unit;
    uint32_t outer;
    uint64_t first; /* where it begins */
    bool any;       /* there is an address of ours in it */
};

/* Gives a range of a function to those of our addresses that are in it, and in `outer` so far. */
static void range_enter(void *context, uint64_t start, uint64_t end)
{
    struct entering *entering = context;
    struct unit *unit = entering->unit;
    struct answers *answers = unit->answers;
    if (entering->first == 0)
        entering->first = start;
    for (size_t i = answers_at(answers, start);
         i < answers->count && answers->items[i].address < end; i++) {
        if (unit->inner[i] != entering->outer || answers->items[i].state != ANSWER_OPEN)
            continue;
        unit->inner[i] = (uint32_t)unit->scopes_count;
        entering->any = true;
    }
}

static void ranges_enter(struct entering *entering, struct tree_die *die)
{
    Dwarf_Addr base, start, end;
    ptrdiff_t at = 0;
    if (die->simple)
        range_enter(entering, die->low, die->behind);
    else if (entering->unit->bundled)
        reach_each(&entering->unit->reach, &die->die, range_enter, entering);
    else
        while ((at = dwarf_ranges(&die->die, at, &base, &start, &end)) > 0)
            range_enter(entering, start, end);
}

/* Whether there is an address of ours in a function; it becomes a scope then. */
static bool scope_enter(struct unit *unit, struct tree_die *die, uint32_t outer)
{
    struct entering entering = {.unit = unit, .outer = outer};
    ranges_enter(&entering, die);
    if (!entering.any)
        return false;
    if (!list_reserve(&unit->scopes, &unit->scopes_room, unit->scopes_count + 1,
                      sizeof *unit->scopes)) {
        unit->answers->failed = true;
        return false;
    }
    unit->scopes[unit->scopes_count++] =
        (struct scope){outer, die->die, outer == NO_FRAME ? entering.first : 0};
    return true;
}

/* Whether a subtree may have functions with addresses that are not looked for. Types have none,
 * but for those within functions; what is inlined has none. */
static bool may_skip(const struct tree_die *die, bool in_function)
{
    switch (die->tag) {
    case DW_TAG_subprogram:
    case DW_TAG_lexical_block:
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_compile_unit:
        return false;
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
        return !in_function;
    default:
        return true;
    }
}

static void unit_walk(struct unit *unit)
{
    struct tree tree;
    struct tree_die die;
    uint32_t outers[TREE_LEVELS + 1]; /* by level: what its entries are in */
    unsigned function = TREE_LEVELS;  /* level of the outermost one that we are in */
    outers[0] = outers[1] = NO_FRAME;
    bool ok = tree_open(&tree, &unit->tree);
    while (ok && tree_next(&tree, &die)) {
        uint32_t outer = outers[die.level];
        bool entered = false;
        if (die.level <= function)
            function = die.tag == DW_TAG_subprogram ? die.level : TREE_LEVELS;
        if (die.tag == DW_TAG_subprogram)
            entered = die.has_pc && scope_enter(unit, &die, outer = NO_FRAME);
        else if (die.tag == DW_TAG_inlined_subroutine)
            entered = outer != NO_FRAME && die.has_pc && !unit->options->no_inlines &&
                      scope_enter(unit, &die, outer);
        outers[die.level + 1] = entered ? (uint32_t)unit->scopes_count - 1 : outer;
        if (!entered && may_skip(&die, function < TREE_LEVELS))
            tree_skip(&tree, &die);
    }
    tree_close(&tree);
}

/* The text of an attribute, of the thing itself or what it is an instance of. */
static const char *die_text(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    return dwarf_formstring(dwarf_attr_integrate(die, name, &attribute));
}

static uint32_t die_number(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    Dwarf_Word number;
    if (dwarf_formudata(dwarf_attr_integrate(die, name, &attribute), &number) != 0)
        return 0;
    return number > UINT32_MAX ? 0 : (uint32_t)number;
}

static void frame_name_set(struct unit *unit, struct answer_frame *frame, const char *name)
{
    char *readable = symbol_demangle(name);
    frame->system_name = answers_text(unit->answers, name);
    frame->name = readable ? answers_text(unit->answers, readable) : frame->system_name;
    free(readable);
}

/* Whether a symbol is a function's own, and not another name of the same code: an alias, or a
 * function that the linker folded into this one. Operators have names of their own there. */
static bool symbol_fits(const char *symbol, const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    name += name[0] == '~';
    size_t length = strspn(name, letters);
    if (strncmp(symbol, "_Z", 2) != 0)
        return strncmp(symbol, name, length) == 0 && strspn(symbol, letters) == length;
    return strncmp(name, "operator", 8) == 0 || memmem(symbol, strlen(symbol), name, length);
}

static void frame_name(struct unit *unit, struct answer_frame *frame, struct scope *scope)
{
    const char *linkage = die_text(&scope->die, DW_AT_linkage_name);
    if (!linkage)
        linkage = die_text(&scope->die, DW_AT_MIPS_linkage_name);
    const char *name = linkage ? linkage : die_text(&scope->die, DW_AT_name);
    if (!linkage && scope->start != 0 && unit->mangled) {
        const struct table_symbol *symbol = table_find(unit->table, scope->start);
        if (symbol && symbol->start == scope->start && !symbol->stub &&
            (!name || symbol_fits(symbol->name, name)))
            name = symbol->name;
    }
    frame_name_set(unit, frame, name ? name : "");
    if (unit->mangled && !linkage && frame->name == frame->system_name) {
        char *full = qualify_name(&unit->qualify, &scope->die);
        if (full)
            frame->name = answers_text(unit->answers, full);
        free(full);
    }
    frame->start_line = die_number(&scope->die, DW_AT_decl_line);
}

/* The number of the first line behind an address. */
static size_t line_behind(Dwarf_Lines *lines, size_t count, uint64_t address)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        Dwarf_Addr at = 0;
        dwarf_lineaddr(dwarf_onesrcline(lines, middle), &at);
        if (at <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The place in the source that an address came from. */
static void frame_line(struct unit *unit, struct answer_frame *frame, uint64_t address)
{
    Dwarf_Lines *lines;
    size_t count;
    if (dwarf_getsrclines(&unit->head, &lines, &count) != 0)
        return;
    size_t behind = line_behind(lines, count, address);
    Dwarf_Line *line = behind > 0 ? dwarf_onesrcline(lines, behind - 1) : NULL;
    bool ends = true;
    int number = 0, column = 0;
    if (!line || dwarf_lineendsequence(line, &ends) != 0 || ends)
        return;
    dwarf_lineno(line, &number);
    dwarf_linecol(line, &column);
    frame->file = answers_text(unit->answers, dwarf_linesrc(line, NULL, NULL));
    frame->line = (uint32_t)number;
    frame->column = (uint32_t)column;
}

/* The files that the tree has numbers of. Of a part that was split off, these are its own; but LLVM
 * takes those of the part that stayed, and is known by naming the file there as well. */
static bool unit_files(struct unit *unit, Dwarf_Files **files, size_t *count)
{
    bool stayed = unit->split && (dwarf_hasattr(&unit->tree, DW_AT_dwo_name) ||
                                  dwarf_hasattr(&unit->tree, DW_AT_GNU_dwo_name));
    return dwarf_getsrcfiles(stayed ? &unit->head : &unit->tree, files, count) == 0;
}

/* Where a call stood that was inlined. */
static void frame_call(struct unit *unit, struct answer_frame *frame, Dwarf_Die *inlined)
{
    Dwarf_Attribute attribute;
    Dwarf_Word line = 0, column = 0, number = 0;
    Dwarf_Files *files;
    size_t count;
    dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attribute), &line);
    dwarf_formudata(dwarf_attr(inlined, DW_AT_call_column, &attribute), &column);
    frame->line = (uint32_t)line;
    frame->column = (uint32_t)column;
    if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attribute), &number) == 0 &&
        unit_files(unit, &files, &count) && number < count)
        frame->file = answers_text(unit->answers, dwarf_filesrc(files, number, NULL, NULL));
}

static void unit_answer(struct unit *unit, size_t number)
{
    struct answer *answer = &unit->answers->items[number];
    struct answer_frame frame = {0};
    uint32_t scope = unit->inner[number];
    if (unit->options->looked)
        __atomic_fetch_add(unit->options->looked, 1, __ATOMIC_RELAXED);
    frame_line(unit, &frame, answer->address);
    if (scope == NO_FRAME) { /* a part without DWARF of its own, or written in assembler */
        const struct table_symbol *symbol = table_find(unit->table, answer->address);
        if (frame.line == 0 || !symbol || !table_holds(unit->table, symbol, answer->address))
            return;
        frame_name_set(unit, &frame, symbol->name);
        answers_add(unit->answers, answer, &frame);
        answer->state = ANSWER_DWARF;
        return;
    }
    while (scope != NO_FRAME) {
        struct scope *here = &unit->scopes[scope];
        frame_name(unit, &frame, here);
        answers_add(unit->answers, answer, &frame);
        frame = (struct answer_frame){0};
        if (here->outer != NO_FRAME)
            frame_call(unit, &frame, &here->die);
        scope = here->outer;
    }
    answer->state = ANSWER_DWARF;
    unit->inner[number] = NO_FRAME;
}

/* Whether a unit has code at an address. */
static bool unit_has(Dwarf_Die *head, uint64_t address)
{
    Dwarf_Addr base, start, end;
    ptrdiff_t at = 0;
    while ((at = dwarf_ranges(head, at, &base, &start, &end)) > 0)
        if (address >= start && address < end)
            return true;
    return false;
}

void debug_info_lines(Dwarf *dwarf, uint64_t start, uint64_t end,
                      void (*take)(void *context, uint64_t address, uint32_t line,
                                   const char *file),
                      void *context)
{
    Dwarf_CU *cu = NULL;
    Dwarf_Half version;
    uint8_t type;
    Dwarf_Die head;
    Dwarf_Lines *lines;
    size_t count;
    while (dwarf_get_units(dwarf, cu, &cu, &version, &type, &head, NULL) == 0) {
        if ((type != DW_UT_compile && type != DW_UT_skeleton) || !unit_has(&head, start) ||
            dwarf_getsrclines(&head, &lines, &count) != 0)
            continue;
        size_t at = line_behind(lines, count, start);
        for (at -= at > 0; at < count; at++) {
            Dwarf_Line *line = dwarf_onesrcline(lines, at);
            Dwarf_Addr address = 0;
            int number = 0;
            bool ends = true;
            if (dwarf_lineaddr(line, &address) != 0 || address >= end)
                break;
            dwarf_lineno(line, &number);
            if (dwarf_lineendsequence(line, &ends) == 0 && !ends)
                take(context, address < start ? start : address, (uint32_t)number,
                     dwarf_linesrc(line, NULL, NULL));
        }
        return;
    }
}

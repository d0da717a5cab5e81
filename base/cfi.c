/* SPDX-License-Identifier: MIT */
/*
 * See base/cfi.h. The format is that of the Linux Standard Base (.eh_frame, .eh_frame_hdr), the
 * instructions are DWARF's.
 *
 * A table is a list of entries. A common entry (CIE) holds what functions share; an entry of a
 * function (FDE) names its CIE and its range of code, and has instructions that build the row line
 * by line from the function's start to the wanted place. The header has the entries of functions
 * sorted by address.
 */
#include "base/cfi.h"

#include <stddef.h>
#include <string.h>

#include "base/cfi_expression.h"
#include "base/compiler.h"
#include "base/os.h"

enum { SAVED_ROWS = 6 }; /* nested remember_state; compilers use one */

/* Encodings of pointers: a format and what it is relative to. */
enum {
    FORMAT_ADDRESS = 0,
    FORMAT_ULEB = 1,
    FORMAT_U2 = 2,
    FORMAT_U4 = 3,
    FORMAT_U8 = 4,
    FORMAT_SLEB = 9,
    FORMAT_S2 = 10,
    FORMAT_S4 = 11,
    FORMAT_S8 = 12,
    FORMAT_MASK = 15,
    RELATIVE_HERE = 0x10,
    RELATIVE_HEADER = 0x30,
    RELATIVE_MASK = 0x70,
    POINTER_INDIRECT = 0x80,
    POINTER_ABSENT = 0xff,
};

/* One function, and what its common entry says. */
struct function {
    uintptr_t start, end;
    const uint8_t *tables;
    struct bytes common, own; /* instructions */
    uint64_t code_unit;
    int64_t data_unit;
    unsigned return_column;
    bool signal;
};

struct common {
    struct bytes code;
    uint64_t code_unit;
    int64_t data_unit;
    unsigned return_column;
    uint8_t encoding;
    bool augmented, signal;
};

/* A cache of pages that are known to be readable, indexed by page number, emptied when objects are
 * unloaded. The extent that C libraries report for an object is no bound for its tables: in static
 * programs it covers the code alone. */
enum { KNOWN = 512 };
static BULK uintptr_t known[KNOWN];
static uint32_t forgotten;

void cfi_forget(void)
{
    __atomic_fetch_add(&forgotten, 1, __ATOMIC_SEQ_CST);
    for (unsigned i = 0; i < KNOWN; i++)
        if (load_relaxed(&known[i]) != 0) /* an untouched page of the cache stays untouched */
            store_relaxed(&known[i], 0);
}

static bool page_reached(uintptr_t page, uintptr_t word)
{
    uintptr_t *place = &known[page / os_page_size() % KNOWN];
    uint32_t before = load_acquire(&forgotten);
    if (load_relaxed(place) == page)
        return true;
    if (!os_readable((const void *)word, sizeof word))
        return false;
    store_relaxed(place, page);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (load_relaxed(&forgotten) != before)
        store_relaxed(place, 0);
    return true;
}

static bool reached(const void *from, size_t size)
{
    uintptr_t at = (uintptr_t)from, page_size = os_page_size();
    if (at + size < at)
        return false;
    for (uintptr_t page = at & ~(page_size - 1); page < at + size; page += page_size) {
        uintptr_t first = page > at ? page : at;
        if (!page_reached(page, first & ~(uintptr_t)(sizeof first - 1)))
            return false;
    }
    return true;
}

/* Pointers are not dereferenced: tables have indirect ones only in fields that we skip. */
static uintptr_t pointer_read(struct bytes *bytes, unsigned encoding, uintptr_t header)
{
    uintptr_t here = (uintptr_t)bytes->at, value = 0;
    switch (encoding & FORMAT_MASK) {
    case FORMAT_ULEB:
        value = bytes_uleb(bytes);
        break;
    case FORMAT_SLEB:
        value = (uintptr_t)bytes_sleb(bytes);
        break;
    case FORMAT_U2:
        value = bytes_fixed(bytes, 2);
        break;
    case FORMAT_S2:
        value = (uintptr_t)(int64_t)(int16_t)bytes_fixed(bytes, 2);
        break;
    case FORMAT_U4:
        value = bytes_fixed(bytes, 4);
        break;
    case FORMAT_S4:
        value = (uintptr_t)(int64_t)(int32_t)bytes_fixed(bytes, 4);
        break;
    case FORMAT_ADDRESS:
    case FORMAT_U8:
    case FORMAT_S8:
        value = bytes_fixed(bytes, 8);
        break;
    default:
        bytes->bad = true;
    }
    if (value != 0 && (encoding & RELATIVE_MASK) == RELATIVE_HERE)
        value += here;
    else if (value != 0 && (encoding & RELATIVE_MASK) == RELATIVE_HEADER)
        value += header;
    else if ((encoding & RELATIVE_MASK) != 0 && value != 0)
        bytes->bad = true;
    return value;
}

/* The contents of the entry at `at`, without its length. */
static FOREIGN struct bytes entry_at(const uint8_t *at)
{
    enum { LONG = 0xffffffff, SHORT_SIZE = 4, LONG_SIZE = 12, LENGTH_MAX = 1 << 20 };
    struct bytes none = {NULL, NULL, true};
    if (!reached(at, SHORT_SIZE))
        return none;
    struct bytes bytes = {at, at + SHORT_SIZE, false};
    uint64_t length = bytes_fixed(&bytes, SHORT_SIZE);
    if (length == LONG && reached(at, LONG_SIZE)) {
        bytes.end = at + LONG_SIZE;
        length = bytes_fixed(&bytes, LONG_SIZE - SHORT_SIZE);
    }
    if (length == 0 || length > LENGTH_MAX || !reached(bytes.at, length))
        return none;
    bytes.end = bytes.at + length;
    return bytes;
}

/* The letters of an augmentation and the data that they announce. */
static bool augmentation_read(struct bytes *bytes, const char *letters, struct common *common)
{
    common->augmented = *letters == 'z';
    if (!common->augmented)
        return *letters == '\0';
    uint64_t length = bytes_uleb(bytes);
    if (length > (size_t)(bytes->end - bytes->at))
        return false;
    struct bytes data = {bytes->at, bytes->at + length, false};
    bytes->at = data.end;
    for (letters++; *letters != '\0'; letters++) {
        if (*letters == 'R') {
            common->encoding = (uint8_t)bytes_fixed(&data, 1);
        } else if (*letters == 'L') {
            bytes_fixed(&data, 1);
        } else if (*letters == 'S') {
            common->signal = true;
        } else if (*letters == 'P') {
            unsigned encoding = (unsigned)bytes_fixed(&data, 1);
            if (encoding == 0x50) /* aligned */
                data.at = (const uint8_t *)(((uintptr_t)data.at + 7) & ~(uintptr_t)7);
            pointer_read(&data, encoding & FORMAT_MASK, 0);
        } else if (*letters != 'B' && *letters != 'G') {
            break; /* unknown: the length says where it ends */
        }
    }
    return !data.bad;
}

static bool common_read(const uint8_t *at, struct common *common)
{
    struct bytes bytes = entry_at(at);
    *common = (struct common){.encoding = FORMAT_ADDRESS};
    if (bytes.bad || bytes_fixed(&bytes, 4) != 0)
        return false;
    unsigned version = (unsigned)bytes_fixed(&bytes, 1);
    const char *letters = (const char *)bytes.at;
    while (bytes_fixed(&bytes, 1) != 0)
        ;
    if (version == 4)
        bytes_fixed(&bytes, 2); /* sizes of addresses and segments */
    else if (version != 1 && version != 3)
        return false;
    common->code_unit = bytes_uleb(&bytes);
    common->data_unit = bytes_sleb(&bytes);
    common->return_column = (unsigned)(version == 1 ? bytes_fixed(&bytes, 1) : bytes_uleb(&bytes));
    if (bytes.bad || !augmentation_read(&bytes, letters, common))
        return false;
    common->code = bytes;
    return !bytes.bad && common->return_column == ARCH_RETURN;
}

static bool function_read(const uint8_t *at, struct function *function)
{
    struct bytes bytes = entry_at(at);
    const uint8_t *here = bytes.at;
    uint64_t back = bytes.bad ? 0 : bytes_fixed(&bytes, 4);
    struct common common;
    if (back == 0 || !common_read(here - back, &common))
        return false;
    function->start = pointer_read(&bytes, common.encoding, 0);
    function->end = function->start + pointer_read(&bytes, common.encoding & FORMAT_MASK, 0);
    if (common.augmented) {
        uint64_t length = bytes_uleb(&bytes);
        if (length > (size_t)(bytes.end - bytes.at))
            return false;
        bytes.at += length;
    }
    function->common = common.code;
    function->own = bytes;
    function->code_unit = common.code_unit;
    function->data_unit = common.data_unit;
    function->signal = common.signal;
    return !bytes.bad;
}

/* The entry of the last function that begins at or before `pc`. The sorted table is one of pairs,
 * code and entry, relative to the header, of four or eight bytes each. */
static FOREIGN const uint8_t *entry_find(const uint8_t *header, uintptr_t pc)
{
    enum { HEAD = 4, HEAD_MAX = 20, COUNT_MAX = 1 << 28 };
    if (header == NULL || !reached(header, HEAD_MAX) || header[0] != 1 ||
        header[2] == POINTER_ABSENT)
        return NULL;
    struct bytes bytes = {header + HEAD, header + HEAD_MAX, false};
    if (header[1] != POINTER_ABSENT)
        pointer_read(&bytes, header[1], (uintptr_t)header); /* .eh_frame */
    uint64_t count = pointer_read(&bytes, header[2], (uintptr_t)header);
    bool is_long = header[3] == (RELATIVE_HEADER | FORMAT_S8);
    if (bytes.bad || count == 0 || count > COUNT_MAX ||
        (!is_long && header[3] != (RELATIVE_HEADER | FORMAT_S4)))
        return NULL;
    const uint8_t *table = bytes.at;
    int64_t wanted = (int64_t)(pc - (uintptr_t)header);
    size_t width = is_long ? 8 : 4;
    uint64_t low = 0, high = count; /* the answer is in [low, high) */
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (!reached(table + middle * 2 * width, width))
            return NULL;
        if (bytes_signed(table + middle * 2 * width, width) <= wanted)
            low = middle;
        else
            high = middle;
    }
    if (!reached(table + low * 2 * width, 2 * width))
        return NULL;
    if (bytes_signed(table + low * 2 * width, width) > wanted)
        return NULL;
    return header + bytes_signed(table + (low * 2 + 1) * width, width);
}

/* Calls `found` for every function in the tables. */
static void tables_walk(const uint8_t *tables, size_t size,
                        void (*found)(void *context, const uint8_t *entry, uintptr_t start),
                        void *context)
{
    const uint8_t *at = tables, *end = tables + size;
    while (end - at > 4) {
        struct bytes entry = entry_at(at);
        struct function function;
        if (entry.bad || entry.end > end)
            return; /* the zero at the end, above all */
        if (function_read(at, &function) && function.start != 0)
            found(context, at, function.start);
        at = entry.end;
    }
}

/* A header like the linker's but for eight bytes a number: it may be far from the code. */
struct header {
    uint8_t version, tables_encoding, count_encoding, table_encoding;
    uint32_t none;
    uint64_t count;
    struct {
        int64_t code, entry;
    } table[];
};

static void header_count(void *header, const uint8_t *entry, uintptr_t start)
{
    (void)entry;
    (void)start;
    ((struct header *)header)->count++;
}

static void header_add(void *context, const uint8_t *entry, uintptr_t start)
{
    struct header *header = context;
    header->table[header->count].code = (int64_t)(start - (uintptr_t)header);
    header->table[header->count++].entry = (int64_t)((uintptr_t)entry - (uintptr_t)header);
}

/* Sinks row `at` in a heap of `count` rows. */
static void header_sink(struct header *header, uint64_t at, uint64_t count)
{
    for (uint64_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count && header->table[child + 1].code > header->table[child].code)
            child++;
        if (header->table[at].code >= header->table[child].code)
            return;
        __typeof__(header->table[0]) swap = header->table[at];
        header->table[at] = header->table[child];
        header->table[child] = swap;
        at = child;
    }
}

const void *cfi_header_make(const uint8_t *tables, size_t size)
{
    struct header count = {0}, *header;
    tables_walk(tables, size, header_count, &count);
    if (count.count == 0)
        return NULL;
    header = os_map(sizeof *header + count.count * sizeof header->table[0]);
    if (header == NULL)
        return NULL;
    header->version = 1;
    header->tables_encoding = FORMAT_U4;
    header->count_encoding = FORMAT_U8;
    header->table_encoding = RELATIVE_HEADER | FORMAT_S8;
    tables_walk(tables, size, header_add, header);
    for (uint64_t i = header->count / 2; i-- > 0;)
        header_sink(header, i, header->count);
    for (uint64_t last = header->count - 1; last > 0; last--) {
        __typeof__(header->table[0]) swap = header->table[0];
        header->table[0] = header->table[last];
        header->table[last] = swap;
        header_sink(header, 0, last);
    }
    return header;
}

enum {
    OP_ADVANCE = 1, /* the two top bits of an instruction */
    OP_OFFSET = 2,
    OP_RESTORE = 3,
    OP_NOP = 0,
    OP_SET_LOC = 1,
    OP_ADVANCE_1 = 2,
    OP_ADVANCE_2 = 3,
    OP_ADVANCE_4 = 4,
    OP_OFFSET_EXTENDED = 5,
    OP_RESTORE_EXTENDED = 6,
    OP_UNDEFINED = 7,
    OP_SAME = 8,
    OP_REGISTER = 9,
    OP_REMEMBER = 10,
    OP_RESTORE_STATE = 11,
    OP_CFA = 12,
    OP_CFA_REGISTER = 13,
    OP_CFA_OFFSET = 14,
    OP_CFA_EXPRESSION = 15,
    OP_EXPRESSION = 16,
    OP_OFFSET_EXTENDED_SIGNED = 17,
    OP_CFA_SIGNED = 18,
    OP_CFA_OFFSET_SIGNED = 19,
    OP_VALUE_OFFSET = 20,
    OP_VALUE_OFFSET_SIGNED = 21,
    OP_VALUE_EXPRESSION = 22,
    OP_NEGATE_RETURN_STATE = 0x2d, /* aarch64: signed from here on; `arch_plain` undoes it anyway */
    OP_ARGUMENTS_SIZE = 0x2e,
    OP_OFFSET_NEGATIVE = 0x2f,
};

/* A machine that builds rows. */
struct machine {
    const struct function *function;
    struct bytes code;
    uintptr_t at;
    struct cfi_row *row;
    struct cfi_place start[ARCH_REGISTERS];        /* after the common instructions */
    struct cfi_place (*saved)[ARCH_REGISTERS + 1]; /* SAVED_ROWS of them */
    unsigned depth;
};

static void place_set(struct machine *machine, uint64_t number, enum cfi_where where, int64_t value)
{
    if (value != (int32_t)value)
        machine->code.bad = true;
    else if (number < ARCH_REGISTERS)
        machine->row->places[number] = (struct cfi_place){(uint8_t)where, 0, (int32_t)value};
}

/* Notes an expression and skips it. */
static int64_t expression_read(struct machine *machine)
{
    int64_t where = machine->code.at - machine->row->tables;
    uint64_t length = bytes_uleb(&machine->code);
    if (length > (size_t)(machine->code.end - machine->code.at))
        machine->code.bad = true;
    else
        machine->code.at += length;
    return where;
}

static void cfa_set(struct machine *machine, uint64_t base, int64_t offset)
{
    if (base >= ARCH_REGISTERS || offset != (int32_t)offset)
        machine->code.bad = true;
    machine->row->cfa = (struct cfi_place){CFI_OFFSET_OF, (uint8_t)base, (int32_t)offset};
}

static void cfa_run(struct machine *machine, unsigned op)
{
    struct bytes *code = &machine->code;
    int64_t unit = machine->function->data_unit;
    struct cfi_place *cfa = &machine->row->cfa;
    uint64_t base = cfa->base;
    int64_t offset = cfa->number;
    if (op == OP_CFA_EXPRESSION) {
        int64_t where = expression_read(machine);
        code->bad |= where != (int32_t)where;
        *cfa = (struct cfi_place){CFI_EXPRESSION, 0, (int32_t)where};
        return;
    }
    if (op == OP_CFA || op == OP_CFA_SIGNED || op == OP_CFA_REGISTER)
        base = bytes_uleb(code);
    if (op == OP_CFA || op == OP_CFA_OFFSET)
        offset = (int64_t)bytes_uleb(code);
    else if (op == OP_CFA_SIGNED || op == OP_CFA_OFFSET_SIGNED)
        offset = bytes_sleb(code) * unit;
    cfa_set(machine, base, offset);
}

static void state_run(struct machine *machine, unsigned op)
{
    struct cfi_row *row = machine->row;
    if (op == OP_REMEMBER && machine->depth < SAVED_ROWS) {
        struct cfi_place *saved = machine->saved[machine->depth++];
        memcpy(saved, row->places, sizeof row->places);
        saved[ARCH_REGISTERS] = row->cfa;
    } else if (op == OP_RESTORE_STATE && machine->depth > 0) {
        const struct cfi_place *saved = machine->saved[--machine->depth];
        memcpy(row->places, saved, sizeof row->places);
        row->cfa = saved[ARCH_REGISTERS];
    } else {
        machine->code.bad = true;
    }
}

/* Instructions of the long form. The operands of a register come first. */
static void instruction_run(struct machine *machine, unsigned op)
{
    struct bytes *code = &machine->code;
    int64_t unit = machine->function->data_unit;
    uint64_t number;
    switch (op) {
    case OP_NOP:
    case OP_NEGATE_RETURN_STATE:
        return;
    case OP_ARGUMENTS_SIZE:
        bytes_uleb(code);
        return;
    case OP_REMEMBER:
    case OP_RESTORE_STATE:
        state_run(machine, op);
        return;
    case OP_CFA:
    case OP_CFA_REGISTER:
    case OP_CFA_OFFSET:
    case OP_CFA_EXPRESSION:
    case OP_CFA_SIGNED:
    case OP_CFA_OFFSET_SIGNED:
        cfa_run(machine, op);
        return;
    default:
        break;
    }
    number = bytes_uleb(code);
    switch (op) {
    case OP_OFFSET_EXTENDED:
        place_set(machine, number, CFI_SAVED, (int64_t)bytes_uleb(code) * unit);
        break;
    case OP_OFFSET_EXTENDED_SIGNED:
        place_set(machine, number, CFI_SAVED, bytes_sleb(code) * unit);
        break;
    case OP_OFFSET_NEGATIVE:
        place_set(machine, number, CFI_SAVED, -(int64_t)bytes_uleb(code) * unit);
        break;
    case OP_VALUE_OFFSET:
        place_set(machine, number, CFI_OFFSET_OF, (int64_t)bytes_uleb(code) * unit);
        break;
    case OP_VALUE_OFFSET_SIGNED:
        place_set(machine, number, CFI_OFFSET_OF, bytes_sleb(code) * unit);
        break;
    case OP_RESTORE_EXTENDED:
        if (number < ARCH_REGISTERS)
            machine->row->places[number] = machine->start[number];
        break;
    case OP_UNDEFINED:
        place_set(machine, number, CFI_UNDEFINED, 0);
        break;
    case OP_SAME:
        place_set(machine, number, CFI_SAME, 0);
        break;
    case OP_REGISTER:
        place_set(machine, number, CFI_REGISTER, (int64_t)bytes_uleb(code));
        break;
    case OP_EXPRESSION:
        place_set(machine, number, CFI_SAVED_EXPRESSION, expression_read(machine));
        break;
    case OP_VALUE_EXPRESSION:
        place_set(machine, number, CFI_EXPRESSION, expression_read(machine));
        break;
    default:
        code->bad = true;
    }
}

/* Runs instructions until the line after `pc` begins, or they end. */
static bool machine_run(struct machine *machine, struct bytes code, uintptr_t pc)
{
    uint64_t unit = machine->function->code_unit;
    machine->code = code;
    while (machine->code.at < machine->code.end && !machine->code.bad) {
        struct bytes *bytes = &machine->code;
        unsigned op = (unsigned)bytes_fixed(bytes, 1), low = op & 63;
        uint64_t advance = 0;
        if (op >> 6 == OP_ADVANCE)
            advance = low;
        else if (op == OP_ADVANCE_1 || op == OP_ADVANCE_2 || op == OP_ADVANCE_4)
            advance = bytes_fixed(bytes, (size_t)1 << (op - OP_ADVANCE_1));
        else if (op >> 6 == OP_OFFSET)
            place_set(machine, low, CFI_SAVED,
                      (int64_t)bytes_uleb(bytes) * machine->function->data_unit);
        else if (op >> 6 == OP_RESTORE && low < ARCH_REGISTERS)
            machine->row->places[low] = machine->start[low];
        else if (op >> 6 == 0)
            instruction_run(machine, op);
        machine->at += advance * unit;
        if (machine->at > pc)
            break;
    }
    return !machine->code.bad;
}

bool cfi_row(const void *header, uintptr_t pc, struct cfi_row *row)
{
    const uint8_t *entry = header == NULL ? NULL : entry_find(header, pc);
    struct function function;
    if (entry == NULL || !function_read(entry, &function))
        return false;
    if (pc < function.start || pc >= function.end)
        return false;
    struct cfi_place saved[SAVED_ROWS][ARCH_REGISTERS + 1]; /* the CFA last */
    struct machine machine = {
        .function = &function, .at = function.start, .row = row, .saved = saved};
    memset(row, 0, sizeof *row);
    row->tables = entry;
    row->signal = function.signal;
    if (!machine_run(&machine, function.common, UINTPTR_MAX))
        return false;
    memcpy(machine.start, row->places, sizeof row->places);
    return machine_run(&machine, function.own, pc);
}

bool cfi_begins(const void *header, uintptr_t pc)
{
    const uint8_t *entry = header == NULL ? NULL : entry_find(header, pc);
    struct function function;
    return entry != NULL && function_read(entry, &function) && function.start == pc;
}

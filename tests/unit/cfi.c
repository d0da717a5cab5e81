/* SPDX-License-Identifier: MIT */
/*
 * Unwind tables: rules from tables made here byte by byte, each for one thing that compilers write;
 * and every function of this program and of libc has rows, nearly all of which are rules.
 */
#include "tests/unit/unit.h"

#include "base/cfi.h"
#include "base/object.h"
#include "base/os.h"

/* Tables in memory, for code that does not exist. */
enum { CODE = 0x10000, CODE_SIZE = 0x100 };

struct text {
    uint8_t bytes[512];
    size_t size;
};

static void put(struct text *text, const void *bytes, size_t size)
{
    memcpy(text->bytes + text->size, bytes, size);
    text->size += size;
}

static void put_number(struct text *text, uint64_t value, size_t size)
{
    put(text, &value, size);
}

#define PUT(text, ...) \
    put((text), (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

/* Fills in the length at the start of an entry, and pads it. */
static void entry_end(struct text *text, size_t start)
{
    while (text->size % 8 != 4)
        PUT(text, 0);
    uint32_t length = (uint32_t)(text->size - start - 4);
    memcpy(text->bytes + start, &length, sizeof length);
}

/* A common entry with these letters and their data, one function with these instructions. */
static const void *tables_make(struct text *text, const char *letters, const struct text *data,
                               const struct text *code)
{
    text->size = 4;
    size_t start = text->size;
    put_number(text, 0, 4);
    put_number(text, 0, 4);
    PUT(text, 1);
    put(text, letters, strlen(letters) + 1);
    PUT(text, 1, 0x78, ARCH_RETURN); /* units 1 and -8 */
    if (letters[0] == 'z') {
        PUT(text, (uint8_t)data->size);
        put(text, data->bytes, data->size);
    }
    /* At the start: CFA is sp + 8, the return address below it; on aarch64 in its register. */
    PUT(text, 0x0c, ARCH_SP, 8);
    if (ARCH_PUSHES_RETURN)
        PUT(text, 0x80 | ARCH_RETURN, 1);
    entry_end(text, start);
    start = text->size;
    put_number(text, 0, 4);
    put_number(text, text->size - 4, 4); /* back to the common entry */
    put_number(text, CODE, 8);
    put_number(text, CODE_SIZE, 8);
    if (letters[0] == 'z')
        PUT(text, 0);
    put(text, code->bytes, code->size);
    entry_end(text, start);
    put_number(text, 0, 4);
    const void *header = cfi_header_make(text->bytes + 4, text->size - 4);
    assert(header != NULL);
    return header;
}

static const void *plain_tables(struct text *text, const struct text *code)
{
    struct text none = {.size = 0};
    return tables_make(text, "", &none, code);
}

static uint32_t rule_at(const void *header, uintptr_t offset)
{
    struct cfi_row row;
    assert(cfi_row(header, CODE + offset, &row));
    return cfi_rule(&row, CODE + offset);
}

/* push fp; mov sp, fp: the frame of most unoptimised code, and its end in the middle. */
static void lines_follow_the_code(void)
{
    struct text text, code = {.size = 0};
    PUT(&code, 0x41, 0x0e, 16, 0x80 | ARCH_FP, 2); /* after 1 byte: CFA = sp + 16, fp at CFA - 16 */
    if (!ARCH_PUSHES_RETURN)
        PUT(&code, 0x80 | ARCH_RETURN, 1);
    PUT(&code, 0x43, 0x0d, ARCH_FP);                /* after 3: CFA = fp + 16 */
    PUT(&code, 0x02, 20, 0x0a);                     /* after 20: remember */
    PUT(&code, 0x0c, ARCH_SP, 8, 0xc0 | ARCH_FP);   /* the end */
    PUT(&code, 0x41, 0x0b);                         /* after 1: as remembered, the CFA, too */
    PUT(&code, 0x03, 0x20, 0, 0x0e, 0x80, 0x80, 8); /* after 32: CFA = fp + 131072: too much */
    const void *header = plain_tables(&text, &code);
    if (ARCH_PUSHES_RETURN) {
        assert(rule_at(header, 0) == CFI_RULE(CFI_SP, 8, 8));
        assert(rule_at(header, 24) == CFI_RULE(CFI_SP, 8, 8));
    } else {
        assert(CFI_KIND(rule_at(header, 0)) == CFI_ROW); /* still in its register */
    }
    assert(rule_at(header, 1) == CFI_RULE(CFI_SP, 16, 16));
    assert(rule_at(header, 3) == CFI_RULE(CFI_SP, 16, 16));
    assert(rule_at(header, 4) == CFI_RULE(CFI_FP, 16, 16));
    assert(rule_at(header, 23) == CFI_RULE(CFI_FP, 16, 16));
    assert(rule_at(header, 25) == CFI_RULE(CFI_FP, 16, 16));
    assert(CFI_KIND(rule_at(header, 57)) == CFI_ROW);
    struct cfi_row row;
    assert(cfi_row(header, CODE + CODE_SIZE - 1, &row));
    assert(!cfi_row(header, CODE + CODE_SIZE, &row)); /* the header has no gaps, the code has */
    assert(!cfi_row(header, CODE - 1, &row) && !cfi_row(NULL, CODE, &row));
}

static void an_undefined_return_is_the_end(void)
{
    struct text text, code = {.size = 0};
    PUT(&code, 0x07, ARCH_RETURN);
    assert(CFI_KIND(rule_at(plain_tables(&text, &code), 9)) == CFI_END);
}

static void letters_are_read_or_skipped(void)
{
    struct text text, code = {.size = 0}, data = {.size = 0};
    PUT(&data, 0x9b, 1, 2, 3, 4); /* P: an indirect pointer, never followed */
    PUT(&data, 0x1b, 0x00);       /* L; R: absolute */
    PUT(&data, 77, 78);           /* of an unknown letter */
    PUT(&code, 0x07, ARCH_RETURN);
    struct cfi_row row;
    assert(cfi_row(tables_make(&text, "zPLRS!", &data, &code), CODE, &row));
    assert(row.signal && cfi_rule(&row, CODE) == CFI_RULE(CFI_END, 0, 0));
    assert(cfi_header_make((const uint8_t *)"\0\0\0", 4) == NULL);
}

static bool read_word(struct cfi_memory *memory, uintptr_t at, uintptr_t *value)
{
    (void)memory;
    *value = at * 10;
    return at >= 1000;
}

/* Expressions: in the linkage table (a constant at one place), for realigned frames, and by all
 * registers. */
static void expressions_are_followed(void)
{
    struct text text, code = {.size = 0};
    /* CFA = sp + 8 + (pc % 16 >= 11 ? 8 : 0) */
    PUT(&code, 0x0f, 11, 0x70 + ARCH_SP, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22);
    if (ARCH_PUSHES_RETURN) {
        const void *header = plain_tables(&text, &code);
        assert(rule_at(header, 10) == CFI_RULE(CFI_SP, 8, 8));
        assert(rule_at(header, 11) == CFI_RULE(CFI_SP, 8, 16));
        code.size = 0;
        PUT(&code, 0x0f, 3, 0x70 + ARCH_FP, 0x70, 0x06); /* CFA = *(fp - 16) */
        PUT(&code, 0x10, ARCH_FP, 2, 0x70 + ARCH_FP, 0); /* fp at fp */
        assert(rule_at(plain_tables(&text, &code), 5) == CFI_RULE(CFI_MEMORY, 8, 16));
    }
    code.size = 0;
    PUT(&code, 0x0f, 3, 0x70 + 3, 8, 0x06);                   /* CFA = *(register 3 + 8) */
    PUT(&code, 0x09, ARCH_FP, 4);                             /* fp is in register 4 */
    PUT(&code, 0x14, ARCH_RETURN, 1, 0x16, 3, 2, 0x22, 0x31); /* CFA - 8; broken */
    struct cfi_row row;
    struct cfi_memory memory = {read_word};
    struct cfi_registers registers = {.known = 1 << 3 | 1 << 4};
    registers.values[3] = 1992;
    registers.values[4] = 4444;
    assert(cfi_row(plain_tables(&text, &code), CODE, &row));
    assert(CFI_KIND(cfi_rule(&row, CODE)) == CFI_ROW);
    assert(cfi_step(&row, &memory, &registers));
    assert(registers.values[ARCH_SP] == 20000 && registers.values[ARCH_RETURN] == 19992);
    assert(registers.values[ARCH_FP] == 4444 && !(registers.known & 1 << 4));
    registers = (struct cfi_registers){.known = 1 << 3}; /* memory that can't be read */
    assert(!cfi_step(&row, &memory, &registers));
    registers = (struct cfi_registers){.known = 0};
    assert(!cfi_step(&row, &memory, &registers));
}

/* All functions of an object: how many, and how many of their places have a rule. */
static void object_has_rules(uintptr_t pc)
{
    struct object object;
    objects_refresh();
    assert(object_find(pc, &object));
    assert(object.header != NULL && pc >= object.start && pc < object.end);
    unsigned rows = 0, rules = 0;
    for (uintptr_t at = object.start; at < object.end; at += 61) {
        struct cfi_row row;
        if (cfi_row(object.header, at, &row)) {
            rows++;
            unsigned kind = CFI_KIND(cfi_rule(&row, at));
            rules += kind != CFI_ROW && kind != CFI_NONE;
        }
    }
    fprintf(stderr, "%u places, %u by rules\n", rows, rules);
    assert(rows > 50);
    /* On aarch64 the return address of small functions stays in its register. */
    assert(rules >= rows * (ARCH_PUSHES_RETURN ? 0.98 : 0.5));
}

int main(void)
{
    lines_follow_the_code();
    an_undefined_return_is_the_end();
    letters_are_read_or_skipped();
    expressions_are_followed();
    object_has_rules((uintptr_t)object_has_rules);
    object_has_rules((uintptr_t)qsort);
    struct object object;
    void *data = os_map(os_page_size());
    assert(!object_find((uintptr_t)data, &object));
    return 0;
}

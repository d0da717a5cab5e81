/* SPDX-License-Identifier: MIT */
/*
 * See tool/symbol/disasm.h. Intel's syntax is written from capstone's operands; AT&T's is mended
 * where capstone and objdump differ, since people compare the two and old commands print objdump's.
 */
#include "tool/symbol/disasm.h"

#include <capstone/capstone.h>
#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

#define TEXT_OF(macro) TEXT(macro)
#define TEXT(word)     #word

/* The version of the header is that of the library it describes. */
static const char library_name[] = "libcapstone.so." TEXT_OF(CS_API_MAJOR);

struct capstone {
    cs_err (*open)(cs_arch arch, cs_mode mode, csh *handle);
    cs_err (*close)(csh *handle);
    cs_err (*option)(csh handle, cs_opt_type type, size_t value);
    size_t (*disasm)(csh handle, const uint8_t *code, size_t size, uint64_t address, size_t count,
                     cs_insn **instructions);
    void (*free)(cs_insn *instructions, size_t count);
};

static bool machine_find(unsigned machine, cs_arch *arch, cs_mode *mode);
static bool capstone_load(struct capstone *capstone, struct error *error);
static void write_att(struct disasm_instruction *to, const cs_insn *from);
static bool is_bare(const char *start, const char *at);
static void plain_mnemonic(char *mnemonic, const char *operands);
static bool has_register(const char *operands);
static void write_intel(struct disasm_instruction *to, const cs_insn *from,
                        const struct disasm_code *code);
static const char *target_of(const cs_insn *from);

bool disasm(const struct disasm_code *code, struct disasm_instruction **instructions, size_t *count,
            struct error *error)
{
    struct capstone capstone;
    cs_arch arch;
    cs_mode mode;
    csh handle;
    cs_insn *found = NULL;
    if (!machine_find(code->machine, &arch, &mode))
        return error_set(error, ERROR_INPUT,
                         "machine code of this type (ELF machine %u) is not supported",
                         code->machine);
    if (!capstone_load(&capstone, error))
        return false;
    if (capstone.open(arch, mode, &handle) != CS_ERR_OK)
        return error_set(error, ERROR_INPUT, "this capstone does not support the machine");
    bool att = code->syntax == DISASM_ATT && arch == CS_ARCH_X86;
    capstone.option(handle, CS_OPT_SKIPDATA, CS_OPT_ON);
    if (code->name)
        capstone.option(handle, CS_OPT_DETAIL, CS_OPT_ON);
    if (att)
        capstone.option(handle, CS_OPT_SYNTAX, CS_OPT_SYNTAX_ATT);
    *count = capstone.disasm(handle, code->bytes, code->size, code->address, 0, &found);
    *instructions = malloc((*count + 1) * sizeof **instructions);
    for (size_t i = 0; *instructions && i < *count; i++) {
        struct disasm_instruction *to = &(*instructions)[i];
        to->address = found[i].address;
        to->size = found[i].size;
        if (att)
            write_att(to, &found[i]);
        else
            write_intel(to, &found[i], code);
    }
    if (*count > 0)
        capstone.free(found, *count);
    capstone.close(&handle);
    return *instructions || error_memory(error);
}

static bool machine_find(unsigned machine, cs_arch *arch, cs_mode *mode)
{
    static const struct {
        unsigned machine;
        cs_arch arch;
        cs_mode mode;
    } known[] = {
        {EM_X86_64, CS_ARCH_X86, CS_MODE_64},
        {EM_386, CS_ARCH_X86, CS_MODE_32},
        {EM_AARCH64, CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN},
        {EM_ARM, CS_ARCH_ARM, CS_MODE_LITTLE_ENDIAN},
    };
    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (known[i].machine == machine) {
            *arch = known[i].arch;
            *mode = known[i].mode;
            return true;
        }
    return false;
}

static bool capstone_load(struct capstone *capstone, struct error *error)
{
    void *library = dlopen(library_name, RTLD_NOW);
    if (library) {
        capstone->open = (__typeof__(capstone->open))dlsym(library, "cs_open");
        capstone->close = (__typeof__(capstone->close))dlsym(library, "cs_close");
        capstone->option = (__typeof__(capstone->option))dlsym(library, "cs_option");
        capstone->disasm = (__typeof__(capstone->disasm))dlsym(library, "cs_disasm");
        capstone->free = (__typeof__(capstone->free))dlsym(library, "cs_free");
    }
    if (library && capstone->open && capstone->close && capstone->option && capstone->disasm &&
        capstone->free)
        return true;
    error_set(error, ERROR_INPUT, "disassembly needs capstone, which is not installed: %s",
              library ? "it lacks a function" : dlerror());
    error_hint(error, "apt-get install libcapstone%d", CS_API_MAJOR);
    return false;
}

/* As objdump writes it: no blank behind a comma, 0x before all numbers but targets of jumps. */
static void write_att(struct disasm_instruction *to, const cs_insn *from)
{
    char mnemonic[sizeof from->mnemonic], operands[2 * sizeof from->op_str];
    size_t length = 0;
    bool jump = from->mnemonic[0] == 'j' || strncmp(from->mnemonic, "call", 4) == 0;
    const char *at = from->op_str + (jump && strncmp(from->op_str, "0x", 2) == 0 ? 2 : 0);
    for (; *at; at++) {
        if (*at == ' ' && at > from->op_str && at[-1] == ',')
            continue;
        if (!jump && is_bare(from->op_str, at)) {
            operands[length++] = '0';
            operands[length++] = 'x';
        }
        operands[length++] = *at;
    }
    operands[length] = '\0';
    snprintf(mnemonic, sizeof mnemonic, "%s", from->mnemonic);
    plain_mnemonic(mnemonic, operands);
    snprintf(to->text, sizeof to->text, operands[0] ? "%-6s %s" : "%s", mnemonic, operands);
}

/* Whether a number without 0x begins at `at`: "4(%rbp)", "$1", "-8"; a factor has none. */
static bool is_bare(const char *start, const char *at)
{
    unsigned depth = 0;
    if (*at < '0' || *at > '9' || at[1] == 'x')
        return false;
    for (const char *seen = start; seen < at; seen++) {
        depth += *seen == '(';
        depth -= *seen == ')';
    }
    return depth == 0 && (at == start || strchr("$-, *:", at[-1]));
}

/* objdump leaves the letter of the size away where operands have it: "mov", "push", "cmpl". */
static void plain_mnemonic(char *mnemonic, const char *operands)
{
    static const char *const always[] = {"push", "pop", "call", "ret", "leave"};
    static const char *const sized[] = {"mov", "add",  "sub",  "cmp",  "test", "lea", "and",
                                        "or",  "xor",  "shl",  "shr",  "sar",  "inc", "dec",
                                        "neg", "not",  "imul", "xchg", "sbb",  "adc", "div",
                                        "mul", "idiv", "bt",   "rol",  "ror",  "shld"};
    size_t length = strlen(mnemonic);
    bool plain = false;
    if (length < 2 || !strchr("bwlq", mnemonic[length - 1]))
        return;
    for (size_t i = 0; i < COUNT_OF(always); i++)
        plain |= strlen(always[i]) == length - 1 && strncmp(mnemonic, always[i], length - 1) == 0;
    for (size_t i = 0; i < COUNT_OF(sized) && !plain && has_register(operands); i++)
        plain = strlen(sized[i]) == length - 1 && strncmp(mnemonic, sized[i], length - 1) == 0;
    if (plain)
        mnemonic[length - 1] = '\0';
}

/* Whether one of the operands is a register, which tells the size: "%eax", not "(%rax)". */
static bool has_register(const char *operands)
{
    unsigned depth = 0;
    for (; *operands; operands++) {
        depth += *operands == '(';
        depth -= *operands == ')';
        if (*operands == '%' && depth == 0)
            return true;
    }
    return false;
}

static void write_intel(struct disasm_instruction *to, const cs_insn *from,
                        const struct disasm_code *code)
{
    char name[120];
    const char *target = code->name ? target_of(from) : NULL;
    if (target &&
        code->name(code->context, strtoull(target + (*target == '#'), NULL, 16), name, sizeof name))
        snprintf(to->text, sizeof to->text, "%-8s %.*s%s", from->mnemonic,
                 (int)(target - from->op_str), from->op_str, name);
    else
        snprintf(to->text, sizeof to->text, from->op_str[0] ? "%-8s %s" : "%s", from->mnemonic,
                 from->op_str);
}

/* Where in the operands a jump or a call has its target, if that is a number: always last. */
static const char *target_of(const cs_insn *from)
{
    const char *target = NULL;
    bool jumps = false;
    if (from->id == 0 || !from->detail)
        return NULL;
    for (unsigned i = 0; i < from->detail->groups_count; i++)
        jumps |= from->detail->groups[i] == CS_GRP_JUMP || from->detail->groups[i] == CS_GRP_CALL;
    for (const char *at = from->op_str; (at = strstr(at, "0x")) != NULL; at++)
        target = at;
    if (!jumps || !target || strpbrk(from->op_str, "[(") ||
        (target > from->op_str && target[-1] != '#'))
        return NULL;
    return target > from->op_str ? target - 1 : target;
}

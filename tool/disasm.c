/* SPDX-License-Identifier: MIT */
/* See tool/disasm.h. */
#include "tool/disasm.h"

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
    error_set(error, ERROR_INPUT, "machine code is read by capstone, which is not here: %s",
              library ? "it lacks a function" : dlerror());
    error_hint(error, "apt-get install libcapstone%d", CS_API_MAJOR);
    return false;
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

bool disasm(const unsigned char *bytes, size_t size, uint64_t address, unsigned machine,
            struct disasm_instruction **instructions, size_t *count, struct error *error)
{
    struct capstone capstone;
    cs_arch arch;
    cs_mode mode;
    csh handle;
    cs_insn *found = NULL;
    if (!machine_find(machine, &arch, &mode))
        return error_set(error, ERROR_INPUT, "code of this machine (%u in ELF) can't be read",
                         machine);
    if (!capstone_load(&capstone, error))
        return false;
    if (capstone.open(arch, mode, &handle) != CS_ERR_OK)
        return error_set(error, ERROR_INPUT, "capstone does not know this machine");
    capstone.option(handle, CS_OPT_SKIPDATA, CS_OPT_ON);
    *count = capstone.disasm(handle, bytes, size, address, 0, &found);
    *instructions = malloc((*count + 1) * sizeof **instructions);
    for (size_t i = 0; *instructions && i < *count; i++) {
        struct disasm_instruction *to = &(*instructions)[i];
        to->address = found[i].address;
        to->size = found[i].size;
        snprintf(to->text, sizeof to->text, found[i].op_str[0] ? "%-8s %s" : "%s",
                 found[i].mnemonic, found[i].op_str);
    }
    if (*count > 0)
        capstone.free(found, *count);
    capstone.close(&handle);
    return *instructions || error_set(error, ERROR_INPUT, "out of memory");
}

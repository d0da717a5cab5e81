/* SPDX-License-Identifier: MIT */
/* See lib/watch/code.h. The memory of code may have holes, so each address is tested before it is
 * read. */
#include "lib/watch/code.h"

#include "base/arch.h"
#include "base/call.h"
#include "base/compiler.h"
#include "base/object.h"
#include "base/os.h"

static bool is_signal_code(uintptr_t pc);
static bool is_lonely_signal_code(uintptr_t pc);
static bool is_after_call(uintptr_t pc);
static FOREIGN bool bytes_copy(unsigned char *to, uintptr_t from, size_t size);

void code_find(uintptr_t pc, bool interrupted, struct code *code)
{
    struct object object;
    code->at = pc - 1;
    code->known = code->signal = false;
    code->object = object_find(pc - 1, &object);
    if (!code->object) {
        code->signal = is_lonely_signal_code(pc);
    } else {
        if (!interrupted && cfi_begins(object.header, pc) && !is_after_call(pc))
            code->at = pc;
        code->known = cfi_row(object.header, code->at, &code->row);
        code->signal = (!code->known || code->row.signal) && is_signal_code(pc);
    }
    if (code->signal)
        code->at = pc;
}

uintptr_t code_called(uintptr_t pc)
{
    unsigned char code[2 * sizeof pc];
    return bytes_copy(code, pc - sizeof code, sizeof code)
               ? call_target(ARCH_MACHINE, code + sizeof code, pc)
               : 0;
}

/* Copies bytes of code; `size` is at most two words. */
static FOREIGN bool bytes_copy(unsigned char *to, uintptr_t from, size_t size)
{
    if (!os_readable((const void *)from, 2 * sizeof from))
        return false;
    for (size_t i = 0; i < size; i++)
        to[i] = ((const volatile unsigned char *)from)[i];
    return true;
}

/* Whether `pc` is the code that a signal handler returns to. */
static bool is_signal_code(uintptr_t pc)
{
    unsigned char code[ARCH_SIGNAL_CODE];
    return bytes_copy(code, pc, sizeof code) && arch_signal_code(code);
}

/* The same outside of all objects: emulators put that code at the start of a page of its own. */
static bool is_lonely_signal_code(uintptr_t pc)
{
    enum { NEAR = 64 }; /* bytes of that page in which the code may begin */
    return pc % os_page_size() < NEAR && is_signal_code(pc);
}

/* Whether the instruction that ends at `pc` is a call. */
static bool is_after_call(uintptr_t pc)
{
    unsigned char code[2 * sizeof pc];
    return bytes_copy(code, pc - sizeof code, sizeof code) &&
           call_ends(ARCH_MACHINE, code + sizeof code);
}

/* SPDX-License-Identifier: MIT */
/* Calls of all forms are recognized, and other instructions are not. */
#include "tests/unit/unit.h"

#include <elf.h>

#include "base/call.h"

static bool ends(unsigned machine, const char *code, size_t size)
{
    unsigned char bytes[32] = {0};
    memset(bytes, 0x90, sizeof bytes);
    memcpy(bytes + sizeof bytes - size, code, size);
    return call_ends(machine, bytes + sizeof bytes);
}
static uint64_t target(unsigned machine, const char *code, size_t size)
{
    unsigned char bytes[CALL_BYTES] = {0};
    memcpy(bytes + sizeof bytes - size, code, size);
    return call_target(machine, bytes + sizeof bytes, 0x10000);
}
#define X86(code) ends(EM_X86_64, code, sizeof code - 1)
#define ARM(code) ends(EM_AARCH64, code, sizeof code - 1)

int main(void)
{
    assert(X86("\xe8\x12\x34\x56\x78"));            /* call there */
    assert(X86("\xff\xd0"));                        /* call *%rax */
    assert(X86("\x41\xff\xd4"));                    /* call *%r12 */
    assert(X86("\xff\x10"));                        /* call *(%rax) */
    assert(X86("\xff\x14\x24"));                    /* call *(%rsp) */
    assert(X86("\xff\x50\x08"));                    /* call *8(%rax) */
    assert(X86("\xff\x54\x24\x08"));                /* call *8(%rsp) */
    assert(X86("\xff\x15\x00\x10\x00\x00"));        /* call *there(%rip) */
    assert(X86("\xff\x90\x00\x10\x00\x00"));        /* call *4096(%rax) */
    assert(X86("\xff\x94\x24\x00\x10\x00\x00"));    /* call *4096(%rsp) */
    assert(X86("\xff\x14\xc5\x00\x10\x00\x00"));    /* call *4096(,%rax,8) */
    assert(!X86("\xc3"));                           /* ret */
    assert(!X86("\xff\xe0"));                       /* jmp *%rax */
    assert(!X86("\xff\x25\x00\x10\x00\x00"));       /* jmp *there(%rip) */
    assert(!X86("\xe9\xd0\xff\xff\xff"));           /* jmp there */
    assert(!X86("\x66\x2e\x0f\x1f\x84\0\0\0\0\0")); /* nop */
    assert(ARM("\x00\x00\x00\x94"));                /* bl */
    assert(ARM("\x00\x00\x3f\xd6"));                /* blr x0 */
    assert(ARM("\x1f\x09\x3f\xd6"));                /* blraaz x8 */
    assert(ARM("\x28\x0a\x3f\xd7"));                /* blraa x17, x8 */
    assert(!ARM("\xc0\x03\x5f\xd6"));               /* ret */
    assert(!ARM("\x00\x00\x00\x14"));               /* b */
    assert(!ARM("\x00\x02\x1f\xd6"));               /* br x16 */
    assert(!ARM("\x1f\x20\x03\xd5"));               /* nop */
    assert(target(EM_X86_64, "\xe8\x10\x02\x00\x00", 5) == 0x10210);
    assert(target(EM_X86_64, "\xe8\xf0\xff\xff\xff", 5) == 0xfff0);
    assert(target(EM_X86_64, "\xff\x15\x00\x10\x00\x00", 6) == 0);
    assert(target(EM_AARCH64, "\x02\x00\x00\x94", 4) == 0x10004);
    assert(target(EM_AARCH64, "\xff\xff\xff\x97", 4) == 0xfff8);
    assert(target(EM_AARCH64, "\x00\x00\x3f\xd6", 4) == 0);
    assert(call_knows(EM_X86_64) && call_knows(EM_AARCH64) && !call_knows(EM_RISCV));
    return 0;
}

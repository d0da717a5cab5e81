/* SPDX-License-Identifier: MIT */
/* See base/call.h. */
#include "base/call.h"

#include <elf.h>

enum { BRANCH_AND_LINK = 0x25 }; /* of aarch64, with 26 bits for the distance in instructions */

static bool x86_64(const unsigned char *end);
static bool aarch64(const unsigned char *end);
static uint32_t word(const unsigned char *at);

bool call_knows(unsigned machine)
{
    return machine == EM_X86_64 || machine == EM_AARCH64;
}

bool call_ends(unsigned machine, const unsigned char *end)
{
    return machine == EM_X86_64 ? x86_64(end) : machine == EM_AARCH64 ? aarch64(end) : false;
}

uint64_t call_target(unsigned machine, const unsigned char *end, uint64_t pc)
{
    uint32_t code = word(end - 4);
    if (machine == EM_X86_64 && end[-5] == 0xe8)
        return pc + (uint64_t)(int32_t)code;
    if (machine == EM_AARCH64 && code >> 26 == BRANCH_AND_LINK)
        return pc - 4 + (uint64_t)((int32_t)(code << 6) >> 4);
    return 0;
}

/* A direct call is e8 and four bytes. One through a register or memory is ff, and the byte behind
 * says how many bytes follow: mode and register as in Intel's manual, volume 2, table 2-2. */
static bool x86_64(const unsigned char *end)
{
    if (end[-5] == 0xe8)
        return true;
    for (int length = 2; length <= 7; length++) {
        unsigned code = end[-length], how = end[1 - length], mode = how >> 6, base = how & 7;
        bool scaled = mode != 3 && base == 4; /* one more byte, which may name the base instead */
        if (scaled && length > 2)
            base = end[2 - length] & 7;
        bool wide = mode == 2 || (mode == 0 && base == 5);
        int wanted = 2 + scaled + (mode == 1) + (wide ? 4 : 0);
        if (code == 0xff && (how >> 3 & 7) == 2 && wanted == length)
            return true;
    }
    return false;
}

/* bl, or blr with or without authentication. */
static bool aarch64(const unsigned char *end)
{
    uint32_t code = word(end - 4);
    return code >> 26 == BRANCH_AND_LINK || (code & 0xfefff000) == 0xd63f0000;
}

static uint32_t word(const unsigned char *at)
{
    return (uint32_t)at[3] << 24 | (uint32_t)at[2] << 16 | (uint32_t)at[1] << 8 | at[0];
}

/* SPDX-License-Identifier: MIT */
/* See base/call.h. */
#include "base/call.h"

#include <elf.h>
#include <stdint.h>

static bool x86_64(const unsigned char *end);
static bool aarch64(const unsigned char *end);

bool call_knows(unsigned machine)
{
    return machine == EM_X86_64 || machine == EM_AARCH64;
}

bool call_ends(unsigned machine, const unsigned char *end)
{
    return machine == EM_X86_64 ? x86_64(end) : machine == EM_AARCH64 ? aarch64(end) : false;
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
    uint32_t code =
        (uint32_t)end[-1] << 24 | (uint32_t)end[-2] << 16 | (uint32_t)end[-3] << 8 | end[-4];
    return code >> 26 == 0x25 || (code & 0xfefff000) == 0xd63f0000;
}

/* SPDX-License-Identifier: MIT */
/* See base/file/crc.h. Half a byte at a time: a table that is one cache line, and fast enough. */
#include "base/file/crc.h"

/* What the polynomial 0xedb88320 makes of each of the sixteen. */
static const uint32_t remainders[16] = {
    0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
    0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
};

uint32_t crc_add(uint32_t crc, const void *bytes, size_t length)
{
    const uint8_t *at = bytes;
    crc = ~crc;
    for (size_t i = 0; i < length; i++) {
        crc ^= at[i];
        crc = crc >> 4 ^ remainders[crc & 15];
        crc = crc >> 4 ^ remainders[crc & 15];
    }
    return ~crc;
}

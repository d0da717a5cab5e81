/* SPDX-License-Identifier: MIT */
/* CRC-32 as gzip, zip and Ethernet have it. Start with 0 and go on with what comes back. */
#ifndef BASE_CRC_H
#define BASE_CRC_H

#include <stddef.h>
#include <stdint.h>

uint32_t crc_add(uint32_t crc, const void *bytes, size_t length);

#endif

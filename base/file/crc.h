/* SPDX-License-Identifier: MIT */
/* CRC-32 as in gzip, zip and Ethernet. Start with 0 and pass each result to the next call. */
#ifndef FILE_CRC_H
#define FILE_CRC_H

#include <stddef.h>
#include <stdint.h>

uint32_t crc_add(uint32_t crc, const void *bytes, size_t length);

#endif

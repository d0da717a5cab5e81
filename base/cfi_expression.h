/* SPDX-License-Identifier: MIT */
/*
 * The inside of base/cfi: a bounded reader of table bytes, and the small stack machine whose
 * programs say where a register is.
 */
#ifndef BASE_CFI_EXPRESSION_H
#define BASE_CFI_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/cfi.h"

/* Bytes that are read from the front; reading beyond the end gives zeros and makes it bad. */
struct bytes {
    const uint8_t *at, *end;
    bool bad;
};

static inline uint64_t bytes_fixed(struct bytes *bytes, size_t size)
{
    uint64_t value = 0;
    if (bytes->at > bytes->end || (size_t)(bytes->end - bytes->at) < size) {
        bytes->bad = true;
        bytes->at = bytes->end;
        return 0;
    }
    memcpy(&value, bytes->at, size); /* both machines are little-endian */
    bytes->at += size;
    return value;
}

/* `negative`: it may be. */
static inline uint64_t bytes_leb(struct bytes *bytes, bool negative)
{
    uint64_t value = 0, byte;
    unsigned shift = 0;
    do {
        byte = bytes_fixed(bytes, 1);
        if (shift < 64)
            value |= (byte & 127) << shift;
        shift += 7;
    } while (byte & 128);
    if (negative && shift < 64 && (byte & 64))
        value |= ~(uint64_t)0 << shift;
    return value;
}

static inline uint64_t bytes_uleb(struct bytes *bytes)
{
    return bytes_leb(bytes, false);
}

static inline int64_t bytes_sleb(struct bytes *bytes)
{
    return (int64_t)bytes_leb(bytes, true);
}

static inline int64_t bytes_signed(const uint8_t *at, size_t size)
{
    int32_t narrow;
    int64_t wide;
    if (size == sizeof narrow) {
        memcpy(&narrow, at, sizeof narrow);
        return narrow;
    }
    memcpy(&wide, at, sizeof wide);
    return wide;
}

/* The program at `code`, its length before it; `*value` is on the stack at first if `pushed`.
 * False: it does something unknown, or reads what can't be read. `memory` may be NULL. */
bool expression_run(const uint8_t *code, struct cfi_memory *memory,
                    const struct cfi_registers *registers, bool pushed, uintptr_t *value);

#endif

/* SPDX-License-Identifier: MIT */
/* Protocol buffers, read field by field. */
#ifndef PROFILE_PARSE_WIRE_H
#define PROFILE_PARSE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/file/proto.h"

enum { WIRE_NUMBER = 0, WIRE_EIGHT = 1, WIRE_BYTES = 2, WIRE_FOUR = 5 };

/* Invariant: at <= end. */
struct wire {
    const uint8_t *at, *end;
    const char *bad; /* why the bytes at `at` are no field; NULL: nothing is wrong */
};

struct wire_field {
    unsigned number, type;
    uint64_t value;     /* of WIRE_NUMBER */
    struct wire inside; /* of WIRE_BYTES */
};

INLINE bool wire_number(struct wire *wire, uint64_t *value)
{
    if (likely(wire->at < wire->end && *wire->at < 0x80)) {
        *value = *wire->at++;
        return true;
    }
    unsigned used = varint_read(wire->at, (size_t)(wire->end - wire->at), value);
    wire->at += used;
    if (used == 0)
        wire->bad = "an integer is cut off or too long";
    return used > 0;
}

/* The next field. False: there is none, or `wire->bad` says what there is instead. */
static inline bool wire_next(struct wire *wire, struct wire_field *field)
{
    const uint8_t *start = wire->at;
    uint64_t tag, length = 0;
    if (wire->at == wire->end || !wire_number(wire, &tag))
        return false;
    field->number = tag >> 3 > UINT32_MAX ? UINT32_MAX : (unsigned)(tag >> 3);
    field->type = tag & 7;
    field->value = 0;
    field->inside = (struct wire){wire->at, wire->at, NULL};
    if (field->type == WIRE_NUMBER)
        return wire_number(wire, &field->value);
    if (field->type == WIRE_BYTES) {
        if (!wire_number(wire, &length))
            return false;
    } else if (field->type == WIRE_EIGHT || field->type == WIRE_FOUR) {
        length = field->type == WIRE_EIGHT ? 8 : 4;
    } else {
        wire->bad = "a field has an unknown type";
        wire->at = start;
        return false;
    }
    if (length > (size_t)(wire->end - wire->at)) {
        wire->bad = "a field is longer than its message";
        wire->at = start;
        return false;
    }
    field->inside = (struct wire){wire->at, wire->at + length, NULL};
    wire->at += length;
    return true;
}

#endif

/* SPDX-License-Identifier: MIT */
/* See base/file/proto.h. */
#include "base/file/proto.h"

#include <string.h>

enum { WIRE_NUMBER = 0, WIRE_LENGTH = 2 };

unsigned varint_write(uint8_t bytes[VARINT_MAX], uint64_t value)
{
    unsigned length = 0;
    for (; value >= 0x80; value >>= 7)
        bytes[length++] = (uint8_t)(value | 0x80);
    bytes[length++] = (uint8_t)value;
    return length;
}

unsigned varint_length(uint64_t value)
{
    unsigned length = 1;
    while (value >>= 7)
        length++;
    return length;
}

unsigned varint_read(const uint8_t *bytes, size_t size, uint64_t *value)
{
    *value = 0;
    for (unsigned i = 0; i < VARINT_MAX && i < size; i++) {
        uint64_t part = bytes[i] & 0x7f;
        if (i == VARINT_MAX - 1 && part > 1)
            return 0; /* the tenth byte has room for one bit */
        *value |= part << (7 * i);
        if (bytes[i] < 0x80)
            return i + 1;
    }
    return 0;
}

void proto_start(struct proto *message, void *buffer, size_t size)
{
    *message = (struct proto){buffer, size, 0, false};
}

static bool fits(struct proto *message, uint64_t tag, size_t more)
{
    bool fit = more <= message->size && varint_length(tag) <= message->size - more &&
               message->used <= message->size - more - varint_length(tag);
    message->cut |= !fit;
    return fit;
}

static void put(struct proto *message, uint64_t value)
{
    message->used += varint_write(message->bytes + message->used, value);
}

static uint64_t tag_of(unsigned field, unsigned wire)
{
    return (uint64_t)field << 3 | wire;
}

void proto_number(struct proto *message, unsigned field, uint64_t value)
{
    if (value != 0)
        proto_value(message, field, value);
}

void proto_value(struct proto *message, unsigned field, uint64_t value)
{
    uint64_t tag = tag_of(field, WIRE_NUMBER);
    if (!fits(message, tag, varint_length(value)))
        return;
    put(message, tag);
    put(message, value);
}

void proto_bytes(struct proto *message, unsigned field, const void *bytes, size_t length)
{
    uint64_t tag = tag_of(field, WIRE_LENGTH);
    if (length > message->size || !fits(message, tag, varint_length(length) + length))
        return;
    put(message, tag);
    put(message, length);
    if (length > 0)
        memcpy(message->bytes + message->used, bytes, length);
    message->used += length;
}

void proto_packed(struct proto *message, unsigned field, const uint64_t *values, size_t count)
{
    uint64_t tag = tag_of(field, WIRE_LENGTH);
    size_t length = 0;
    for (size_t i = 0; i < count; i++)
        length += varint_length(values[i]);
    if (count == 0 || !fits(message, tag, varint_length(length) + length))
        return;
    put(message, tag);
    put(message, length);
    for (size_t i = 0; i < count; i++)
        put(message, values[i]);
}

void proto_message(struct proto *message, unsigned field, const struct proto *inner)
{
    proto_bytes(message, field, inner->bytes, inner->used);
}

static void send_head(struct sink *sink, unsigned field, size_t length)
{
    uint8_t head[2 * VARINT_MAX];
    unsigned size = varint_write(head, tag_of(field, WIRE_LENGTH));
    size += varint_write(head + size, length);
    sink_bytes(sink, head, size);
}

void proto_send(struct proto *message, struct sink *sink, unsigned field)
{
    if (field != 0)
        send_head(sink, field, message->used);
    sink_bytes(sink, message->bytes, message->used);
    message->used = 0;
    message->cut = false;
}

void proto_send_text(struct sink *sink, unsigned field, const char *text, size_t length)
{
    send_head(sink, field, length);
    sink_bytes(sink, text, length);
}

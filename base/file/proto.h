/* SPDX-License-Identifier: MIT */
/*
 * Protocol buffers on the wire, written by hand. A message is made in a buffer of the caller's,
 * because its length comes before it, and then sent: as a field of the message that the sink takes,
 * or plainly. What does not fit is cut whole fields at a time, and remembered. No allocation; may
 * run in a signal handler.
 *
 *     proto_start(&message, buffer, sizeof buffer);
 *     proto_number(&message, 1, id);
 *     proto_send(&message, sink, 4);
 */
#ifndef FILE_PROTO_H
#define FILE_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/file/sink.h"

enum { VARINT_MAX = 10 }; /* bytes of a number */

/* Invariant: used <= size. */
struct proto {
    uint8_t *bytes;
    size_t size, used;
    bool cut;
};

/* Seven bits a byte, the lowest first, the highest bit set but in the last byte. How many. */
unsigned varint_write(uint8_t bytes[VARINT_MAX], uint64_t value);
unsigned varint_length(uint64_t value);
/* The number of bytes used; 0 if the number is not complete, or has more than 64 bits. */
unsigned varint_read(const uint8_t *bytes, size_t size, uint64_t *value);

void proto_start(struct proto *message, void *buffer, size_t size);
/* Left out if 0, as is usual. */
void proto_number(struct proto *message, unsigned field, uint64_t value);
/* Written even if 0, for readers that ask whether the field is there. */
void proto_value(struct proto *message, unsigned field, uint64_t value);
void proto_bytes(struct proto *message, unsigned field, const void *bytes, size_t length);
void proto_packed(struct proto *message, unsigned field, const uint64_t *values, size_t count);
/* A finished message inside of another one. */
void proto_message(struct proto *message, unsigned field, const struct proto *inner);

/* As field `field` of what the sink takes; 0: plainly. Then the message is empty again. */
void proto_send(struct proto *message, struct sink *sink, unsigned field);
void proto_send_text(struct sink *sink, unsigned field, const char *text, size_t length);

#endif

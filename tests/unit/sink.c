/* SPDX-License-Identifier: MIT */
/*
 * Sinks with buffers of every size give the same bytes; the first failure stays. Numbers and
 * messages on the wire, checksums and stored gzip against known bytes.
 */
#include "base/file/sink.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file/crc.h"
#include "base/file/gzip.h"
#include "base/file/proto.h"

static char got[300000];
static size_t got_length;
static size_t room = sizeof got;

static int keep(void *context, const void *bytes, size_t length)
{
    assert(context == got);
    if (length > room - got_length)
        return ENOSPC;
    memcpy(got + got_length, bytes, length);
    got_length += length;
    return 0;
}

static void start(struct sink *sink, char *buffer, size_t size)
{
    got_length = 0;
    sink_to_function(sink, keep, got, buffer, size);
}

static void every_buffer_gives_the_same(void)
{
    for (size_t size = 0; size < 70; size++) {
        char buffer[70];
        struct sink sink;
        start(&sink, buffer, size);
        sink_text(&sink, "one");
        sink_bytes(&sink, "", 0);
        sink_format(&sink, " %d %s %lx ", -2, "three and a long tail of letters", 0xabcdefUL);
        sink_bytes(&sink, "end\0", 4);
        assert(sink_flush(&sink) == 0);
        static const char wanted[] = "one -2 three and a long tail of letters abcdef end";
        assert(got_length == sizeof wanted && memcmp(got, wanted, sizeof wanted) == 0);
        assert(sink.total == sizeof wanted);
    }
}

static void the_first_failure_stays(void)
{
    char buffer[8];
    struct sink sink;
    int ends[2];
    room = 20;
    start(&sink, buffer, sizeof buffer);
    for (unsigned i = 0; i < 100; i++)
        sink_text(&sink, "12345");
    assert(sink_flush(&sink) == ENOSPC && sink.error == ENOSPC && got_length <= 20);
    room = sizeof got;
    sink_text(&sink, "more");
    assert(sink_flush(&sink) == ENOSPC && got_length <= 20);

    sink_to_fd(&sink, -1, buffer, sizeof buffer);
    sink_text(&sink, "nowhere");
    assert(sink.error == 0 && sink_flush(&sink) == EBADF);

    assert(pipe(ends) == 0);
    sink_to_fd(&sink, ends[1], buffer, sizeof buffer);
    sink_text(&sink, "through a pipe");
    assert(sink_flush(&sink) == 0 && read(ends[0], got, sizeof got) == 14);
    assert(memcmp(got, "through a pipe", 14) == 0);
}

static void numbers_come_back(void)
{
    static const uint64_t values[] = {0,       1,          127,       128,       300,
                                      1 << 14, UINT32_MAX, INT64_MAX, UINT64_MAX};
    uint8_t bytes[VARINT_MAX];
    uint64_t back;
    for (unsigned i = 0; i < sizeof values / sizeof *values; i++) {
        unsigned length = varint_write(bytes, values[i]);
        assert(length == varint_length(values[i]) && length <= VARINT_MAX);
        assert(varint_read(bytes, length, &back) == length && back == values[i]);
        for (unsigned cut = 0; cut < length; cut++)
            assert(varint_read(bytes, cut, &back) == 0);
    }
    memset(bytes, 0xff, sizeof bytes);
    assert(varint_read(bytes, sizeof bytes, &back) == 0);
    bytes[9] = 2; /* bit 64 */
    assert(varint_read(bytes, sizeof bytes, &back) == 0);
}

static void messages_are_as_others_write_them(void)
{
    uint8_t buffer[64];
    uint8_t inner_buffer[16];
    struct proto message;
    struct proto inner;
    struct sink sink;
    static const uint64_t values[] = {3, 270, 86942};
    /* From the description of the wire format: 1: 150; 2: "testing"; 4: [3, 270, 86942]; then a 0
     * that is there. */
    static const uint8_t wanted[] = {0x08, 0x96, 1,    0x12, 7, 't',  'e',  's',  't',
                                     'i',  'n',  'g',  0x22, 6, 3,    0x8e, 2,    0x9e,
                                     0xa7, 5,    0x1a, 3,    8, 0x96, 1,    0x28, 0};
    proto_start(&message, buffer, sizeof buffer);
    proto_start(&inner, inner_buffer, sizeof inner_buffer);
    proto_number(&inner, 1, 150);
    proto_number(&message, 1, 150);
    proto_number(&message, 7, 0);
    proto_bytes(&message, 2, "testing", 7);
    proto_packed(&message, 4, values, 3);
    proto_message(&message, 3, &inner);
    proto_value(&message, 5, 0);
    assert(!message.cut);
    start(&sink, NULL, 0);
    proto_send(&message, &sink, 0);
    assert(got_length == sizeof wanted && memcmp(got, wanted, sizeof wanted) == 0);

    for (size_t size = 0; size < 40; size++) {
        memset(buffer, 0x55, sizeof buffer);
        proto_start(&message, buffer, size);
        proto_bytes(&message, 2, "testing", 7);
        proto_packed(&message, 4, values, 3);
        proto_number(&message, 300, UINT64_MAX);
        assert(message.used <= size && buffer[size] == 0x55);
        assert(message.cut == (size < 9 + 8 + 12));
    }
    start(&sink, NULL, 0);
    proto_start(&message, buffer, sizeof buffer);
    proto_number(&message, 1, 1);
    proto_send(&message, &sink, 100);
    assert(got_length == 5 && memcmp(got, "\xa2\x06\x02\x08\x01", 5) == 0 && message.used == 0);
}

/* Undoes what gzip_... did; how many bytes. */
static size_t unpack(const uint8_t *at, size_t length, char *text)
{
    size_t size = 0;
    bool last = false;
    const uint8_t *end = at + length;
    assert(memcmp(at, "\x1f\x8b\x08\0", 4) == 0);
    for (at += 10; !last;) {
        size_t block = at[1] | (size_t)at[2] << 8;
        last = at[0] == 1;
        assert(at[0] <= 1 && (at[1] ^ at[3]) == 0xff && (at[2] ^ at[4]) == 0xff);
        memcpy(text + size, at + 5, block);
        size += block;
        at += 5 + block;
    }
    uint32_t crc = at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
    assert(at + 8 == end && crc == crc_add(0, text, size) && at[4] == (uint8_t)size);
    return size;
}

static void gzip_holds_what_was_put_in(void)
{
    static char text[200000], back[200000], buffer[1000];
    struct gzip gzip;
    struct sink out;
    assert(crc_add(0, "123456789", 9) == 0xcbf43926);
    assert(crc_add(crc_add(0, "1234", 4), "56789", 5) == 0xcbf43926);
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)(i * i >> 5);
    for (size_t length = 0; length <= sizeof text; length = length * 3 + 1) {
        start(&out, NULL, 0);
        gzip_start(&gzip, &out, buffer, sizeof buffer);
        sink_bytes(&gzip.sink, text, length / 3);
        sink_bytes(&gzip.sink, text + length / 3, length - length / 3);
        gzip_end(&gzip);
        assert(out.error == 0);
        assert(unpack((uint8_t *)got, got_length, back) == length);
        assert(memcmp(text, back, length) == 0);
    }
}

int main(void)
{
    every_buffer_gives_the_same();
    the_first_failure_stays();
    numbers_come_back();
    messages_are_as_others_write_them();
    gzip_holds_what_was_put_in();
    return 0;
}

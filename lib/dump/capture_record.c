/* SPDX-License-Identifier: MIT */
/* See lib/dump/capture_record.h. */
#include "lib/dump/capture_record.h"

#include <string.h>

#include "base/file/capture_format.h"
#include "base/file/crc.h"
#include "base/file/proto.h"
#include "lib/dump/capture.h"
#include "lib/heap/observer.h"

bool capture_record_begin(struct capture *capture, uint32_t type, size_t room)
{
    if (capture->type == type && sizeof capture->payload - capture->used >= room)
        return false;
    capture_record_end(capture);
    capture->type = type;
    capture->used = 0;
    return true;
}

void capture_record_end(struct capture *capture)
{
    uint8_t head[FORMAT_RECORD_HEAD];
    if (capture->type == 0)
        return;
    format_put(head, capture->type, 4);
    format_put(head + 4, capture->used, 4);
    uint32_t crc = crc_add(0, head, 8);
    format_put(head + 8, crc_add(crc, capture->payload, capture->used), 4);
    sink_bytes(capture->sink, head, sizeof head);
    sink_bytes(capture->sink, capture->payload, capture->used);
    capture->type = 0;
}

void capture_put(struct capture *capture, uint64_t value)
{
    if (sizeof capture->payload - capture->used >= VARINT_MAX)
        capture->used += varint_write(capture->payload + capture->used, value);
}

void capture_put_change(struct capture *capture, uint64_t before, uint64_t now)
{
    capture_put(capture, format_fold((int64_t)(now - before)));
}

void capture_put_bytes(struct capture *capture, const void *bytes, size_t length)
{
    size_t room = sizeof capture->payload - capture->used;
    length = length < CAPTURE_TEXT_MAX ? length : CAPTURE_TEXT_MAX;
    if (room < length + VARINT_MAX)
        length = 0;
    capture_put(capture, length);
    if (length > 0)
        memcpy(capture->payload + capture->used, bytes, length);
    capture->used += length;
}

void capture_put_text(struct capture *capture, const char *text)
{
    capture_put_bytes(capture, text, text == NULL ? 0 : strlen(text));
}

void capture_put_sum(struct capture *capture, const struct track_sum *sum)
{
    capture_put(capture, sum->objects);
    capture_put(capture, sum->requested);
    capture_put(capture, sum->usable);
}

/* SPDX-License-Identifier: MIT */
/*
 * Records of a capture, for all that write some. A record is made in the capture's `payload` and
 * sent when it is full or another kind begins. What an entry tells as the difference to the one
 * before begins anew in every record.
 */
#ifndef DUMP_CAPTURE_RECORD_H
#define DUMP_CAPTURE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct capture;
struct track_sum;

/* Bytes of an entry without its texts; of a text. */
enum { CAPTURE_ENTRY_MAX = 512, CAPTURE_TEXT_MAX = 4608 };

/* Makes sure of a record of that type (base/file/capture_format.h) with this room; true if it is a
 * new one. */
bool capture_record_begin(struct capture *capture, uint32_t type, size_t room);
void capture_record_end(struct capture *capture);
void capture_put(struct capture *capture, uint64_t value);
void capture_put_change(struct capture *capture, uint64_t before, uint64_t now);
void capture_put_bytes(struct capture *capture, const void *bytes, size_t length);
/* `text` may be NULL. */
void capture_put_text(struct capture *capture, const char *text);
void capture_put_sum(struct capture *capture, const struct track_sum *sum);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * See tool/profile/parse/unpack.h. A few bytes can be packed so that they fill any memory. How
 * large the result will be is not known beforehand, so it is looked at on the way: against the
 * memory that the machine has to spare, and against what profiles can be packed to.
 */
#include "tool/profile/parse/unpack.h"

#include <limits.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/compiler.h"
#include "tool/profile/profile.h"

enum {
    FIRST_ROOM = 1 << 20, /* bytes; doubled as needed */
    HARMLESS = 256 << 20, /* bytes out that need no thought */
    RATIO_MAX = 500,      /* of profiles larger than that; text of equal lines comes to 200 */
    GZIP_AND_HEADER = 16 + MAX_WBITS,
};

struct unpacking {
    const char *bytes;
    size_t size, used;
    struct paged *out;
    struct read_error *error;
    size_t max;
};

static bool is_gzip(const char *bytes, size_t size);
static enum unpack_result unpack_gzip(struct unpacking *it);
static bool grow(struct unpacking *it);
static unsigned chunk_of(size_t size);
static unsigned at_once(size_t room);
static enum unpack_result unpack_zstd(struct unpacking *it);

enum unpack_result unpack(const char *bytes, size_t size, struct paged *out,
                          struct read_error *error)
{
    static const unsigned char zstd[] = {0x28, 0xb5, 0x2f, 0xfd};
    struct unpacking it = {.bytes = bytes, .size = size, .out = out, .error = error};
    enum unpack_result result = UNPACK_PLAIN;
    place_begin("unpacking", bytes, size);
    if (is_gzip(bytes, size))
        result = unpack_gzip(&it);
    else if (size >= sizeof zstd && memcmp(bytes, zstd, sizeof zstd) == 0)
        result = unpack_zstd(&it);
    if (out->bytes)
        out->bytes[out->size] = 0;
    return result;
}

static bool is_gzip(const char *bytes, size_t size)
{
    return size >= 3 && memcmp(bytes, "\x1f\x8b\x08", 3) == 0;
}

static enum unpack_result unpack_gzip(struct unpacking *it)
{
    z_stream stream = {0};
    if (inflateInit2(&stream, GZIP_AND_HEADER) != Z_OK) {
        read_refuse(it->error, 0, "no memory");
        return UNPACK_REFUSED;
    }
    enum unpack_result result = UNPACK_TORN;
    while (it->used < it->size) {
        if (!grow(it)) {
            result = UNPACK_REFUSED;
            break;
        }
        unsigned in = chunk_of(it->size - it->used), room = at_once(it->out->room - it->out->size);
        stream.next_in = (Bytef *)(uintptr_t)(it->bytes + it->used);
        stream.avail_in = in;
        stream.next_out = (Bytef *)it->out->bytes + it->out->size;
        stream.avail_out = room;
        int answer = inflate(&stream, Z_NO_FLUSH);
        it->used += in - stream.avail_in;
        place_at(it->bytes + it->used);
        it->out->size += room - stream.avail_out;
        if (answer == Z_STREAM_END) {
            result = UNPACK_WHOLE;
            if (!is_gzip(it->bytes + it->used, it->size - it->used))
                break;
            inflateReset(&stream);
            result = UNPACK_TORN;
        } else if (answer != Z_OK && answer != Z_BUF_ERROR) {
            read_refuse(it->error, it->used, "damaged gzip data: %s",
                        stream.msg ? stream.msg : "it can't be undone");
            result = UNPACK_REFUSED;
            break;
        }
    }
    inflateEnd(&stream);
    return result;
}

/* Room for more, or the reason why not. */
static bool grow(struct unpacking *it)
{
    struct paged *out = it->out;
    if (out->size < out->room)
        return true;
    if (it->max == 0)
        it->max = paged_spare() / 4 * 3;
    if (out->size >= HARMLESS && out->size / RATIO_MAX > it->used)
        return read_refuse(it->error, it->used,
                           "%zu compressed bytes become more than %zu, which is implausible for a "
                           "profile; if it is one, decompress it first",
                           it->used, out->size);
    if (out->size >= it->max && out->size >= HARMLESS)
        return read_refuse(it->error, it->used,
                           "decompressed, it has more than %zu MB, which is more than the free "
                           "memory of this machine",
                           out->size >> 20);
    if (!paged_grow(out, out->room < FIRST_ROOM ? FIRST_ROOM : out->room * 2))
        return read_refuse(it->error, it->used, "not enough memory to decompress it");
    return true;
}

static unsigned chunk_of(size_t size)
{
    return size > UINT_MAX / 2 ? UINT_MAX / 2 : (unsigned)size;
}

/* Bytes that are unpacked in one go, so that progress can be shown. */
static unsigned at_once(size_t room)
{
    /* Far less than progress takes to move by a step. */
    enum { STEP_MAX = 1 << 22 };
    return room < STEP_MAX ? (unsigned)room : STEP_MAX;
}

static enum unpack_result unpack_zstd(struct unpacking *it)
{
    ZSTD_DStream *stream = ZSTD_createDStream();
    ZSTD_inBuffer in = {it->bytes, it->size, 0};
    size_t left = 0;
    bool fine = true;
    if (!stream) {
        read_refuse(it->error, 0, "no memory");
        return UNPACK_REFUSED;
    }
    for (bool more = true; more && (fine = grow(it));) {
        size_t out_before = it->out->size, in_before = in.pos;
        size_t room = out_before + at_once(it->out->room - out_before);
        ZSTD_outBuffer out = {it->out->bytes, room, out_before};
        left = ZSTD_decompressStream(stream, &out, &in);
        it->used = in.pos;
        place_at(it->bytes + it->used);
        it->out->size = out.pos;
        if (ZSTD_isError(left)) {
            fine =
                read_refuse(it->error, it->used, "damaged zstd data: %s", ZSTD_getErrorName(left));
            break;
        }
        more = in.pos < in.size || out.pos == out.size;
        if (out.pos == out_before && in.pos == in_before && out.pos < out.size)
            break;
    }
    ZSTD_freeDStream(stream);
    return !fine ? UNPACK_REFUSED : left == 0 ? UNPACK_WHOLE : UNPACK_TORN;
}

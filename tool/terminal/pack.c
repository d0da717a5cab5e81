/* SPDX-License-Identifier: MIT */
/* See tool/terminal/pack.h. A stream of the C library's own, so that writers need not know. */
#include "tool/terminal/pack.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <zlib.h>
#include <zstd.h>

#include "tool/terminal/name.h"

enum { ROOM = 1 << 16, GZIP_BITS = 16 + MAX_WBITS, MEMORY_LEVEL = 8 }; /* zlib's default level */

static const char gzip_ending[] = ".gz", zstd_ending[] = ".zst";

struct pack {
    FILE *to;
    z_stream gzip;
    ZSTD_CStream *zstd; /* NULL: gzip */
    unsigned char out[ROOM];
};

static ssize_t cookie_write(void *cookie, const char *bytes, size_t size);
static bool pack_bytes(struct pack *pack, const char *bytes, size_t size, bool end);
static bool zstd_bytes(struct pack *pack, const char *bytes, size_t size, bool end);
static bool gzip_bytes(struct pack *pack, const char *bytes, size_t size, bool end);
static int cookie_close(void *cookie);

size_t pack_stem(const char *path)
{
    if (name_ends_in(path, gzip_ending))
        return strlen(path) - strlen(gzip_ending);
    return strlen(path) - (name_ends_in(path, zstd_ending) ? strlen(zstd_ending) : 0);
}

FILE *pack_open(FILE *to, const char *path)
{
    struct pack *pack = calloc(1, sizeof *pack);
    FILE *file = NULL;
    if (!pack)
        return NULL;
    pack->to = to;
    bool ready;
    if (name_ends_in(path, zstd_ending))
        ready = (pack->zstd = ZSTD_createCStream()) != NULL;
    else
        ready = deflateInit2(&pack->gzip, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_BITS,
                             MEMORY_LEVEL, Z_DEFAULT_STRATEGY) == Z_OK;
    if (ready)
        file = fopencookie(pack, "w",
                           (cookie_io_functions_t){.write = cookie_write, .close = cookie_close});
    if (!file) {
        if (ready && pack->zstd)
            ZSTD_freeCStream(pack->zstd);
        else if (ready)
            deflateEnd(&pack->gzip);
        free(pack);
    }
    return file;
}

static ssize_t cookie_write(void *cookie, const char *bytes, size_t size)
{
    size_t part = size > INT_MAX ? INT_MAX : size;
    if (pack_bytes(cookie, bytes, part, false))
        return (ssize_t)part;
    if (errno == 0)
        errno = ENOMEM;
    return 0;
}

static bool pack_bytes(struct pack *pack, const char *bytes, size_t size, bool end)
{
    return pack->zstd ? zstd_bytes(pack, bytes, size, end) : gzip_bytes(pack, bytes, size, end);
}

static bool zstd_bytes(struct pack *pack, const char *bytes, size_t size, bool end)
{
    ZSTD_inBuffer in = {bytes, size, 0};
    size_t left = 0;
    do {
        ZSTD_outBuffer out = {pack->out, ROOM, 0};
        left = ZSTD_compressStream2(pack->zstd, &out, &in, end ? ZSTD_e_end : ZSTD_e_continue);
        if (ZSTD_isError(left) || fwrite(pack->out, 1, out.pos, pack->to) != out.pos)
            return false;
    } while (in.pos < in.size || (end && left > 0));
    return true;
}

static bool gzip_bytes(struct pack *pack, const char *bytes, size_t size, bool end)
{
    pack->gzip.next_in = (unsigned char *)(uintptr_t)bytes;
    pack->gzip.avail_in = (unsigned)size;
    do {
        pack->gzip.next_out = pack->out;
        pack->gzip.avail_out = ROOM;
        if (deflate(&pack->gzip, end ? Z_FINISH : Z_NO_FLUSH) == Z_STREAM_ERROR)
            return false;
        size_t made = ROOM - pack->gzip.avail_out;
        if (fwrite(pack->out, 1, made, pack->to) != made)
            return false;
    } while (pack->gzip.avail_out == 0);
    return true;
}

static int cookie_close(void *cookie)
{
    struct pack *pack = cookie;
    bool done = pack_bytes(pack, "", 0, true);
    if (pack->zstd)
        ZSTD_freeCStream(pack->zstd);
    else
        deflateEnd(&pack->gzip);
    free(pack);
    return done ? 0 : -1;
}

/* SPDX-License-Identifier: MIT */
/* See tool/symbol/elf/mini.h. The file decides how large it unpacks: there is a
 * limit. */
#include "tool/symbol/elf/mini.h"

#include <dlfcn.h>
#include <lzma.h>
#include <stdlib.h>

#include "tool/memory/memory.h"

/* Bounds for damaged files: liblzma's memory, and symbols unpacked. */
enum { MEMORY_MAX = 64 << 20, UNPACKED_MAX = 256 << 20, SIZE_FIRST = 1 << 20 };

/* The functions of liblzma; all or none. */
struct library {
    __typeof__(lzma_stream_decoder) *start;
    __typeof__(lzma_code) *code;
    __typeof__(lzma_end) *end;
};

static bool library_open(struct library *library);
static unsigned char *unpack(const struct library *library, const Elf_Data *data, size_t *size);

struct image *mini_open(const struct image *image)
{
    struct library library;
    size_t size = 0;
    Elf_Data *data = image_section(image, ".gnu_debugdata", NULL);
    unsigned char *bytes = data && library_open(&library) ? unpack(&library, data, &size) : NULL;
    struct image *mini = bytes ? image_memory(image->path, bytes, size) : NULL;
    if (mini && mini->has_symtab) {
        mini->partial = true;
        return mini;
    }
    image_close(mini);
    return NULL;
}

static bool library_open(struct library *library)
{
    void *handle = dlopen("liblzma.so.5", RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return false;
    library->start = (__typeof__(library->start))dlsym(handle, "lzma_stream_decoder");
    library->code = (__typeof__(library->code))dlsym(handle, "lzma_code");
    library->end = (__typeof__(library->end))dlsym(handle, "lzma_end");
    return library->start && library->code && library->end;
}

/* What it unpacks to, to be freed; NULL: it can't be, or it is too large. */
static unsigned char *unpack(const struct library *library, const Elf_Data *data, size_t *size)
{
    lzma_stream stream = LZMA_STREAM_INIT;
    unsigned char *bytes = NULL;
    size_t room = 0;
    lzma_ret state = library->start(&stream, MEMORY_MAX, 0);
    stream.next_in = data->d_buf;
    stream.avail_in = data->d_size;
    while (state == LZMA_OK && room < UNPACKED_MAX) {
        size_t more = room == 0 ? SIZE_FIRST : 2 * room;
        if (!list_resize(&bytes, more, 1))
            break;
        stream.next_out = bytes + room;
        stream.avail_out = more - room;
        while (state == LZMA_OK && stream.avail_out > 0)
            state = library->code(&stream, LZMA_FINISH);
        *size = more - stream.avail_out;
        room = more;
    }
    library->end(&stream);
    if (state == LZMA_STREAM_END)
        return bytes;
    free(bytes);
    return NULL;
}

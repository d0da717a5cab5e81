/* SPDX-License-Identifier: MIT */ /* static-too */
/* Every entry point that returns a block is served by one allocator: each block can be freed,
 * resized and measured by every other entry point. A function left to the C library would end in
 * its heap and crash here. Library functions that allocate inside (strdup, getline, asprintf, ...)
 * are in the list too. */
#define _GNU_SOURCE
#include <malloc.h>
#include <wchar.h>

#include "tests/api/check.h"

CHECK_WEAK void *pvalloc(size_t);
CHECK_WEAK void *reallocarray(void *, size_t, size_t);
CHECK_WEAK void free_sized(void *, size_t);
CHECK_WEAK void free_aligned_sized(void *, size_t, size_t);
CHECK_WEAK void cfree(void *);
CHECK_WEAK void *_Znwm(size_t);
CHECK_WEAK void *_Znam(size_t);
CHECK_WEAK void _ZdlPv(void *);
CHECK_WEAK void _ZdaPvm(void *, size_t);

enum { BYTES = 120, WAYS_IN = 17, WAYS_OUT = 9, ALIGNMENT = 64 };

static void *from_posix_memalign(void)
{
    void *block = NULL;
    return posix_memalign(&block, ALIGNMENT, BYTES) == 0 ? block : NULL;
}

static void *from_getline(void)
{
    char *line = NULL;
    size_t capacity = 0;
    FILE *file = tmpfile();
    CHECK(file != NULL);
    for (int i = 0; i < 200; i++) {
        fputc('g', file);
    }
    rewind(file);
    CHECK_EQ(getline(&line, &capacity, file), 200);
    fclose(file);
    return line;
}

static void *from_memstream(void)
{
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&text, &length);
    fprintf(file, "%0200d", 1);
    fclose(file);
    CHECK_EQ(length, 200);
    return text;
}

static void *from_asprintf(void)
{
    char *text = NULL;
    CHECK_EQ(asprintf(&text, "%0200d", 1), 200);
    return text;
}

static void *way_in(int way)
{
    static const char text[] =
        "0123456789012345678901234567890123456789012345678901234567890123456789"
        "01234567890123456789012345678901234567890123456789";
    switch (way) {
    case 0:
        return malloc(BYTES);
    case 1:
        return calloc(3, BYTES / 3);
    case 2:
        return realloc(NULL, BYTES);
    case 3:
        return realloc(malloc(1), BYTES);
    case 4:
        return reallocarray != NULL ? reallocarray(NULL, 3, BYTES / 3) : malloc(BYTES);
    case 5:
        return aligned_alloc(ALIGNMENT, BYTES);
    case 6:
        return memalign(ALIGNMENT, BYTES);
    case 7:
        return from_posix_memalign();
    case 8:
        return valloc(BYTES);
    case 9:
        return pvalloc != NULL ? pvalloc(BYTES) : malloc(BYTES);
    case 10:
        return strdup(text);
    case 11:
        return strndup(text, BYTES);
    case 12:
        return wcsdup(L"0123456789012345678901234567890123456789");
    case 13:
        return from_asprintf();
    case 14:
        return from_getline();
    case 15:
        return from_memstream();
    default:
        return _Znwm != NULL ? (_Znam != NULL ? _Znam(BYTES) : _Znwm(BYTES)) : malloc(BYTES);
    }
}

static void way_out(int way, void *block)
{
    switch (way) {
    case 0:
        free(block);
        break;
    case 1:
        CHECK(realloc(block, opaque_size(0)) == NULL);
        break;
    case 2:
        free(realloc(block, BYTES * 100));
        break;
    case 3:
        free(realloc(block, 5000000));
        break;
    case 4:
        if (reallocarray != NULL) {
            free(reallocarray(block, 2, 10));
            break;
        }
        free(block);
        break;
    case 5:
        (cfree != NULL ? cfree : free)(block);
        break;
    case 6:
        (_ZdlPv != NULL ? _ZdlPv : free)(block);
        break;
    case 7:
        free(realloc(realloc(block, 3000000), 30));
        break;
    default:
        CHECK(malloc_usable_size(block) >= BYTES);
        free(block);
        break;
    }
}

/* The sized forms promise the size that was asked for. */
static void sized_ways_out(void)
{
    for (size_t size = 0; size < 70000; size += 1 + size / 16) {
        if (free_sized != NULL) {
            free_sized(malloc(size), size);
            free_sized(calloc(1, size), size);
            free_sized(realloc(malloc(3), size == 0 ? 1 : size), size == 0 ? 1 : size);
        }
        if (_ZdaPvm != NULL && _Znam != NULL) {
            _ZdaPvm(_Znam(size), size);
        }
        for (size_t alignment = 1; alignment <= 8192; alignment *= 2) {
            if (free_aligned_sized != NULL) {
                free_aligned_sized(aligned_alloc(alignment, size), alignment, size);
            }
        }
    }
    if (free_sized != NULL && free_aligned_sized != NULL) {
        free_sized(NULL, 10);
        free_aligned_sized(NULL, 64, 10);
    }
}

int main(void)
{
    for (int round = 0; round < 20; round++) {
        for (int in = 0; in < WAYS_IN; in++) {
            for (int out = 0; out < WAYS_OUT; out++) {
                void *block = way_in(in);
                CHECK_AT(block != NULL, "way %d", in);
                CHECK_AT(malloc_usable_size(block) >= BYTES, "way %d", in);
                way_out(out, block);
            }
        }
    }
    sized_ways_out();
    return check_result();
}

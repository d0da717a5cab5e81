/* SPDX-License-Identifier: MIT */
/*
 * Functions that mimalloc has from elsewhere: copies of text, C++'s new, names of other systems.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "lib/api/api.h"
#include "lib/faces/mimalloc/mimalloc.h"
#include "lib/watch/watch.h"

struct nothrow;
void *_Znwm(size_t size);
void *_ZnwmRKSt9nothrow_t(size_t size, const struct nothrow *tag);
void *_ZnwmSt11align_val_t(size_t size, size_t align);
void *_ZnwmSt11align_val_tRKSt9nothrow_t(size_t size, size_t align, const struct nothrow *tag);
extern char *realpath(const char *path, char *resolved);

static void *copy(const void *from, size_t bytes, size_t end, const struct caller *caller);

FUNCTION(char *, mi_strdup, (const char *text))
{
    struct caller caller = CALLER_HERE;
    return text == NULL ? NULL : copy(text, strlen(text), 1, &caller);
}

/* A copy of `bytes` bytes, with `end` zero bytes behind them. */
static void *copy(const void *from, size_t bytes, size_t end, const struct caller *caller)
{
    char *block = mimalloc_take(&(struct wish){.size = bytes + end, .align = 1}, caller);
    if (block == NULL)
        return NULL;
    memcpy(block, from, bytes);
    memset(block + bytes, 0, end);
    return block;
}

FUNCTION(char *, mi_strndup, (const char *text, size_t length))
{
    struct caller caller = CALLER_HERE;
    return text == NULL ? NULL : copy(text, strnlen(text, length), 1, &caller);
}

FUNCTION(wchar_t *, mi_wcsdup, (const wchar_t *text))
{
    struct caller caller = CALLER_HERE;
    if (text == NULL)
        return NULL;
    return copy(text, wcslen(text) * sizeof *text, sizeof *text, &caller);
}

FUNCTION(unsigned char *, mi_mbsdup, (const unsigned char *text))
{
    struct caller caller = CALLER_HERE;
    return text == NULL ? NULL : copy(text, strlen((const char *)text), 1, &caller);
}

FUNCTION(char *, mi_realpath, (const char *path, char *resolved))
{
    struct caller caller = CALLER_HERE;
    char buffer[PATH_MAX];
    if (resolved != NULL)
        return realpath(path, resolved);
    return realpath(path, buffer) == NULL ? NULL : copy(buffer, strlen(buffer), 1, &caller);
}

FUNCTION(int, mi_dupenv_s, (char **out, size_t *length, const char *name))
{
    struct caller caller = CALLER_HERE;
    if (length != NULL)
        *length = 0;
    if (out == NULL || name == NULL)
        return EINVAL;
    const char *value = getenv(name);
    *out = value == NULL ? NULL : copy(value, strlen(value), 1, &caller);
    if (length != NULL && *out != NULL)
        *length = strlen(value) + 1; /* as Microsoft's, and mimalloc since 2.4 */
    return value != NULL && *out == NULL ? ENOMEM : 0;
}

/* There are no such variables here; nor has mimalloc them outside of Windows. */
FUNCTION(int, mi_wdupenv_s, (wchar_t * *out, size_t *length, const wchar_t *name))
{
    (void)name;
    if (out == NULL)
        return EINVAL;
    *out = NULL;
    if (length != NULL)
        *length = 0;
    return EINVAL;
}

#define JUMP(result, name, args, call) \
    FUNCTION(result, name, args)       \
    {                                  \
        return call;                   \
    }

JUMP(size_t, mi_malloc_size, (const void *p), mi_usable_size(p))
JUMP(size_t, mi_malloc_usable_size, (const void *p), mi_usable_size(p))
size_t mi_good_size(size_t size);
JUMP(size_t, mi_malloc_good_size, (size_t size), mi_good_size(size))

JUMP(void *, mi_new, (size_t size), _Znwm(size))
JUMP(void *, mi_new_n, (size_t count, size_t size), _Znwm(mimalloc_product(count, size)))
JUMP(void *, mi_new_aligned, (size_t size, size_t align), _ZnwmSt11align_val_t(size, align))
JUMP(void *, mi_new_nothrow, (size_t size), _ZnwmRKSt9nothrow_t(size, NULL))
JUMP(void *, mi_new_aligned_nothrow, (size_t size, size_t align),
     _ZnwmSt11align_val_tRKSt9nothrow_t(size, align, NULL))

/* Where there is no memory, operator new asks the new handler and throws. */
static NOINLINE void *new_resized(void *p, size_t size)
{
    struct caller caller = CALLER_OF(FAMILY_ANY);
    void *block = mimalloc_resize(p, &(struct wish){.size = size, .align = 1}, &caller);
    if (block != NULL)
        return block;
    size_t usable = mi_usable_size(p);
    block = _Znwm(size);
    if (p != NULL)
        memcpy(block, p, usable < size ? usable : size);
    mi_free(p);
    return block;
}

JUMP(void *, mi_new_realloc, (void *p, size_t size), new_resized(p, size))
JUMP(void *, mi_new_reallocn, (void *p, size_t count, size_t size),
     new_resized(p, mimalloc_product(count, size)))

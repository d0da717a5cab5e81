/* SPDX-License-Identifier: MIT */
/*
 * The allocation functions of C, and some of other systems, as macros that call mimalloc's: for
 * source files that include this last. See mimalloc.h.
 */
#ifndef MIMALLOC_OVERRIDE_H
#define MIMALLOC_OVERRIDE_H

#include <mimalloc.h>

#define malloc(size)         mi_malloc(size)
#define calloc(count, size)  mi_calloc(count, size)
#define realloc(p, size)     mi_realloc(p, size)
#define free(p)              mi_free(p)
#define strdup(text)         mi_strdup(text)
#define strndup(text, n)     mi_strndup(text, n)
#define realpath(path, into) mi_realpath(path, into)

#define aligned_alloc(align, size)        mi_aligned_alloc(align, size)
#define memalign(align, size)             mi_memalign(align, size)
#define posix_memalign(out, align, size)  mi_posix_memalign(out, align, size)
#define _posix_memalign(out, align, size) mi_posix_memalign(out, align, size)
#define valloc(size)                      mi_valloc(size)
#define pvalloc(size)                     mi_pvalloc(size)
#define reallocarray(p, count, size)      mi_reallocarray(p, count, size)
#define reallocarr(place, count, size)    mi_reallocarr(place, count, size)
#define reallocf(p, size)                 mi_reallocf(p, size)
#define malloc_size(p)                    mi_usable_size(p)
#define malloc_usable_size(p)             mi_usable_size(p)
#define malloc_good_size(size)            mi_malloc_good_size(size)
#define cfree(p)                          mi_free(p)

#define _expand(p, size)              mi_expand(p, size)
#define _msize(p)                     mi_usable_size(p)
#define _recalloc(p, count, size)     mi_recalloc(p, count, size)
#define _strdup(text)                 mi_strdup(text)
#define _strndup(text, n)             mi_strndup(text, n)
#define _wcsdup(text)                 mi_wcsdup(text)
#define _mbsdup(text)                 mi_mbsdup(text)
#define _dupenv_s(out, length, name)  mi_dupenv_s(out, length, name)
#define _wdupenv_s(out, length, name) mi_wdupenv_s(out, length, name)

#define _aligned_malloc(size, align)                mi_malloc_aligned(size, align)
#define _aligned_realloc(p, size, align)            mi_realloc_aligned(p, size, align)
#define _aligned_recalloc(p, count, size, align)    mi_aligned_recalloc(p, count, size, align)
#define _aligned_msize(p, align, offset)            mi_usable_size(p)
#define _aligned_free(p)                            mi_free(p)
#define _aligned_offset_malloc(size, align, offset) mi_malloc_aligned_at(size, align, offset)
#define _aligned_offset_realloc(p, size, align, offset) \
    mi_realloc_aligned_at(p, size, align, offset)
#define _aligned_offset_recalloc(p, count, size, align, offset) \
    mi_recalloc_aligned_at(p, count, size, align, offset)

#endif

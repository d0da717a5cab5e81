/* SPDX-License-Identifier: MIT */
/* What jemalloc's and gperftools' faces share of jemalloc's allocation functions. */
#ifndef JEMALLOC_JEMALLOC_ALLOC_H
#define JEMALLOC_JEMALLOC_ALLOC_H

#include <stddef.h>

void *mallocx(size_t size, int flags);
/* How large a block for `size` bytes would be; the low bits of `flags`: log2 of its alignment. */
size_t nallocx(size_t size, int flags);

#endif

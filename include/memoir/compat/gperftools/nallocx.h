/* SPDX-License-Identifier: MIT */
/* For programs that say #include <gperftools/nallocx.h>: the size of the block that malloc(size)
 * would return. */
#ifndef _NALLOCX_H_
#define _NALLOCX_H_

#include <stddef.h>

#ifndef MALLOCX_LG_ALIGN
#define MALLOCX_LG_ALIGN(la) ((int)(la))
#endif

#ifdef __cplusplus
extern "C"
#endif
    size_t
    nallocx(size_t size, int flags);

#endif

/* SPDX-License-Identifier: MIT */
/* <mimalloc-heap.h> of mimalloc 3: see ../mimalloc.h. */
#ifndef MEMOIR_MIMALLOC
#define MEMOIR_MIMALLOC 3
#endif
#include <../mimalloc-heap.h>

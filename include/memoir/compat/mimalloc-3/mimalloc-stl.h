/* SPDX-License-Identifier: MIT */
/* <mimalloc-stl.h> of mimalloc 3: see ../mimalloc.h. */
#ifndef MEMOIR_MIMALLOC
#define MEMOIR_MIMALLOC 3
#endif
#include <../mimalloc-stl.h>

/* SPDX-License-Identifier: MIT */
/* Programs that declare their functions by the macros of jemalloc's header, in C++. */
#include "tests/api/jemalloc_macros.c"

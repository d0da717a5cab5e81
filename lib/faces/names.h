/* SPDX-License-Identifier: MIT */
/*
 * The library names of other allocators that the program was linked with or preloads. Each is a
 * small library file (packaging/names) with a mark for its face and one for its mode, which holds
 * its SONAME. Known before the first malloc; a library that is opened later does not count.
 */
#ifndef FACES_NAMES_H
#define FACES_NAMES_H

#include <stdbool.h>

/* Whether libtcmalloc_minimal or its debug allocator is among them. */
bool names_have_minimal(void);

/* Whether gperftools' debug allocator is among them, or its own library is behind ours. */
bool names_have_debug(void);

#endif
